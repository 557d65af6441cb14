/* Base64: the vectors of RFC 4648, all bytes there and back, and what is refused. */
#include "base64.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static void expect_pair(const char *bytes, size_t size, const char *text) {
    size_t back_size, bad;
    char *coded = base64_encode(bytes, size), *back = base64_decode(text, strlen(text), &back_size, &bad);
    cr_expect(eq(str, coded, (char *)text));
    cr_assert(back != NULL, "%s: wrong at %zu", text, bad);
    cr_expect(back_size == size && memcmp(back, bytes, size) == 0, "%s: %zu bytes", text, back_size);
    free(coded);
    free(back);
}

Test(base64, vectors_of_rfc_4648) {
    static const char *const texts[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) { expect_pair("foobar", i, texts[i]); }
    expect_pair("\xfb\xff\xfe", 3, "+//+");
    expect_pair("\0\0", 2, "AAA=");
}

Test(base64, every_size_comes_back) {
    char bytes[512];
    for (size_t i = 0; i < sizeof bytes; i++) { bytes[i] = (char)(i * 37 + i / 256); }
    for (size_t size = 0; size <= sizeof bytes; size++) {
        char *text = base64_encode(bytes, size);
        expect_pair(bytes, size, text);
        free(text);
    }
}

Test(base64, anything_else_is_refused_with_its_place) {
    static const struct {
        const char *text;
        size_t bad;
    } cases[] = {{"Z", 1},    {"Zg", 2},    {"Zg=", 3},    {"Zg===", 3},    {"=", 1},
                 {"====", 1}, {"Z===", 2},  {"Zm9v=", 5},  {"Zg==Zg==", 3}, {"Zh==", 4},
                 {"Zm9=", 4}, {"Zm 9v", 3}, {"Zm9v\n", 5}, {"Zm-_", 3},     {"Zm9\xc3", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size, bad;
        char *back = base64_decode(cases[i].text, strlen(cases[i].text), &size, &bad);
        cr_expect(back == NULL && size == 0);
        cr_expect(eq(sz, bad, cases[i].bad), "\"%s\"", cases[i].text);
        free(back);
    }
    size_t size, bad;
    char *back = base64_decode("Zm\0v", 4, &size, &bad);
    cr_expect(back == NULL && bad == 3);
}
