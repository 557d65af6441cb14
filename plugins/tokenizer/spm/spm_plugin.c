/* spm_plugin.c - tokenizer.spm: what the plugin exports. */
#include "spm.h"
#include "token_plugin.h"

TN_TOKENIZER_PLUGIN("tokenizer.spm", spm);
