/*
 * fuzz_base.c - bytes as a base file. Whatever comes in: an answer, no crash, no memory by an unchecked number; and
 * of what is accepted every row can be read.
 */
#include "tenon/score.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(tn_base *base) {
    const tn_base_shape *shape = tn_base_shape_of(base);
    const int32_t *ids = tn_base_ids(base);
    tn_error err = TN_ERROR_INIT;
    float *row = malloc(shape->width * sizeof *row);
    if (!row) { abort(); }
    for (uint64_t i = 0; i < (uint64_t)shape->chunks * shape->context; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= shape->width) { abort(); }
    }
    for (uint64_t r = 0; r < (uint64_t)shape->chunks * tn_score_count(shape->context); r++) {
        if (tn_base_read(base, row, 1, &err) != TN_OK) { abort(); }
    }
    if (tn_base_read(base, row, 1, &err) == TN_OK) { abort(); }
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    tn_base *base = NULL;
    tn_error err = TN_ERROR_INIT;
    int fd = memfd_create("fuzz_base", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) { abort(); }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (tn_base_open(path, &base, &err) == TN_OK) {
        read_all(base);
    } else if (!err.text[0]) {
        abort();
    }
    tn_base_close(base);
    close(fd);
    return 0;
}
