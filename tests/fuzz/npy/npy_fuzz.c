/*
 * npy_fuzz.c - bytes as a .npy file: a size or a fault, a shape or a fault, and nothing read beyond the header. What is
 * taken says what NumPy writes: the three keys, float32, row by row.
 */
#include "npy_header.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int has(const unsigned char *header, size_t size, const char *word) {
    return memmem(header, size, word, strlen(word)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *fault;
    uint64_t rows = 0, width = 0;
    if (size < NPY_START) { return 0; }
    size_t head = npy_header_size(data, &fault);
    if ((head == 0) != (fault != NULL) || head > NPY_HEADER_MOST) { abort(); }
    if (!head || head > size) { return 0; }
    unsigned char *header = malloc(head); /* of its own, so that a byte beyond it is seen */
    if (!header) { abort(); }
    memcpy(header, data, head);
    if (!npy_header_read(header, head, &rows, &width)) {
        if (!has(header, head, "<f4") || !has(header, head, "False") || !has(header, head, "shape")) {
            abort();
        }
        if (rows > INT64_MAX || width > INT64_MAX) { abort(); }
    }
    free(header);
    return 0;
}
