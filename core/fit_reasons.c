/* fit_reasons.c - collects the reasons of a refusal and puts each into a sentence. */
#include "fit_reasons.h"

#include <stdlib.h>
#include <string.h>

/* Longest text of a reason; names and values come from files. */
enum { TEXT_MOST = 480 };

/* Bytes of the well-formed UTF-8 sequence at p (first byte 0x80 or more), 0 if there is none. */
static size_t sequence_size(const unsigned char *p) {
    size_t size = p[0] >= 0xf0 && p[0] < 0xf5   ? 4
                  : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                  : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                                                : 0;
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80) { return 0; }
    }
    int overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    int beyond = (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf4 && p[1] >= 0x90);
    return size && !overlong && !beyond ? size : 0;
}

const char *tn_reasons_printable(tn_reasons *reasons, const char *text) {
    const unsigned char *p = (const unsigned char *)(text ? text : "");
    size_t length = strnlen((const char *)p, TEXT_MOST), used = 0;
    char *copy = tn_arena_take(&reasons->arena, length + sizeof "...");
    if (!copy) {
        reasons->no_memory = 1;
        return "";
    }
    while (used < length) {
        size_t size = p[used] < 0x80 ? 1 : sequence_size(p + used);
        if (used + size > length) { break; }
        if (!size || p[used] < 0x20 || p[used] == 0x7f) {
            copy[used++] = '?';
        } else {
            memcpy(copy + used, p + used, size);
            used += size;
        }
    }
    memcpy(copy + used, p[used] ? "..." : "", p[used] ? sizeof "..." : 1);
    return copy;
}

static tn_fit_reason *append(tn_reasons *reasons) {
    if (reasons->count == reasons->capacity) {
        uint32_t capacity = reasons->capacity ? reasons->capacity * 2 : 16;
        tn_fit_reason *items = realloc(reasons->items, capacity * sizeof *items);
        if (!items) {
            reasons->no_memory = 1;
            return NULL;
        }
        reasons->items = items;
        reasons->capacity = capacity;
    }
    return &reasons->items[reasons->count++];
}

void tn_reasons_add(tn_reasons *reasons, int32_t code, const char *subject, const char *found,
                    const char *wanted, const char *remedy) {
    if (code <= TN_OK || code >= TN_REASON_CODES) { code = TN_E_PLUGIN_BROKEN; } /* no code of ours */
    if (reasons->muted) { return; }
    reasons->total++;
    if (reasons->kept[code] == TN_REASONS_KEPT) {
        reasons->items[reasons->last[code]].more++;
        return;
    }
    tn_fit_reason *reason = append(reasons);
    if (!reason) { return; }
    *reason = (tn_fit_reason){code,
                              tn_reasons_printable(reasons, subject),
                              tn_reasons_printable(reasons, found),
                              tn_reasons_printable(reasons, wanted),
                              tn_reasons_printable(reasons, remedy),
                              0};
    reasons->kept[code]++;
    reasons->last[code] = reasons->count - 1;
}

static void take(const tn_report *report, const tn_reason *reason) {
    tn_reasons_add(report->context, reason->code, reason->subject, reason->found, reason->wanted,
                   reason->remedy);
}

tn_report tn_reasons_report(tn_reasons *reasons) {
    return (tn_report){.struct_size = sizeof(tn_report), .context = reasons, .add = take};
}

void tn_reasons_add_error(tn_reasons *reasons, uint64_t before, const char *subject, int32_t code,
                          const tn_error *err) {
    if (code == TN_E_MEMORY) { reasons->no_memory = 1; }
    if (reasons->total != before) { return; }
    tn_reasons_add(reasons, code, subject, err->text[0] ? err->text : tn_code_text(code), "", "");
}

void tn_reasons_free(tn_reasons *reasons) {
    tn_arena_release(&reasons->arena);
    free(reasons->items);
}

/* ---- sentences -------------------------------------------------------------------------------------- */

struct writer {
    char *out;
    uint64_t capacity, length;
};

static void put(struct writer *w, const char *text) {
    uint64_t size = strlen(text);
    uint64_t room = w->capacity > w->length ? w->capacity - w->length : 0;
    if (room) { memcpy(w->out + w->length, text, size < room ? size : room); }
    w->length += size;
}

/* Bytes of the whole characters among the first `end` bytes of valid UTF-8. */
static uint64_t whole_characters(const char *text, uint64_t end) {
    uint64_t lead = end;
    while (lead && ((unsigned char)text[lead - 1] & 0xc0) == 0x80) { lead--; }
    if (!lead || (unsigned char)text[lead - 1] < 0x80) { return end; }
    unsigned char c = (unsigned char)text[lead - 1];
    uint64_t size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    return lead - 1 + size <= end ? end : lead - 1;
}

uint64_t tn_fit_reason_text(const tn_fit_reason *reason, char *out, uint64_t capacity) {
    struct writer w = {out, capacity ? capacity - 1 : 0, 0};
    char more[48];
    put(&w, reason->subject);
    if (reason->subject[0] && (reason->found[0] || reason->wanted[0])) { put(&w, ": "); }
    put(&w, reason->found);
    if (reason->wanted[0]) {
        put(&w, reason->found[0] ? ", expected " : "expected ");
        put(&w, reason->wanted);
    }
    if (reason->remedy[0]) {
        put(&w, "; ");
        put(&w, reason->remedy);
    }
    if (reason->more) {
        snprintf(more, sizeof more, " (and %llu more)", (unsigned long long)reason->more);
        put(&w, more);
    }
    if (!capacity) { return w.length; }
    out[w.length < capacity ? w.length : whole_characters(out, capacity - 1)] = 0;
    return w.length;
}
