/* wordpiece_plugin.c - tokenizer.wordpiece: what the plugin exports. */
#include "token_plugin.h"
#include "wordpiece.h"

TN_TOKENIZER_PLUGIN("tokenizer.wordpiece", wordpiece);
