/*
 * array_file.c - rows of float32 as raw numbers (.f32) or as a NumPy array (.npy, format version 1.0: magic,
 * version, length of the header, a Python literal padded to a multiple of 64 bytes, the data).
 */
#include "commands.h"

#include "tenon/part.h"

#include <stdlib.h>
#include <string.h>

struct array_file {
    tn_part *part;
    uint64_t width;
};

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static int32_t write_npy_header(tn_part *part, uint64_t rows, uint64_t width, tn_error *err) {
    char head[256], dict[160];
    int size =
        snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': False, 'shape': (%llu, %llu), }",
                 (unsigned long long)rows, (unsigned long long)width);
    int padded = (10 + size + 1 + 63) / 64 * 64 - 10; /* magic, version and length take 10, the newline 1 */
    memcpy(head, "\x93NUMPY\1\0", 8);
    head[8] = (char)(padded & 255);
    head[9] = (char)(padded >> 8);
    snprintf(head + 10, sizeof head - 10, "%-*s\n", padded - 1, dict);
    return tn_part_write(part, head, (uint64_t)(10 + padded), err);
}

int array_file_create(const char *path, uint64_t rows, uint64_t width, struct array_file **out) {
    bool npy = ends_with(path, ".npy");
    tn_error err = TN_ERROR_INIT;
    if (!npy && !ends_with(path, ".f32")) {
        return usage_error("logits", "-o %s: the name must end in .f32 or .npy", path);
    }
    struct array_file *file = calloc(1, sizeof *file);
    if (!file) {
        fputs("tenon: not enough memory\n", stderr);
        return EXIT_FAILED;
    }
    file->width = width;
    int32_t code = tn_part_create(path, &file->part, &err);
    if (code == TN_OK && npy) { code = write_npy_header(file->part, rows, width, &err); }
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
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

int array_file_finish(struct array_file *file) {
    tn_error err = TN_ERROR_INIT;
    unfinished_file(NULL);
    int32_t code = tn_part_finish(file->part, &err);
    free(file);
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

void array_file_abandon(struct array_file *file) {
    if (!file) { return; }
    unfinished_file(NULL);
    tn_part_abandon(file->part);
    free(file);
}
