/*
 * Any bytes as a mix file: a fault has a message of one line that names file and line; what is accepted chooses a
 * type for each tensor of a small model, whatever its rules say.
 */
#include "quant_choose.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds) {
    if (!holds) { abort(); }
}

/* Some types fit some rows. */
static int32_t block_of(void *context, const char *type, uint32_t *out, tn_error *err) {
    (void)context;
    (void)err;
    *out = type[0] == 'F' ? 1 : type[0] == 'Q' ? 32 : 256;
    return TN_OK;
}

#define TENSOR(text, a, b, c)                                                                                \
    { .name = text, .dim_count = 3, .dims = {a, b, c, 1}, .elements = (uint64_t)(a) * (b) * (c) }

static const tn_gguf_tensor tensors[] = {
    TENSOR("token_embd.weight", 256, 8, 1), TENSOR("blk.0.attn_v.weight", 64, 8, 1),
    TENSOR("blk.1.attn_v.weight", 100, 8, 1), TENSOR("blk.1.ffn_down_exps.weight", 256, 8, 8),
    TENSOR("blk.1.attn_norm.weight", 256, 1, 1)};
enum { TENSORS = sizeof tensors / sizeof *tensors };

static void choose(const tn_mix *mix, uint32_t file) {
    const tn_gguf_tensor *at[TENSORS];
    tn_mix_pick picks[TENSORS];
    tn_error err = TN_ERROR_INIT;
    const tn_mix_model model = {
        .architecture = "llama", .layers = 2, .gqa = 4, .experts = 8, .importance = 1};
    const tn_mix_ask ask = {
        .mix = mix, .file = file, .model = &model, .tensors = at, .count = TENSORS, .block = block_of};
    for (size_t i = 0; i < TENSORS; i++) { at[i] = &tensors[i]; }
    int32_t code = tn_mix_choose(&ask, picks, &err);
    require(code == TN_OK || (code == TN_E_FORMAT_REFUSED && err.text[0]));
    for (size_t i = 0; code == TN_OK && i < TENSORS; i++) {
        require(picks[i].keep || (strlen(picks[i].type) && strlen(picks[i].wanted)));
    }
}

/* Stars in a pattern multiply the ways to match it: such a file belongs to whoever put it there, and is slow. */
static int has_many_stars(const uint8_t *data, size_t size) {
    unsigned run = 0, most = 0;
    for (size_t i = 0; i < size; i++) {
        run = data[i] == ' ' || data[i] == '\n' || data[i] == '\t' ? 0 : run + (data[i] == '*');
        most = run > most ? run : most;
    }
    return most > 4;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_mix mix;
    tn_error err = TN_ERROR_INIT;
    char *text = malloc(size ? size : 1);
    if (size) { memcpy(text, data, size); }
    int32_t code = tn_mix_read("x.mix", text, size, &mix, &err);
    free(text); /* nothing points into it */
    if (code != TN_OK) {
        require(code == TN_E_PLUGIN_MANIFEST && strncmp(err.text, "x.mix:", 6) == 0 &&
                !strchr(err.text, '\n'));
        return 0;
    }
    for (uint32_t i = 0; i < mix.file_count && !has_many_stars(data, size); i++) { choose(&mix, i); }
    tn_mix_free(&mix);
    return 0;
}
