/*
 * npy_header.c - see npy_header.h. Versions 1 and 2; later ones differ in names of fields only, which a plain matrix has
 * not.
 */
#include "npy_header.h"

#include <stdbool.h>
#include <string.h>

/* The text that is left, and what was found in it. */
struct header {
    const char *at, *end;
    const char *fault; /* the first one */
    bool descr, order, shape;
    uint64_t rows, width;
};

static size_t length_at(const unsigned char *bytes, int count) {
    size_t length = 0;
    for (int i = count - 1; i >= 0; i--) { length = length << 8 | bytes[i]; }
    return length;
}

size_t npy_header_size(const unsigned char start[NPY_START], const char **fault) {
    *fault = NULL;
    if (memcmp(start, "\x93NUMPY", 6) != 0) {
        *fault = "no NumPy file: it does not begin with \\x93NUMPY";
    } else if ((start[6] != 1 && start[6] != 2) || start[7] != 0) {
        *fault = "a version of the format that is not read here: 1.0 and 2.0 are";
    } else {
        size_t size = start[6] == 1 ? 10 + length_at(start + 8, 2) : 12 + length_at(start + 8, 4);
        if (size >= NPY_START && size <= NPY_HEADER_MOST) { return size; }
        *fault = size < NPY_START ? "a header without room for anything" : "a header of more than 64 KiB";
    }
    return 0;
}

/* ---- the dictionary ---------------------------------------------------------------------------------- */

static void fail(struct header *h, const char *fault) {
    if (!h->fault) { h->fault = fault; }
    h->at = h->end;
}

static void skip_blanks(struct header *h) {
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\t' || *h->at == '\n' || *h->at == '\r')) {
        h->at++;
    }
}

/* Takes a character, with blanks before it, if it is there. */
static bool take(struct header *h, char c) {
    skip_blanks(h);
    if (h->at == h->end || *h->at != c) { return false; }
    h->at++;
    return true;
}

static bool take_word(struct header *h, const char *word) {
    size_t size = strlen(word);
    skip_blanks(h);
    if ((size_t)(h->end - h->at) < size || memcmp(h->at, word, size) != 0) { return false; }
    h->at += size;
    return true;
}

/* 'descr' or "descr". */
static bool take_string(struct header *h, const char *text) {
    size_t size = strlen(text);
    skip_blanks(h);
    if ((size_t)(h->end - h->at) < size + 2 || (*h->at != '\'' && *h->at != '"')) { return false; }
    if (memcmp(h->at + 1, text, size) != 0 || h->at[size + 1] != *h->at) { return false; }
    h->at += size + 2;
    return true;
}

static uint64_t take_number(struct header *h) {
    uint64_t n = 0;
    skip_blanks(h);
    if (h->at == h->end || *h->at < '0' || *h->at > '9') { fail(h, "a shape that is not two numbers"); }
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
        if (n > INT64_MAX / 10 - 1) {
            fail(h, "a shape beyond all files");
            return 0;
        }
        n = 10 * n + (uint64_t)(*h->at - '0');
    }
    return n;
}

static void read_shape(struct header *h) {
    if (!take(h, '(')) { fail(h, "a shape that is not two numbers"); }
    h->rows = take_number(h);
    if (!take(h, ',')) { fail(h, "a shape that is not two numbers"); }
    h->width = take_number(h);
    take(h, ',');
    if (!take(h, ')')) { fail(h, "a shape that is not two numbers"); }
}

static void read_item(struct header *h) {
    bool *seen = take_string(h, "descr")           ? &h->descr
                 : take_string(h, "fortran_order") ? &h->order
                 : take_string(h, "shape")         ? &h->shape
                                                   : NULL;
    if (!seen || *seen || !take(h, ':')) {
        fail(h, "a header that is not a dictionary of descr, fortran_order and shape");
    } else if (seen == &h->descr && !take_string(h, "<f4")) {
        fail(h, "numbers of another type than float32, little-endian (descr is not '<f4')");
    } else if (seen == &h->order && !take_word(h, "False")) {
        fail(
            h,
            "an array column by column (fortran_order is not False): numpy.ascontiguousarray makes it row by row");
    } else if (seen == &h->shape) {
        read_shape(h);
    }
    if (seen) { *seen = true; }
}

const char *npy_header_read(const unsigned char *header, size_t size, uint64_t *rows, uint64_t *width) {
    size_t start = header[6] == 1 ? 10 : 12;
    struct header h = {.at = (const char *)header + start, .end = (const char *)header + size};
    const char *form = "a header that is not a dictionary of descr, fortran_order and shape";
    bool ended = false, open = take(&h, '{');
    while (open && !h.fault && !(ended = take(&h, '}'))) {
        read_item(&h);
        if (!take(&h, ',') && (h.at == h.end || *h.at != '}')) { fail(&h, form); }
    }
    skip_blanks(&h);
    if (!ended || h.at != h.end || !h.descr || !h.order || !h.shape) { fail(&h, form); }
    *rows = h.rows;
    *width = h.width;
    return h.fault;
}
