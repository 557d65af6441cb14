/* ternary.h - what the kernels of TQ1_0 and TQ2_0 have in common: walking along an activation row. */
#ifndef TENON_TERNARY_H
#define TENON_TERNARY_H

#include "format_plugin.h"
#include "unpack_wide.h"

/** An activation row from some block on. */
typedef struct tn_ternary_act {
    const int8_t *codes;
    const float *scales;
    const int16_t *sums;
} tn_ternary_act;

TN_INLINE tn_ternary_act tn_ternary_act_row(const tn_act *act, uint64_t row) {
    return (tn_ternary_act){.codes = (const int8_t *)act->data + row * act->stride,
                            .scales = act->scales + row * act->scale_stride,
                            .sums = act->sums + row * act->sum_stride};
}

TN_INLINE void tn_ternary_act_next(tn_ternary_act *act) {
    act->codes += 256;
    act->scales += 8;
    act->sums += 16;
}

#endif
