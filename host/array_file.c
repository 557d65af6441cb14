/*
 * array_file.c - rows of float32 as raw numbers (.f32) or as a NumPy array (.npy, format version 1.0: magic,
 * version, length of the header, a Python literal padded to a multiple of 64 bytes, the data).
 */
#include "commands.h"

#include "tenon/part.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_SIZE = 128 }; /* of a .npy: enough for any shape */

struct array_file {
    tn_part *part;
    uint64_t width, rows; /* rows: written so far */
    bool npy;
};

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The shape is known when the last row is written: until then the header says what there is, 0 rows. */
static int32_t write_npy_header(struct array_file *file, tn_error *err) {
    enum { TEXT = HEAD_SIZE - 10 }; /* magic, version and length take 10 */
    char head[HEAD_SIZE + 1], dict[TEXT];
    snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': False, 'shape': (%llu, %llu), }",
             (unsigned long long)file->rows, (unsigned long long)file->width);
    memcpy(head, "\x93NUMPY\1\0", 8);
    head[8] = TEXT;
    head[9] = 0;
    snprintf(head + 10, sizeof head - 10, "%-*s\n", TEXT - 1, dict);
    return file->rows ? tn_part_rewrite(file->part, head, HEAD_SIZE, err)
                      : tn_part_write(file->part, head, HEAD_SIZE, err);
}

int array_file_create(const struct options *options, uint64_t width, struct array_file **out) {
    const char *path = options->out;
    bool npy = ends_with(path, ".npy");
    tn_error err = TN_ERROR_INIT;
    if (!npy && !ends_with(path, ".f32")) {
        return usage_error(options->command, "-o %s: the name must end in .f32 or .npy", path);
    }
    struct array_file *file = calloc(1, sizeof *file);
    if (!file) {
        fputs("tenon: not enough memory\n", stderr);
        return EXIT_FAILED;
    }
    file->width = width;
    file->npy = npy;
    int32_t code = tn_part_create(path, &file->part, &err);
    if (code == TN_OK && npy) { code = write_npy_header(file, &err); }
    if (code != TN_OK) {
        array_file_abandon(file);
        return report_error(&err);
    }
    unfinished_file(tn_part_unfinished(file->part));
    *out = file;
    return EXIT_DONE;
}

int array_file_write(struct array_file *file, const float *data, uint64_t rows) {
    tn_error err = TN_ERROR_INIT;
    int32_t code = tn_part_write(file->part, data, rows * file->width * sizeof *data, &err);
    file->rows += rows;
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

int array_file_finish(struct array_file *file) {
    tn_error err = TN_ERROR_INIT;
    unfinished_file(NULL);
    int32_t code = file->npy && file->rows ? write_npy_header(file, &err) : TN_OK;
    if (code == TN_OK) {
        code = tn_part_finish(file->part, &err);
    } else {
        tn_part_abandon(file->part);
    }
    free(file);
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

void array_file_abandon(struct array_file *file) {
    if (!file) { return; }
    unfinished_file(NULL);
    tn_part_abandon(file->part);
    free(file);
}
