/* Stop strings: what is shown, what is held, and that neither the pieces nor the number of strings matter. */
#include "support.h"
#include "tenon/model.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static tn_stops *create(uint64_t count, const char *const *strings) {
    tn_error error = TN_ERROR_INIT;
    tn_stops *stops;
    cr_assert(eq(i32, tn_stops_create(strings, NULL, count, &stops, &error), TN_OK), "%s", error.text);
    return stops;
}
#define CREATE(...)                                                                                          \
    create(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

static void push(tn_stops *stops, const char *text, const char *wanted) {
    tn_error error = TN_ERROR_INIT;
    const char *shown;
    uint64_t size;
    cr_assert(eq(i32, tn_stops_push(stops, text, strlen(text), &shown, &size, &error), TN_OK), "%s",
              error.text);
    cr_expect(size == strlen(wanted) && memcmp(shown, wanted, size) == 0,
              "\"%s\": shown \"%.*s\", expected \"%s\"", text, (int)size, shown, wanted);
}

static void flush(tn_stops *stops, const char *wanted) {
    const char *shown;
    uint64_t size;
    tn_stops_flush(stops, &shown, &size);
    cr_expect(size == strlen(wanted) && memcmp(shown, wanted, size) == 0, "shown \"%.*s\", expected \"%s\"",
              (int)size, shown, wanted);
}

Test(stops, only_what_may_begin_a_stop_string_is_held_back) {
    tn_stops *stops = CREATE("User:", "\n\n");
    push(stops, "Hello", "Hello");
    push(stops, " U", " ");
    push(stops, "se", "");
    push(stops, "d\n", "Used");
    push(stops, "x", "\nx");
    push(stops, "Us", "");
    cr_expect(eq(i64, tn_stops_matched(stops), -1));
    push(stops, "er: more", "");
    cr_expect(eq(i64, tn_stops_matched(stops), 0));
    push(stops, "and more", "");
    flush(stops, "");
    cr_expect(eq(i64, tn_stops_matched(stops), -1));
    push(stops, "Us", "");
    flush(stops, "Us");
    push(stops, "er:", "er:"); /* a new text: "Us" was of the old one */
    push(stops, "a\n\nb", "a");
    cr_expect(eq(i64, tn_stops_matched(stops), 1));
    tn_stops_free(stops);
    tn_stops_free(NULL);
}

Test(stops, the_first_that_is_complete_counts_and_of_these_the_longest) {
    tn_stops *stops = CREATE("abcdef", "cd", "bcd", "cd");
    push(stops, "xabcdef", "xa");
    cr_expect(eq(i64, tn_stops_matched(stops), 2));
    flush(stops, "");
    push(stops, "zcd", "z");
    cr_expect(eq(i64, tn_stops_matched(stops), 1)); /* of equal ones the first */
    tn_stops_free(stops);
}

Test(stops, none_at_all_and_bytes_of_any_value) {
    tn_error error = TN_ERROR_INIT;
    const char *shown;
    uint64_t size;
    tn_stops *stops = create(0, NULL);
    push(stops, "anything", "anything");
    push(stops, "", "");
    flush(stops, "");
    tn_stops_free(stops);
    const char *const strings[] = {"\0\xff", ""};
    const uint64_t sizes[] = {2, 0};
    cr_assert(eq(i32, tn_stops_create(strings, sizes, 1, &stops, &error), TN_OK), "%s", error.text);
    cr_expect(eq(i32, tn_stops_push(stops, "a\0\0\xff", 4, &shown, &size, &error), TN_OK));
    cr_expect(size == 2 && memcmp(shown, "a", 2) == 0);
    tn_stops_free(stops);
    cr_expect(eq(i32, tn_stops_create(strings, sizes, 2, &stops, &error), TN_E_INPUT));
    cr_expect(strstr(error.text, "stop string 2 is empty") && !stops, "%s", error.text);
}

/* ---- against a search that is plain to see --------------------------------------------------------- */

static uint64_t state = 88172645463325252u;
static uint64_t any(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* Where the text shown ends, and the number of the string in *which; -1: no string is in the text. */
static int64_t search(const char *text, uint64_t size, char strings[][8], uint64_t count, int64_t *which) {
    for (uint64_t end = 1; end <= size; end++) {
        *which = -1;
        for (uint64_t i = 0; i < count; i++) {
            uint64_t n = strlen(strings[i]);
            if (n > end || memcmp(text + end - n, strings[i], n) != 0) { continue; }
            if (*which < 0 || n > strlen(strings[*which])) { *which = (int64_t)i; }
        }
        if (*which >= 0) { return (int64_t)(end - strlen(strings[*which])); }
    }
    return -1;
}

/* The longest end of the text that begins a string. */
static uint64_t held_of(const char *text, uint64_t size, char strings[][8], uint64_t count) {
    for (uint64_t n = size < 7 ? size : 7; n > 0; n--) {
        for (uint64_t i = 0; i < count; i++) {
            if (n < strlen(strings[i]) && memcmp(text + size - n, strings[i], n) == 0) { return n; }
        }
    }
    return 0;
}

static void check_text(tn_stops *stops, char strings[][8], uint64_t count) {
    char text[64], shown[64];
    uint64_t size = any(sizeof text), done = 0, at = 0, piece_size;
    int64_t which = -1;
    const char *piece;
    tn_error error = TN_ERROR_INIT;
    for (uint64_t i = 0; i < size; i++) { text[i] = (char)('a' + any(3)); }
    int64_t wanted = search(text, size, strings, count, &which);
    while (at < size) {
        uint64_t n = 1 + any(size - at);
        cr_assert(eq(i32, tn_stops_push(stops, text + at, n, &piece, &piece_size, &error), TN_OK));
        memcpy(shown + done, piece, piece_size);
        done += piece_size;
        at += n;
        if (tn_stops_matched(stops) < 0) {
            cr_assert(eq(u64, at - done, held_of(text, at, strings, count)), "%.*s", (int)at, text);
        }
    }
    cr_expect(eq(i64, tn_stops_matched(stops), which));
    tn_stops_flush(stops, &piece, &piece_size);
    memcpy(shown + done, piece, piece_size);
    done += piece_size;
    cr_assert(eq(u64, done, wanted < 0 ? size : (uint64_t)wanted), "%.*s", (int)size, text);
    cr_assert(memcmp(shown, text, done) == 0);
}

Test(stops, random_texts_in_random_pieces) {
    for (int round = 0; round < 2000; round++) {
        char strings[6][8];
        const char *list[6];
        uint64_t count = 1 + any(6);
        for (uint64_t i = 0; i < count; i++) {
            uint64_t size = 1 + any(7);
            for (uint64_t k = 0; k < size; k++) { strings[i][k] = (char)('a' + any(3)); }
            strings[i][size] = 0;
            list[i] = strings[i];
        }
        tn_stops *stops = create(count, list);
        for (int i = 0; i < 10; i++) { check_text(stops, strings, count); }
        tn_stops_free(stops);
    }
}

/* Every byte of the text is held back, or nearly so, by one of many long strings. */
Test(stops, long_strings_and_many_take_linear_time, .timeout = 30) {
    enum { LONG = 1 << 20, MANY = 2000 };
    char *text = malloc(LONG + 1);
    const char *list[MANY];
    char(*strings)[16] = calloc(MANY, sizeof *strings);
    memset(text, 'a', LONG);
    text[LONG] = 0;
    list[0] = text;
    for (int i = 1; i < MANY; i++) {
        snprintf(strings[i], sizeof strings[i], "aaaaaaa%d", i);
        list[i] = strings[i];
    }
    double start = tn_test_seconds();
    tn_stops *stops = create(MANY, list);
    for (int i = 0; i < LONG - 1; i++) { push(stops, "a", ""); }
    tn_error error = TN_ERROR_INIT;
    const char *shown;
    uint64_t size;
    cr_assert(eq(i32, tn_stops_push(stops, "b", 1, &shown, &size, &error), TN_OK), "%s", error.text);
    cr_expect(eq(u64, size, LONG));
    cr_expect(eq(i64, tn_stops_matched(stops), -1));
    tn_stops_free(stops);
    cr_expect(tn_test_seconds() - start < 20, "%.1f s", tn_test_seconds() - start);
    free(strings);
    free(text);
}
