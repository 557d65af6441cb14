/*
 * text_chunks.h - a text as chunks of ids, for the commands that read one through a model.
 */
#ifndef TENON_HOST_TEXT_CHUNKS_H
#define TENON_HOST_TEXT_CHUNKS_H

#include "commands.h"

struct text_chunks {
    int32_t
        *ids; /* count * size: chunk after chunk, each with BOS for its first where the vocabulary adds one */
    uint32_t size, count;
    uint32_t first; /* number of the first one in the text */
    int32_t *memory;
};

/* Reads options->file and cuts it into chunks of `size`; what is left over is dropped. EXIT_DONE or a status, with
 * the message printed. */
int read_chunks(const char *command, const tn_model *model, const struct options *options, uint32_t size,
                struct text_chunks *out);
void free_chunks(struct text_chunks *chunks);

#endif
