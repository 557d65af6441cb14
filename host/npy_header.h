/*
 * npy_header.h - the header of a NumPy array file (.npy): magic, version, length, a Python dictionary as text.
 */
#ifndef TENON_HOST_NPY_HEADER_H
#define TENON_HOST_NPY_HEADER_H

#include <stddef.h>
#include <stdint.h>

enum { NPY_START = 12, NPY_HEADER_MOST = 65536 + NPY_START };

/* Bytes of the whole header of a file that begins with these; 0, and *fault in words: it has none that is read here. */
size_t npy_header_size(const unsigned char start[NPY_START], const char **fault);
/* Of a whole header, for a matrix of float32, little-endian, row by row: rows and width. NULL, or the fault in words. */
const char *npy_header_read(const unsigned char *header, size_t size, uint64_t *rows, uint64_t *width);

#endif
