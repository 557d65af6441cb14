/*
 * unicode_nfc.c - decompose, order the marks, compose; all of a text at once. Most texts are composed
 * already, which one pass over them shows.
 */
#include "unicode_nfc.h"

#include "tenon/abi.h"
#include "unicode_tables.h"

/* Hangul syllables are arithmetic: Unicode Standard, 3.12. */
enum { S_BASE = 0xac00, L_BASE = 0x1100, V_BASE = 0x1161, T_BASE = 0x11a7 };
enum { L_COUNT = 19, V_COUNT = 21, T_COUNT = 28, S_COUNT = L_COUNT * V_COUNT * T_COUNT };

/* A character and, above it, its combining class. */
enum { POINT_BITS = 21 };
#define POINT(x) ((x) & ((1u << POINT_BITS) - 1))
#define ORDER(x) ((x) >> POINT_BITS)

static uint32_t number_of(uint32_t c) {
    uint32_t block = tn_nfc_blocks[c / TN_UNICODE_BLOCK];
    return tn_nfc_numbers[block * TN_UNICODE_BLOCK + c % TN_UNICODE_BLOCK];
}

static const tn_nfc_record *record_of(uint32_t c) {
    return &tn_nfc_records[number_of(c)];
}

/* True if no character that begins among these bytes changes or has an order. */
static inline int is_calm(const unsigned char *text) {
    if (tn_utf8_is_ascii(text)) { return 1; }
    uint32_t leads = 0;
    for (uint32_t i = 0; i < TN_UTF8_GROUP; i++) { leads |= tn_nfc_leads[text[i]]; }
    return !(leads & TN_NFC_RESTLESS);
}

/* A group that is calm may end inside a character: what is left of it then counts as so many calm ones. */
static int is_composed(const unsigned char *text, uint64_t size) {
    uint32_t step, last = 0;
    for (uint64_t at = 0, end; at < size;) {
        end = size - at > TN_UTF8_GROUP ? at + TN_UTF8_GROUP : size;
        if (end == at + TN_UTF8_GROUP && is_calm(text + at)) {
            at = end;
            last = 0;
        }
        for (; at < end; at += step) {
            step = tn_nfc_leads[text[at]];
            if (!(step & TN_NFC_RESTLESS)) {
                last = 0;
                continue;
            }
            const tn_nfc_record *r = record_of(tn_utf8_read(text + at, &step));
            if (r->may_change || (r->order && r->order < last)) { return 0; }
            last = r->order;
        }
    }
    return 1;
}

/* Writes a character's full decomposition; returns how many characters. */
static uint32_t decompose(uint32_t c, uint32_t *out) {
    if (c - S_BASE < S_COUNT) {
        uint32_t s = c - S_BASE;
        out[0] = L_BASE + s / (V_COUNT * T_COUNT);
        out[1] = V_BASE + s / T_COUNT % V_COUNT;
        if (s % T_COUNT == 0) { return 2; }
        out[2] = T_BASE + s % T_COUNT;
        return 3;
    }
    const tn_nfc_record *r = record_of(c);
    if (!r->parts) { return out[0] = c | (uint32_t)r->order << POINT_BITS, 1; }
    for (uint32_t i = 0; i < r->parts; i++) {
        uint32_t part = tn_nfc_parts[r->at + i];
        out[i] = part | (uint32_t)record_of(part)->order << POINT_BITS;
    }
    return r->parts;
}

/* Stable, by combining class: insertion for a few, counting for many. */
static void order_marks(uint32_t *marks, uint64_t count, uint32_t *spare) {
    if (count <= 16) {
        for (uint64_t i = 1; i < count; i++) {
            uint32_t mark = marks[i];
            uint64_t k = i;
            for (; k > 0 && ORDER(marks[k - 1]) > ORDER(mark); k--) { marks[k] = marks[k - 1]; }
            marks[k] = mark;
        }
        return;
    }
    uint64_t place[257] = {0};
    for (uint64_t i = 0; i < count; i++) { place[ORDER(marks[i]) + 1]++; }
    for (uint32_t order = 1; order < 257; order++) { place[order] += place[order - 1]; }
    for (uint64_t i = 0; i < count; i++) { spare[place[ORDER(marks[i])]++] = marks[i]; }
    memcpy(marks, spare, count * sizeof *marks);
}

/* What two characters compose to, 0 if they do not. */
static uint32_t composed(uint32_t first, uint32_t second) {
    if (first - L_BASE < L_COUNT && second - V_BASE < V_COUNT) {
        return S_BASE + ((first - L_BASE) * V_COUNT + (second - V_BASE)) * T_COUNT;
    }
    if (first - S_BASE < S_COUNT && (first - S_BASE) % T_COUNT == 0 && second - T_BASE - 1 < T_COUNT - 1) {
        return first + (second - T_BASE);
    }
    uint32_t low = 0, high = tn_nfc_pair_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const tn_nfc_pair *pair = &tn_nfc_pairs[middle];
        if (pair->first < first || (pair->first == first && pair->second < second)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const tn_nfc_pair *pair = &tn_nfc_pairs[low];
    return low < tn_nfc_pair_count && pair->first == first && pair->second == second ? pair->composed : 0;
}

/* Composes in place; returns how many characters are left. */
static uint64_t compose(uint32_t *characters, uint64_t count) {
    uint64_t kept = 0, starter = UINT64_MAX;
    uint32_t last = 0; /* class of the character kept last */
    for (uint64_t i = 0; i < count; i++) {
        uint32_t c = characters[i];
        if (starter != UINT64_MAX && (starter + 1 == kept || last < ORDER(c))) {
            uint32_t both = composed(POINT(characters[starter]), POINT(c));
            if (both) {
                characters[starter] = both;
                continue;
            }
        }
        if (!ORDER(c)) { starter = kept; }
        last = ORDER(c);
        characters[kept++] = c;
    }
    return kept;
}

static uint64_t write_text(const uint32_t *characters, uint64_t count, unsigned char *out) {
    uint64_t size = 0;
    for (uint64_t i = 0; i < count; i++) { size += tn_utf8_write(out + size, POINT(characters[i])); }
    return size;
}

int32_t tn_nfc(tn_nfc_room *room, const unsigned char **text, uint64_t *size) {
    if (is_composed(*text, *size)) { return TN_OK; }
    /* A character of 2 or 3 bytes has at most 4 parts (U+0390, U+1F82), so has one of 4 bytes. */
    uint32_t *characters = tn_scratch_get(&room->characters, *size, 2 * sizeof(uint32_t));
    uint32_t *spare = tn_scratch_get(&room->sorted, *size, 2 * sizeof(uint32_t));
    if (!characters || !spare) { return TN_E_MEMORY; }
    uint64_t count = 0, marks = 0; /* marks: where the run of marks at the end begins */
    uint32_t step;
    for (uint64_t at = 0; at < *size; at += step) {
        uint32_t n = decompose(tn_utf8_read(*text + at, &step), characters + count);
        for (uint32_t i = 0; i < n; i++, count++) {
            if (ORDER(characters[count])) { continue; }
            order_marks(characters + marks, count - marks, spare);
            marks = count + 1;
        }
    }
    order_marks(characters + marks, count - marks, spare);
    count = compose(characters, count);
    unsigned char *out = tn_scratch_get(&room->text, count, 4);
    if (!out) { return TN_E_MEMORY; }
    *size = write_text(characters, count, out);
    *text = out;
    return TN_OK;
}

void tn_nfc_free(tn_nfc_room *room) {
    tn_scratch_free(&room->characters);
    tn_scratch_free(&room->sorted);
    tn_scratch_free(&room->text);
}
