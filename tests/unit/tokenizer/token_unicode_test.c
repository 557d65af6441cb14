/*
 * token_unicode_test.c - the tables made from utf8proc against utf8proc, and composition against its NFC.
 */
#include "token_fixture.h"
#include "unicode_nfc.h"
#include "unicode_nfd.h"
#include "unicode_tables.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <utf8proc.h>

static const uint32_t white_space[] = {9,      10,     11,     12,     13,     0x20,   0x85,   0xa0,   0x1680,
                                       0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
                                       0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000};

static int is_white_space(uint32_t c) {
    for (size_t i = 0; i < sizeof white_space / sizeof *white_space; i++) {
        if (white_space[i] == c) { return 1; }
    }
    return 0;
}

Test(token_unicode, classes) {
    unsigned bad = 0;
    for (uint32_t c = 0; c < 0x110000 && bad < 10; c++) {
        if (c >= 0xd800 && c < 0xe000) { continue; }
        unsigned char text[4];
        uint32_t size, written = tn_utf8_write(text, c), class = tn_unicode_look(text, &size);
        const char *category = utf8proc_category_string((int32_t)c);
        int right =
            size == written && tn_utf8_size(text, written) == written &&
            !!(class & TN_LETTER) == (category[0] == 'L') && !!(class & TN_MARK) == (category[0] == 'M') &&
            !!(class & TN_NUMBER) == (category[0] == 'N') &&
            !!(class & TN_PUNCTUATION) == (category[0] == 'P') && !!(class & TN_SPACE) == is_white_space(c) &&
            !!(class & TN_NEWLINE) == (c == '\r' || c == '\n') &&
            !!(class & 1u << TN_CLASS_LU) == (strcmp(category, "Lu") == 0) &&
            !!(class & 1u << TN_CLASS_LL) == (strcmp(category, "Ll") == 0) &&
            !!(class & 1u << TN_CLASS_LT) == (strcmp(category, "Lt") == 0);
        cr_expect(right, "U+%04X: class bits %08x, category %s", c, class, category);
        bad += !right;
    }
}

static void compare_nfc(tn_nfc_room *room, const unsigned char *text, uint64_t size, const char *what) {
    unsigned char *wanted = NULL;
    const unsigned char *got = text;
    uint64_t got_size = size;
    utf8proc_ssize_t wanted_size =
        utf8proc_map(text, (utf8proc_ssize_t)size, &wanted, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    cr_assert(wanted_size >= 0);
    cr_assert_eq(tn_nfc(room, &got, &got_size), TN_OK);
    cr_expect(got_size == (uint64_t)wanted_size && memcmp(got, wanted, got_size) == 0,
              "%s: %llu bytes, wanted %lld", what, (unsigned long long)got_size, (long long)wanted_size);
    free(wanted);
}

static void room_open(tn_nfc_room *room, test_host *host) {
    test_host_init(host);
    *room = (tn_nfc_room){0};
    room->characters.host = room->sorted.host = room->text.host = &host->host;
}

/* Each character alone, behind "a", decomposed, and with marks behind it. */
Test(token_unicode, nfc_of_every_character) {
    test_host host;
    tn_nfc_room room;
    room_open(&room, &host);
    for (uint32_t c = 1; c < 0x110000; c++) {
        if (c >= 0xd800 && c < 0xe000) { continue; }
        unsigned char text[32] = "a", what[16];
        uint32_t size = tn_utf8_write(text + 1, c);
        snprintf((char *)what, sizeof what, "U+%04X", c);
        compare_nfc(&room, text + 1, size, (char *)what);
        compare_nfc(&room, text, size + 1, (char *)what);
        memcpy(text + 1 + size, "\xcc\x81\xcc\xa3\xcc\x88", 6);
        compare_nfc(&room, text, size + 7, (char *)what);
    }
    tn_nfc_free(&room);
    cr_assert_eq(host.out, 0);
}

Test(token_unicode, nfc_of_random_text) {
    test_host host;
    tn_nfc_room room;
    room_open(&room, &host);
    uint64_t state = 2463534242;
    for (int i = 0; i < 50000; i++) {
        unsigned char text[600];
        uint64_t size = 0;
        for (uint64_t n = test_random(&state) % 60; n > 0; n--) {
            uint64_t r = test_random(&state), kind = r % 6;
            uint32_t c = kind == 0   ? 'a' + (r >> 8) % 26
                         : kind == 1 ? 0x300 + (r >> 8) % 0x70
                         : kind == 2 ? 0x1100 + (r >> 8) % 0x100
                         : kind == 3 ? 0xac00 + (r >> 8) % 11172
                         : kind == 4 ? 0x1e00 + (r >> 8) % 0x200
                                     : 1 + (r >> 8) % 0x10ffff;
            if (c == 0x11a7) {
                continue;
            } /* utf8proc 2.8 loses it behind a syllable; it composes with nothing */
            if (c < 0xd800 || c >= 0xe000) { size += tn_utf8_write(text + size, c); }
        }
        compare_nfc(&room, text, size, "random");
    }
    tn_nfc_free(&room);
}

/* Marks in either order at each place of groups of bytes, behind what is calm: one, two and three bytes long. */
Test(token_unicode, nfc_at_each_place) {
    static const char *const calm[] = {"a", "\u0416", "\u4e2d"};
    test_host host;
    tn_nfc_room room;
    room_open(&room, &host);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t before = 0; before < 40; before++) {
            char text[200];
            size_t size = before * strlen(calm[i]);
            for (uint32_t k = 0; k < before; k++) {
                memcpy(text + k * strlen(calm[i]), calm[i], strlen(calm[i]));
            }
            snprintf(text + size, sizeof text - size, "e\u0323\u0301%s\u0301\u0323%s", calm[i],
                     "abcdefghijklmno");
            compare_nfc(&room, (const unsigned char *)text, strlen(text), text);
        }
    }
    tn_nfc_free(&room);
    cr_assert_eq(host.out, 0);
}

/* A million marks in falling order of class: sorted in linear time, and what a small one shows is right. */
Test(token_unicode, nfc_of_a_long_run_of_marks) {
    enum { SMALL = 300, LARGE = 500000 };
    test_host host;
    tn_nfc_room room;
    room_open(&room, &host);
    unsigned char *text = malloc(2 * LARGE);
    for (uint64_t i = 0; i < LARGE; i++) { memcpy(text + 2 * i, i % 2 ? "\xcc\xa3" : "\xcc\x81", 2); }
    compare_nfc(&room, text, 2 * SMALL, "300 marks");
    const unsigned char *got = text;
    uint64_t size = 2 * LARGE;
    cr_assert_eq(tn_nfc(&room, &got, &size), TN_OK);
    cr_expect(size == 2 * LARGE && memcmp(got, "\xcc\xa3\xcc\xa3", 4) == 0 &&
              memcmp(got + size - 2, "\xcc\x81", 2) == 0);
    tn_nfc_free(&room);
    free(text);
}

/* The first code point of the range of final consonants is none. */
Test(token_unicode, nfc_keeps_u11a7) {
    test_host host;
    tn_nfc_room room;
    room_open(&room, &host);
    static const unsigned char text[] = "\xea\xb0\x80\xe1\x86\xa7\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8";
    static const unsigned char wanted[] = "\xea\xb0\x80\xe1\x86\xa7\xea\xb0\x81";
    const unsigned char *got = text;
    uint64_t size = sizeof text - 1;
    cr_assert_eq(tn_nfc(&room, &got, &size), TN_OK);
    cr_expect(size == sizeof wanted - 1 && memcmp(got, wanted, size) == 0, "%llu bytes",
              (unsigned long long)size);
    tn_nfc_free(&room);
}

/* Bytes at the start that are well-formed, by utf8proc. */
static uint64_t sound(const unsigned char *text, uint64_t size) {
    uint64_t at = 0;
    utf8proc_int32_t c;
    for (utf8proc_ssize_t step; at < size; at += (uint64_t)step) {
        step = utf8proc_iterate(text + at, (utf8proc_ssize_t)(size - at), &c);
        if (step <= 0) { break; }
    }
    return at;
}

/* Each pair of bytes, and what follows it, at each place of groups of bytes. */
Test(token_unicode, well_formed_text) {
    static const unsigned char last[] = {'a', 0x7f, 0x80, 0xbf, 0xc2, 0xff};
    unsigned char text[48];
    uint32_t bad = 0;
    for (uint32_t pair = 0; pair < 65536; pair++) {
        for (uint32_t k = 0; k < 36 && bad < 10; k++) {
            uint32_t at = (pair * 7 + k) % 40;
            memset(text, 'x', sizeof text);
            memcpy(text + 40, "\u0416\u4e2d", 5);
            text[at] = (unsigned char)(pair >> 8);
            text[at + 1] = (unsigned char)pair;
            text[at + 2] = last[k % 6];
            text[at + 3] = last[k / 6];
            uint64_t got = tn_utf8_sound(text, sizeof text), wanted = sound(text, sizeof text);
            cr_expect(got == wanted, "%02x %02x %02x %02x at %u: %llu bytes are well-formed, wanted %llu",
                      text[at], text[at + 1], text[at + 2], text[at + 3], at, (unsigned long long)got,
                      (unsigned long long)wanted);
            bad += got != wanted;
        }
    }
}

Test(token_unicode, single_characters) {
    unsigned bad = 0;
    for (uint32_t c = 1; c < 0x110000 && bad < 10; c++) {
        if (c >= 0xd800 && c < 0xe000) { continue; }
        unsigned char text[5] = {0}, got[4 * TN_NFD_MAX + 1] = {0};
        uint32_t parts[TN_NFD_MAX], size = 0, lower = tn_unicode_lower(c);
        tn_utf8_write(text, c);
        for (uint32_t i = 0, n = tn_unicode_decompose(c, parts); i < n; i++) {
            size += tn_utf8_write(got + size, parts[i]);
        }
        unsigned char *wanted = utf8proc_NFD(text);
        int right = strcmp((char *)got, (char *)wanted) == 0 &&
                    lower == (uint32_t)utf8proc_tolower((int32_t)c) &&
                    (int)tn_unicode_order(c) == utf8proc_get_property((int32_t)c)->combining_class;
        cr_expect(right, "U+%04X: \"%s\", wanted \"%s\"; lower case U+%04X", c, got, wanted, lower);
        bad += !right;
        free(wanted);
    }
}
