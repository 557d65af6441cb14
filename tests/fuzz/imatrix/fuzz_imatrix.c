/*
 * Any bytes as an importance file, of either form: a fault has a message of one line; of what is accepted every
 * number is finite, and each entry is found by its name and gives importance.
 */
#include "imatrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds) {
    if (!holds) { abort(); }
}

static void walk(const tn_imatrix *matrix) {
    for (uint64_t i = 0; i < matrix->names.count; i++) {
        const tn_imatrix_entry *entry = &matrix->entries[i];
        require(tn_imatrix_find(matrix, matrix->names.at[i]) == entry);
        require(tn_imatrix_fits(matrix, entry, entry->columns, entry->experts));
        float *importance = malloc(entry->columns * sizeof *importance);
        require(importance != NULL);
        for (uint64_t x = 0; x < entry->experts; x++) {
            tn_imatrix_importance(matrix, entry, x, entry->columns, 0, entry->columns, importance);
            for (uint64_t c = 0; c < entry->columns; c++) { require(importance[c] >= 0); }
        }
        free(importance);
    }
    for (uint64_t i = 0; i < matrix->dataset_count; i++) { require(strlen(matrix->datasets[i]) < SIZE_MAX); }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    tn_imatrix matrix;
    tn_error err = TN_ERROR_INIT;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int32_t code = tn_imatrix_read(path, &matrix, &err);
    if (code == TN_OK) {
        walk(&matrix);
        tn_imatrix_free(&matrix);
    } else {
        require(err.text[0] && !strchr(err.text, '\n'));
    }
    close(fd);
    return 0;
}
