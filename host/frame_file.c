/*
 * frame_file.c - see frame_file.h.
 */
#include "frame_file.h"

#include "commands.h"
#include "npy_header.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Input that is wrong, by the file's name. */
__attribute__((format(printf, 2, 3))) static int fault(const struct frame_file *f, const char *format, ...) {
    va_list args;
    if (ferror(f->file)) {
        fprintf(stderr, "tenon: %s: %s\n", f->path, strerror(errno));
        return EXIT_FAILED;
    }
    fprintf(stderr, "tenon: %s: ", f->path);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

static int read_header(struct frame_file *f) {
    static unsigned char header[NPY_HEADER_MOST];
    const char *words;
    uint64_t width;
    if (fread(header, 1, NPY_START, f->file) != NPY_START) { return fault(f, "it ends within its header"); }
    size_t size = npy_header_size(header, &words);
    if (!size) { return fault(f, "%s", words); }
    if (fread(header + NPY_START, 1, size - NPY_START, f->file) != size - NPY_START) {
        return fault(f, "it ends within its header");
    }
    words = npy_header_read(header, size, &f->rows, &width);
    if (words) { return fault(f, "%s", words); }
    if (width != f->width) {
        return fault(f, "frames of %" PRIu64 " numbers, the model's have %" PRIu32, width, f->width);
    }
    return EXIT_DONE;
}

int frame_file_open(const char *path, uint32_t width, struct frame_file *out) {
    size_t size = strlen(path);
    const char *end = path + (size < 4 ? 0 : size - 4);
    bool npy = strcmp(end, ".npy") == 0;
    *out = (struct frame_file){.path = path, .width = width, .rows = UINT64_MAX};
    if (!npy && strcmp(end, ".f32") != 0) {
        return usage_error("ocr", "--frames %s: the name must end in .npy or .f32", path);
    }
    out->file = fopen(path, "rb");
    if (!out->file) {
        fprintf(stderr, "tenon: %s: %s\n", path, strerror(errno));
        return EXIT_FAILED;
    }
    return npy ? read_header(out) : EXIT_DONE;
}

void frame_file_close(struct frame_file *f) {
    if (f->file) { fclose(f->file); }
    f->file = NULL;
}

static int check_rows(const struct frame_file *f, const float *rows, uint32_t count) {
    for (size_t i = 0; i < (size_t)count * f->width; i++) {
        if (isfinite(rows[i])) { continue; }
        return fault(f, "frame %" PRIu64 ", number %zu is %g (both counted from 0)", f->read + i / f->width,
                     i % f->width, (double)rows[i]);
    }
    return EXIT_DONE;
}

/* The bytes end: at the end of a row, and of a .npy at that of the last one? */
static int check_end(const struct frame_file *f, size_t bytes) {
    size_t row = f->width * sizeof(float);
    uint64_t whole = f->read + bytes / row;
    if (f->rows != UINT64_MAX) {
        return fault(f, "it ends in frame %" PRIu64 " of %" PRIu64 " (counted from 0)", whole, f->rows);
    }
    return fault(f, "%zu bytes behind %" PRIu64 " frames of %" PRIu32 " numbers", bytes % row, whole,
                 f->width);
}

int frame_file_read(struct frame_file *f, float *rows, uint32_t most, uint32_t *count) {
    size_t row = f->width * sizeof *rows;
    uint64_t left = f->rows - f->read;
    *count = 0;
    if (left == 0) {
        return fgetc(f->file) == EOF ? EXIT_DONE : fault(f, "more bytes behind its last frame");
    }
    size_t wanted = row * (left < most ? (uint32_t)left : most), size = fread(rows, 1, wanted, f->file);
    bool npy = f->rows != UINT64_MAX;
    if (ferror(f->file) || (size < wanted && (npy || size % row != 0))) { return check_end(f, size); }
    int status = check_rows(f, rows, (uint32_t)(size / row));
    *count = (uint32_t)(size / row);
    f->read += *count;
    return status;
}
