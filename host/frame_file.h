/*
 * frame_file.h - rows of float32 from a file, some at a time: FILE.npy, or FILE.f32 without header.
 */
#ifndef TENON_HOST_FRAME_FILE_H
#define TENON_HOST_FRAME_FILE_H

#include <stdint.h>
#include <stdio.h>

struct frame_file {
    const char *path;
    FILE *file;
    uint32_t width;
    uint64_t rows, read; /* rows: of a .npy, else UINT64_MAX: as many as there are */
};

/* Of rows of `width` numbers. EXIT_DONE or a status, message printed; to be closed in either case. */
int frame_file_open(const char *path, uint32_t width, struct frame_file *out);
void frame_file_close(struct frame_file *f);
/* The next rows, `most` unless the file ends; *count 0: the end. A row that is cut, or has a number that is not finite, is
 * an error. */
int frame_file_read(struct frame_file *f, float *rows, uint32_t most, uint32_t *count);

#endif
