/*
 * array_file.c - rows of float32 as raw numbers (.f32) or as a NumPy array (.npy, format version 1.0: magic,
 * version, length of the header, a Python literal padded to a multiple of 64 bytes, the data). Written
 * beside, then renamed.
 */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct array_file {
    FILE *out;
    char *path; /* through links, so that they stay */
    char *part; /* the name it has until it is whole */
    uint64_t width;
};

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static int write_failed(const char *path) {
    fprintf(stderr, "tenon: %s: %s\n", path, strerror(errno));
    return EXIT_FAILED;
}

static void write_npy_header(FILE *out, uint64_t rows, uint64_t width) {
    char dict[160];
    int size =
        snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': False, 'shape': (%llu, %llu), }",
                 (unsigned long long)rows, (unsigned long long)width);
    int padded = (10 + size + 1 + 63) / 64 * 64 - 10; /* magic, version and length take 10, the newline 1 */
    unsigned char head[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(padded & 255), (unsigned char)(padded >> 8)};
    fwrite(head, 1, sizeof head, out);
    fprintf(out, "%-*s\n", padded - 1, dict);
}

static void release(struct array_file *file) {
    unfinished_file(NULL);
    free(file->path);
    free(file->part);
    free(file);
}

int array_file_create(const char *path, uint64_t rows, uint64_t width, struct array_file **out) {
    bool npy = ends_with(path, ".npy");
    if (!npy && !ends_with(path, ".f32")) {
        return usage_error("logits", "-o %s: the name must end in .f32 or .npy", path);
    }
    struct array_file *file = calloc(1, sizeof *file);
    if (file) {
        file->path = realpath(path, NULL);
        if (!file->path) { file->path = strdup(path); }
    }
    if (!file || !file->path || asprintf(&file->part, "%s.part-XXXXXX", file->path) < 0) {
        if (file) { free(file->path); }
        free(file);
        errno = ENOMEM;
        return write_failed(path);
    }
    int fd = mkstemp(file->part);
    mode_t mask = umask(0);
    umask(mask);
    file->out = fd >= 0 && fchmod(fd, 0666 & ~mask) == 0 ? fdopen(fd, "wb") : NULL;
    if (!file->out) {
        int status = write_failed(path);
        if (fd >= 0) {
            close(fd);
            unlink(file->part);
        }
        release(file);
        return status;
    }
    unfinished_file(file->part);
    file->width = width;
    if (npy) { write_npy_header(file->out, rows, width); }
    *out = file;
    return EXIT_DONE;
}

int array_file_write(struct array_file *file, const float *data, uint64_t rows) {
    size_t count = (size_t)(rows * file->width);
    return fwrite(data, sizeof *data, count, file->out) == count ? EXIT_DONE : write_failed(file->path);
}

int array_file_finish(struct array_file *file) {
    int status = EXIT_DONE;
    if (fflush(file->out) != 0 || fsync(fileno(file->out)) != 0 || rename(file->part, file->path) != 0) {
        status = write_failed(file->path);
        unlink(file->part);
    }
    fclose(file->out);
    release(file);
    return status;
}

void array_file_abandon(struct array_file *file) {
    if (!file) { return; }
    unlink(file->part);
    fclose(file->out);
    release(file);
}
