/*
 * fuzz_stops.c - bytes as stop strings and a text. The first byte says how many strings there are; each is preceded by
 * its size; the rest is the text, cut by its own bytes. What comes out must be what a plain search finds. The same
 * bytes are also read as base64: what is accepted is what would be written.
 */
#include "base64.h"
#include "tenon/model.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 16, LONGEST_TEXT = 4096 };

typedef struct {
    const char *strings[MOST];
    uint64_t sizes[MOST], count;
    const char *text;
    uint64_t size;
} input;

static void must(int holds) {
    if (!holds) { abort(); }
}

static int read_input(const uint8_t *data, size_t size, input *in) {
    size_t at = 1;
    *in = (input){.count = size ? data[0] % MOST : 0};
    for (uint64_t i = 0; i < in->count; i++) {
        if (at >= size || data[at] > size - at - 1) { return 0; }
        in->sizes[i] = data[at];
        in->strings[i] = (const char *)data + at + 1;
        at += 1 + data[at];
    }
    if (at > size) { return 0; }
    in->text = (const char *)data + at;
    in->size = size - at < LONGEST_TEXT ? size - at : LONGEST_TEXT;
    return 1;
}

/* How much of the text is shown; *which: the string that ends it, -1: none. */
static uint64_t search(const input *in, int64_t *which) {
    *which = -1;
    for (uint64_t end = 1; end <= in->size; end++) {
        for (uint64_t i = 0; i < in->count; i++) {
            uint64_t n = in->sizes[i];
            if (n > end || memcmp(in->text + end - n, in->strings[i], n) != 0) { continue; }
            if (*which < 0 || n > in->sizes[*which]) { *which = (int64_t)i; }
        }
        if (*which >= 0) { return end - in->sizes[*which]; }
    }
    return in->size;
}

static void take(const input *in, const char *shown, uint64_t size, uint64_t *done) {
    must(size <= in->size - *done && memcmp(shown, in->text + *done, size) == 0);
    *done += size;
}

static void check(const input *in, tn_stops *stops) {
    const char *shown;
    uint64_t size, done = 0;
    int64_t which;
    uint64_t wanted = search(in, &which);
    tn_error err = TN_ERROR_INIT;
    for (uint64_t at = 0; at < in->size;) {
        uint64_t n = 1 + (uint8_t)in->text[at] % 7;
        if (n > in->size - at) { n = in->size - at; }
        must(tn_stops_push(stops, in->text + at, n, &shown, &size, &err) == TN_OK);
        take(in, shown, size, &done);
        at += n;
    }
    must(tn_stops_matched(stops) == which);
    tn_stops_flush(stops, &shown, &size);
    take(in, shown, size, &done);
    must(done == wanted);
}

static void check_base64(const uint8_t *data, size_t size) {
    size_t bytes_size, bad;
    char *bytes = base64_decode((const char *)data, size, &bytes_size, &bad);
    must(bytes ? bad == 0 : bad > 0 && bad <= size);
    if (!bytes) { return; }
    char *text = base64_encode(bytes, bytes_size);
    must(text && strlen(text) == size && memcmp(text, data, size) == 0);
    free(text);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in;
    tn_stops *stops;
    tn_error err = TN_ERROR_INIT;
    check_base64(data, size);
    if (!read_input(data, size, &in)) { return 0; }
    int empty = 0;
    for (uint64_t i = 0; i < in.count; i++) { empty |= in.sizes[i] == 0; }
    int32_t code = tn_stops_create(in.strings, in.sizes, in.count, &stops, &err);
    must(code == (empty ? TN_E_INPUT : TN_OK));
    if (code != TN_OK) { return 0; }
    check(&in, stops);
    check(&in, stops); /* after the flush it is as new */
    tn_stops_free(stops);
    return 0;
}
