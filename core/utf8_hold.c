/* See utf8_hold.h. */
#include "utf8_hold.h"

#include <string.h>

/* Bytes of the character that `lead` begins; 0 if it begins none. */
static size_t size_of(unsigned char lead) {
    if (lead < 0x80) { return 1; }
    if (lead < 0xc2) { return 0; }
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

/* May `byte` be number `at` of a character that begins with `lead`? Only the second byte has rules of its
 * own: they leave out overlong forms, surrogates and what lies beyond U+10FFFF. */
static int may_follow(unsigned char lead, size_t at, unsigned char byte) {
    unsigned char low = 0x80, high = 0xbf;
    if (at == 1) {
        switch (lead) {
        case 0xe0: low = 0xa0; break;
        case 0xed: high = 0x9f; break;
        case 0xf0: low = 0x90; break;
        case 0xf4: high = 0x8f; break;
        default: break;
        }
    }
    return byte >= low && byte <= high;
}

size_t tn_utf8_length(const unsigned char *bytes, size_t size) {
    size_t length = size ? size_of(bytes[0]) : 0;
    if (length > size) { return 0; }
    for (size_t i = 1; i < length; i++) {
        if (!may_follow(bytes[0], i, bytes[i])) { return 0; }
    }
    return length;
}

size_t tn_utf8_hold_flush(tn_utf8_hold *hold, char *out) {
    if (hold->count == 0) { return 0; }
    hold->count = 0;
    memcpy(out, "\xef\xbf\xbd", 3);
    return 3;
}

size_t tn_utf8_hold_push(tn_utf8_hold *hold, const char *bytes, size_t size, char *out) {
    size_t done = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (hold->count && !may_follow(hold->held[0], hold->count, byte)) {
            done += tn_utf8_hold_flush(hold, out + done);
        }
        hold->held[hold->count++] = byte;
        size_t whole = size_of(hold->held[0]);
        if (hold->count < whole) { continue; }
        if (whole == 0) {
            done += tn_utf8_hold_flush(hold, out + done);
            continue;
        }
        memcpy(out + done, hold->held, whole);
        done += whole;
        hold->count = 0;
    }
    return done;
}
