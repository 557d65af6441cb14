/*
 * peer_library.h - the few functions of llama.cpp's ggml that are compared with ours, looked up by name in its shared
 * libraries. Nothing of ggml is needed to build this.
 */
#ifndef PEER_LIBRARY_H
#define PEER_LIBRARY_H

#include "tenon/format.h"

#include <stdbool.h>

/* What ggml keeps of a type for its cpu: rows of floats to blocks, and a dot product of two rows of blocks. */
typedef struct peer_traits {
    void (*from_float)(const float *x, void *blocks, int64_t count);
    void (*vec_dot)(int count, float *sum, size_t sum_stride, const void *x, size_t x_stride, const void *y,
                    size_t y_stride, int rows);
    int vec_dot_type; /* of y */
    int64_t rows;
} peer_traits;

typedef struct peer_library {
    const char *(*version)(void);
    const char *(*type_name)(int type);
    size_t (*type_size)(int type);
    int64_t (*block_size)(int type);
    const peer_traits *(*traits)(int type);
    void (*quantize_init)(int type);
    bool (*needs_importance)(int type);
    size_t (*quantize)(int type, const float *x, void *blocks, int64_t start, int64_t rows, int64_t cols,
                       const float *importance);
} peer_library;

/*
 * Opens the libraries in `folder` and prints which version they are and which instruction sets they were built for.
 * Ends the program with a message if they are not there or another version than this was written for.
 */
peer_library peer_open(const char *folder);

/* Whether the peer has this format, with our block; if not, says why. */
bool peer_has_format(const peer_library *peer, const tn_format *format);

#endif
