/* Holding back bytes of unfinished characters: against the published cases and Unicode's own examples. */
#include "support.h"
#include "utf8_hold.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define FFFD "\xef\xbf\xbd"

/* Pushes bytes one by one, or all at once, and flushes. */
static void expect(const char *bytes, size_t size, const char *wanted) {
    char out[256];
    for (size_t step = 1; step <= size; step++) {
        tn_utf8_hold hold = {0};
        size_t done = 0;
        for (size_t at = 0; at < size; at += step) {
            size_t piece = size - at < step ? size - at : step;
            done += tn_utf8_hold_push(&hold, bytes + at, piece, out + done);
            cr_expect(hold.count <= 3);
        }
        done += tn_utf8_hold_flush(&hold, out + done);
        out[done] = 0;
        cr_expect(eq(str, out, (char *)wanted), "in pieces of %zu", step);
        cr_expect(eq(sz, tn_utf8_hold_flush(&hold, out), 0));
    }
}

Test(utf8_hold, whole_characters_pass_however_they_are_cut) {
    const char *text =
        "a\xc3\xa9\xe2\x82\xac\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf z";
    expect(text, strlen(text), text);
}

/* The Unicode Standard 15, tables 3-8 to 3-11: one U+FFFD for each maximal subpart. */
Test(utf8_hold, ill_formed_bytes_become_one_replacement_for_each_maximal_prefix) {
    expect("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", 9, FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
    expect("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", 9, FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
    expect("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", 9, FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B");
    expect("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", 9, FFFD FFFD FFFD FFFD "A");
    expect("\xf5\x80\xc1\xfe", 4, FFFD FFFD FFFD FFFD);
    expect("\xf0\x9f\x98", 3, FFFD);
    expect("\xc3\xc3\xa9", 3, FFFD "\xc3\xa9");
}

/* How many bytes of a text are held after all of it was pushed. */
static size_t held_after(const char *text) {
    char out[64];
    tn_utf8_hold hold = {0};
    tn_utf8_hold_push(&hold, text, strlen(text), out);
    return hold.count;
}

Test(utf8_hold, only_the_beginning_of_a_character_is_held) {
    cr_expect(eq(sz, held_after("a"), 0));
    cr_expect(eq(sz, held_after("a\xc2"), 1));
    cr_expect(eq(sz, held_after("a\xf4\x8f\xbf"), 3));
    cr_expect(eq(sz, held_after("a\xf4\x90"), 0));
    cr_expect(eq(sz, held_after("a\xed\xa0"), 0));
    cr_expect(eq(sz, held_after("a\xc1"), 0));
    cr_expect(eq(sz, held_after("a\x80"), 0));
}

/* Worst case of the room that the header asks for: three held bytes and one piece of stray ones. */
Test(utf8_hold, no_more_comes_out_than_there_is_room) {
    for (size_t size = 0; size < 16; size++) {
        char bytes[16], *out = malloc(TN_UTF8_ROOM(size));
        tn_utf8_hold hold = {0};
        memset(bytes, 0xff, sizeof bytes);
        tn_utf8_hold_push(&hold, "\xf0\x9f\x98", 3, out);
        size_t done = tn_utf8_hold_push(&hold, bytes, size, out);
        cr_expect(eq(sz, done, size ? 3 + size * 3 : 0));
        cr_expect(done <= TN_UTF8_ROOM(size));
        free(out);
    }
}

/* ---- the published cases ---------------------------------------------------------------------------- */

static size_t from_base64(const char *text, char *out) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = 0;
    unsigned bits = 0, count = 0;
    for (; *text && *text != '='; text++) {
        bits = bits << 6 | (unsigned)(strchr(letters, *text) - letters);
        count += 6;
        if (count >= 8) { out[size++] = (char)(bits >> (count -= 8)); }
    }
    return size;
}

static void check_case(size_t number, const json_t *test) {
    const json_t *pieces = json_object_get(test, "pieces_b64"), *emit = json_object_get(test, "emit");
    char bytes[1024], out[TN_UTF8_ROOM(1024)];
    tn_utf8_hold hold = {0};
    size_t i;
    json_t *piece;
    json_array_foreach (pieces, i, piece) {
        size_t done = tn_utf8_hold_push(&hold, bytes, from_base64(json_string_value(piece), bytes), out);
        out[done] = 0;
        cr_expect(eq(str, out, (char *)json_string_value(json_array_get(emit, i))), "case %zu, piece %zu",
                  number, i);
    }
    out[tn_utf8_hold_flush(&hold, out)] = 0;
    cr_expect(eq(str, out, (char *)json_string_value(json_object_get(test, "flush"))), "case %zu", number);
}

Test(utf8_hold, the_published_streaming_cases) {
    char *path = tn_test_shared("tokenizer/cases/streaming.json");
    if (tn_test_exists(path) == 0) { cr_skip_test("no shared/tokenizer/cases/streaming.json"); }
    json_error_t why;
    json_t *all = json_load_file(path, 0, &why), *test;
    cr_assert(all != NULL, "%s: %s", path, why.text);
    cr_assert(json_array_size(all) > 20);
    size_t i;
    json_array_foreach (all, i, test) { check_case(i, test); }
    json_decref(all);
    free(path);
}
