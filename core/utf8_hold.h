/*
 * utf8_hold.h - bytes in any pieces in, whole UTF-8 characters out.
 *
 * Held back are at most 3 bytes, and only where they begin a well-formed character (Unicode 15, table 3-7).
 * Bytes that cannot become one leave as U+FFFD, one for each maximal prefix of a character.
 */
#ifndef TENON_UTF8_HOLD_H
#define TENON_UTF8_HOLD_H

#include <stddef.h>

/** All zero holds nothing. */
typedef struct tn_utf8_hold {
    unsigned char held[4];
    size_t count;
} tn_utf8_hold;

/** Room that `size` bytes may need when they come out. */
#define TN_UTF8_ROOM(size) (((size) + 1) * 3)

/** Bytes of the well-formed character at `bytes`, of which there are `size`; 0: there is none. */
size_t tn_utf8_length(const unsigned char *bytes, size_t size);
/** Takes `size` bytes and writes what is whole now to `out`, at most TN_UTF8_ROOM(size) bytes; returns how
 * many. */
size_t tn_utf8_hold_push(tn_utf8_hold *hold, const char *bytes, size_t size, char *out);
/** Writes one U+FFFD, 3 bytes, if anything was held, and holds nothing any more. */
size_t tn_utf8_hold_flush(tn_utf8_hold *hold, char *out);

#endif
