/* model_state.h - a loaded model, as sessions see it. */
#ifndef TENON_MODEL_STATE_H
#define TENON_MODEL_STATE_H

#include "fit.h"

struct tn_model {
    tn_match match;
    tn_gguf *file;
    void *placed;
    tn_memory memory;
};

#endif
