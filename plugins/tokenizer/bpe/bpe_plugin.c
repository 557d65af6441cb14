/* bpe_plugin.c - tokenizer.bpe: what the plugin exports. */
#include "bpe.h"
#include "token_plugin.h"

TN_TOKENIZER_PLUGIN("tokenizer.bpe", bpe);
