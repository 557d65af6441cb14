/* text_chunks.c - a text as chunks of ids, cut as the other engines' tools do. */
#include "text_chunks.h"

#include <stdlib.h>

/* The whole text at once: where a chunk begins does not change how it is cut into tokens. */
static int encode(const tn_text_codec *codec, const char *path, int32_t **ids, uint64_t *count) {
    tn_error err = TN_ERROR_INIT;
    char *text;
    size_t size;
    int status = read_text(path, &text, &size);
    if (status != EXIT_DONE) { return status; }
    if (size && text[size - 1] == '\n') { size--; } /* that of the file's last line is not the text's */
    if (tn_codec_encode(codec, text, size, TN_ENCODE_ADD, ids, count, &err) != TN_OK) {
        status = report_error(&err);
    }
    free(text);
    return status;
}

static int cut(const char *command, const struct options *options, uint32_t size, uint64_t count,
               struct text_chunks *out) {
    uint64_t whole = count / size, from = (uint64_t)options->from_chunk;
    uint64_t most = options->chunks ? (uint64_t)options->chunks : UINT32_MAX;
    if (whole == 0) {
        return usage_error(command, "%s has %llu tokens, a chunk takes %u (see -c)", options->file,
                           (unsigned long long)count, size);
    }
    if (whole <= from) {
        return usage_error(command, "%s has %llu tokens: %llu chunks of %u, %llu of them to leave out",
                           options->file, (unsigned long long)count, (unsigned long long)whole, size,
                           (unsigned long long)from);
    }
    out->size = size;
    out->first = (uint32_t)from;
    out->count = (uint32_t)(whole - from < most ? whole - from : most);
    return EXIT_DONE;
}

int read_chunks(const char *command, const tn_model *model, const struct options *options, uint32_t size,
                struct text_chunks *out) {
    const tn_text_codec *codec = tn_model_codec(model);
    tn_vocab vocab = {.struct_size = sizeof vocab};
    uint64_t count = 0;
    *out = (struct text_chunks){0};
    tn_codec_vocab(codec, &vocab);
    int status = encode(codec, options->file, &out->memory, &count);
    if (status == EXIT_DONE) { status = cut(command, options, size, count, out); }
    if (status != EXIT_DONE) {
        free_chunks(out);
        return status;
    }
    out->ids = out->memory + (size_t)out->first * size;
    for (size_t c = 0; c < out->count && vocab.add_bos; c++) { out->ids[c * size] = vocab.bos; }
    return EXIT_DONE;
}

void free_chunks(struct text_chunks *chunks) {
    free(chunks->memory);
    *chunks = (struct text_chunks){0};
}
