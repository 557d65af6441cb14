/*
 * base64.h - RFC 4648, section 4: with padding, nothing else between.
 */
#ifndef TENON_HOST_BASE64_H
#define TENON_HOST_BASE64_H

#include <stddef.h>

/* NUL at the end, to be freed; NULL: no memory. */
char *base64_encode(const char *bytes, size_t size);
/* To be freed; NULL with *bad 0: no memory, else *bad is 1 + the place of the first character that is wrong. */
char *base64_decode(const char *text, size_t size, size_t *out_size, size_t *bad);

#endif
