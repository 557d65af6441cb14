/*
 * stops.c - finds the first of many strings in a text that comes in pieces: an automaton after Aho and Corasick.
 *
 * A state is a beginning of a stop string: the longest one that the text ends with. Its bytes are what must be held
 * back, no more and no less. States are numbered by their length and, of one length, in the order of their bytes, so
 * that those which continue a state by one byte lie side by side.
 */
#include "checked.h"
#include "tenon/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_STRING UINT32_MAX

typedef struct {
    uint32_t first, count; /* the states that are longer by one byte */
    uint32_t back;         /* the longest other state that this one ends with */
    uint32_t length;
    uint32_t string; /* the longest stop string that it ends with */
    uint8_t byte;    /* its last one */
} state;

typedef struct {
    const char *text;
    uint64_t size;
    uint32_t number;
} entry;

struct tn_stops {
    state *states;
    uint32_t count;
    uint32_t at;      /* the state of the text so far */
    uint32_t matched; /* the stop string that was found */
    uint64_t *sizes;  /* of the stop strings */
    char *text;       /* the bytes held back begin at `begin` */
    uint64_t begin, size, capacity;
};

/* ---- the automaton ---------------------------------------------------------------------------------- */

static int by_text(const void *left, const void *right) {
    const entry *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    if (order) { return order; }
    if (a->size != b->size) { return a->size < b->size ? -1 : 1; }
    return a->number < b->number ? -1 : 1;
}

/* The state that `byte` leads to from the state `from` alone; 0 if there is none. */
static uint32_t child(const tn_stops *stops, uint32_t from, uint8_t byte) {
    uint32_t low = stops->states[from].first, high = low + stops->states[from].count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (stops->states[middle].byte == byte) { return middle; }
        if (stops->states[middle].byte < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 0;
}

static uint32_t step(const tn_stops *stops, uint32_t from, uint8_t byte) {
    for (;;) {
        uint32_t to = child(stops, from, byte);
        if (to || from == 0) { return to; }
        from = stops->states[from].back;
    }
}

/* Adds the states that continue number `i`, which is the beginning of the sorted entries [low, high). */
static void add_children(tn_stops *stops, uint32_t i, const entry *entries, uint32_t low, uint32_t high,
                         uint32_t (*ranges)[2]) {
    state *own = &stops->states[i];
    uint32_t depth = own->length;
    own->first = stops->count;
    while (low < high && entries[low].size == depth) {
        if (own->string == NO_STRING) { own->string = entries[low].number; }
        low++;
    }
    while (low < high) {
        uint8_t byte = (uint8_t)entries[low].text[depth];
        uint32_t end = low + 1;
        while (end < high && (uint8_t)entries[end].text[depth] == byte) { end++; }
        ranges[stops->count][0] = low;
        ranges[stops->count][1] = end;
        stops->states[stops->count++] = (state){.length = depth + 1, .string = NO_STRING, .byte = byte};
        own->count++;
        low = end;
    }
}

/* Shorter states come first: where `back` points is known before it is needed. */
static void link_children(tn_stops *stops, uint32_t i) {
    const state *own = &stops->states[i];
    for (uint32_t c = own->first; c < own->first + own->count; c++) {
        state *next = &stops->states[c];
        next->back = i ? step(stops, own->back, next->byte) : 0;
    }
    if (stops->states[i].string == NO_STRING) { stops->states[i].string = stops->states[own->back].string; }
}

static void build(tn_stops *stops, const entry *entries, uint32_t count, uint32_t (*ranges)[2]) {
    stops->states[0] = (state){.string = NO_STRING};
    stops->count = 1;
    ranges[0][0] = 0;
    ranges[0][1] = count;
    for (uint32_t i = 0; i < stops->count; i++) {
        add_children(stops, i, entries, ranges[i][0], ranges[i][1], ranges);
    }
    for (uint32_t i = 0; i < stops->count; i++) { link_children(stops, i); }
}

/* ---- create and free -------------------------------------------------------------------------------- */

/* Sorted entries in *out; the bytes of all in *total. */
static int32_t sort_strings(tn_stops *stops, const char *const *strings, const uint64_t *sizes,
                            uint64_t count, entry **out, uint64_t *total, tn_error *err) {
    *total = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size = sizes ? sizes[i] : strlen(strings[i]);
        if (size == 0) { TN_FAIL(err, TN_E_INPUT, "stop string %" PRIu64 " is empty", i + 1); }
        if (!tn_add_u64(*total, size, total) || *total >= INT32_MAX) {
            TN_FAIL(err, TN_E_INPUT, "the stop strings have more than %d bytes", INT32_MAX);
        }
    }
    *out = calloc(count + 1, sizeof **out);
    stops->sizes = calloc(count + 1, sizeof *stops->sizes);
    if (!*out || !stops->sizes) {
        TN_FAIL(err, TN_E_MEMORY, "no memory left for %" PRIu64 " stop strings", count);
    }
    for (uint64_t i = 0; i < count; i++) {
        stops->sizes[i] = sizes ? sizes[i] : strlen(strings[i]);
        (*out)[i] = (entry){strings[i], stops->sizes[i], (uint32_t)i};
    }
    qsort(*out, count, sizeof **out, by_text);
    return TN_OK;
}

static int32_t fill(tn_stops *stops, const char *const *strings, const uint64_t *sizes, uint64_t count,
                    tn_error *err) {
    entry *entries = NULL;
    uint32_t(*ranges)[2] = NULL;
    uint64_t total;
    int32_t code = sort_strings(stops, strings, sizes, count, &entries, &total, err);
    if (code == TN_OK) {
        stops->states = calloc(total + 1, sizeof *stops->states);
        ranges = calloc(total + 1, sizeof *ranges);
        if (!stops->states || !ranges) {
            code = tn_fail(err, TN_E_MEMORY, "no memory left for %" PRIu64 " bytes of stop strings", total);
        } else {
            build(stops, entries, (uint32_t)count, ranges);
        }
    }
    free(ranges);
    free(entries);
    return code;
}

int32_t tn_stops_create(const char *const *strings, const uint64_t *sizes, uint64_t count, tn_stops **out,
                        tn_error *err) {
    *out = NULL;
    tn_stops *stops = calloc(1, sizeof *stops);
    if (!stops) { TN_FAIL(err, TN_E_MEMORY, "no memory left for stop strings"); }
    stops->matched = NO_STRING;
    int32_t code = fill(stops, strings, sizes, count, err);
    if (code != TN_OK) {
        tn_stops_free(stops);
        return code;
    }
    *out = stops;
    return TN_OK;
}

void tn_stops_free(tn_stops *stops) {
    if (!stops) { return; }
    free(stops->states);
    free(stops->sizes);
    free(stops->text);
    free(stops);
}

/* ---- use -------------------------------------------------------------------------------------------- */

/* Puts bytes behind those that are held. What has left is moved over only where there is more of it than is kept. */
static int32_t append(tn_stops *stops, const char *text, uint64_t size, tn_error *err) {
    uint64_t wanted;
    if (stops->begin > stops->size) {
        memcpy(stops->text, stops->text + stops->begin, stops->size);
        stops->begin = 0;
    }
    if (!tn_add_u64(stops->begin + stops->size, size, &wanted)) {
        TN_FAIL(err, TN_E_INPUT, "a text of %" PRIu64 " bytes is too long", size);
    }
    if (wanted > stops->capacity || !stops->text) {
        uint64_t capacity = wanted + wanted / 2 + 64;
        char *grown = capacity > wanted ? realloc(stops->text, capacity) : NULL;
        if (!grown) { TN_FAIL(err, TN_E_MEMORY, "no memory left for %" PRIu64 " bytes of text", wanted); }
        stops->text = grown;
        stops->capacity = capacity;
    }
    if (size) { memcpy(stops->text + stops->begin + stops->size, text, size); }
    stops->size += size;
    return TN_OK;
}

/* Lets out `size` of the bytes that are held. */
static void let_out(tn_stops *stops, uint64_t size, const char **text, uint64_t *text_size) {
    *text = stops->text ? stops->text + stops->begin : "";
    *text_size = size;
    stops->begin += size;
    stops->size -= size;
}

int32_t tn_stops_push(tn_stops *stops, const char *text, uint64_t size, const char **shown,
                      uint64_t *shown_size, tn_error *err) {
    *shown = "";
    *shown_size = 0;
    if (stops->matched != NO_STRING) { return TN_OK; }
    uint64_t held = stops->size;
    TN_TRY(append(stops, text, size, err));
    for (uint64_t i = 0; i < size; i++) {
        stops->at = step(stops, stops->at, (uint8_t)text[i]);
        uint32_t string = stops->states[stops->at].string;
        if (string == NO_STRING) { continue; }
        stops->matched = string;
        let_out(stops, held + i + 1 - stops->sizes[string], shown, shown_size);
        stops->size = 0;
        return TN_OK;
    }
    let_out(stops, stops->size - stops->states[stops->at].length, shown, shown_size);
    return TN_OK;
}

int64_t tn_stops_matched(const tn_stops *stops) {
    return stops->matched == NO_STRING ? -1 : (int64_t)stops->matched;
}

void tn_stops_flush(tn_stops *stops, const char **shown, uint64_t *shown_size) {
    let_out(stops, stops->size, shown, shown_size);
    stops->at = 0;
    stops->matched = NO_STRING;
}
