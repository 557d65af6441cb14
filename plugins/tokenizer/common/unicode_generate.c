/*
 * unicode_generate.c - run when Tenon is built: writes the tables of unicode_tables.h from utf8proc's data.
 *
 *     unicode_generate classes|nfc|lower FILE.c
 */
#include "unicode_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { POINTS = 0x110000, RECORDS_MAX = 8192, PARTS_MAX = 16384, PAIRS_MAX = 4096 };

static uint16_t numbers[POINTS];
static uint16_t blocks[TN_UNICODE_BLOCKS];
static uint32_t kept[TN_UNICODE_BLOCKS]; /* where the distinct blocks begin */
static tn_nfc_record records[RECORDS_MAX];
static uint32_t parts[PARTS_MAX];
static tn_nfc_pair pairs[PAIRS_MAX];
static uint32_t record_count, part_count, pair_count;

static void need(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "unicode_generate: %s\n", what);
        exit(1);
    }
}

/* Writes `numbers` as two stages. */
static void write_stages(FILE *out, const char *blocks_name, const char *type, const char *entries_name) {
    uint32_t count = 0;
    for (uint32_t b = 0; b < TN_UNICODE_BLOCKS; b++) {
        const uint16_t *block = numbers + b * TN_UNICODE_BLOCK;
        uint32_t k = 0;
        while (k < count && memcmp(numbers + kept[k], block, TN_UNICODE_BLOCK * sizeof *block) != 0) { k++; }
        if (k == count) { kept[count++] = b * TN_UNICODE_BLOCK; }
        blocks[b] = (uint16_t)k;
    }
    fprintf(out, "const uint16_t %s[] = {", blocks_name);
    for (uint32_t b = 0; b < TN_UNICODE_BLOCKS; b++) { fprintf(out, "%s%u,", b % 32 ? "" : "\n", blocks[b]); }
    fprintf(out, "\n};\nconst %s %s[] = {", type, entries_name);
    for (uint32_t i = 0; i < count * TN_UNICODE_BLOCK; i++) {
        fprintf(out, "%s%u,", i % 32 ? "" : "\n", numbers[kept[i / TN_UNICODE_BLOCK] + i % TN_UNICODE_BLOCK]);
    }
    fprintf(out, "\n};\n");
}

static void write_classes(FILE *out) {
    for (int32_t c = 0; c < POINTS; c++) { numbers[c] = (uint16_t)utf8proc_category(c); }
    numbers['\t'] = numbers['\v'] = numbers['\f'] = numbers[0x85] = TN_CLASS_WHITE;
    numbers['\r'] = numbers['\n'] = TN_CLASS_NEWLINE;
    write_stages(out, "tn_unicode_blocks", "uint8_t", "tn_unicode_classes");
}

/* Canonical decomposition (compose = 0) or composition of some characters; returns how many. */
static uint32_t normalise(const uint32_t *in, uint32_t count, int compose, uint32_t out[16]) {
    unsigned char text[64];
    uint32_t size = 0, n = 0;
    for (uint32_t i = 0; i < count; i++) { size += tn_utf8_write(text + size, in[i]); }
    text[size] = 0;
    unsigned char *done = compose ? utf8proc_NFC(text) : utf8proc_NFD(text);
    need(done != NULL, "utf8proc failed");
    for (uint32_t at = 0, step; done[at]; at += step) {
        need(n < 16, "a decomposition of more than 16 characters");
        out[n++] = tn_utf8_read(done + at, &step);
    }
    free(done);
    return n;
}

static int is_surrogate(uint32_t c) {
    return c >= 0xd800 && c < 0xe000;
}
static int is_hangul(uint32_t c) {
    return c >= 0xac00 && c < 0xd7a4;
}

/* Fills the record of a character and, if it is a primary composite, its pair. */
static tn_nfc_record describe(uint32_t c) {
    tn_nfc_record r = {.order = (uint8_t)utf8proc_get_property((int32_t)c)->combining_class};
    uint32_t full[16], composed[16], first[16];
    if (c == 0 || is_surrogate(c) || is_hangul(c)) { return r; }
    uint32_t n = normalise(&c, 1, 0, full);
    if (n == 1 && full[0] == c) { return r; }
    need(part_count + n <= PARTS_MAX && n < 256, "too many decompositions");
    r.parts = (uint8_t)n;
    r.at = (uint16_t)part_count;
    memcpy(parts + part_count, full, n * sizeof *full);
    part_count += n;
    r.may_change = normalise(&c, 1, 1, composed) != 1 || composed[0] != c;
    if (!r.may_change) {
        need(normalise(full, n - 1, 1, first) == 1, "a composite whose first part does not compose");
        need(pair_count < PAIRS_MAX, "too many pairs");
        pairs[pair_count++] = (tn_nfc_pair){first[0], full[n - 1], c};
    }
    return r;
}

static uint16_t number_of(const tn_nfc_record *r) {
    for (uint32_t i = 0; i < record_count; i++) {
        if (memcmp(&records[i], r, sizeof *r) == 0) { return (uint16_t)i; }
    }
    need(record_count < RECORDS_MAX, "too many records");
    records[record_count] = *r;
    return (uint16_t)record_count++;
}

static int by_parts(const void *a, const void *b) {
    const tn_nfc_pair *x = a, *y = b;
    if (x->first != y->first) { return x->first < y->first ? -1 : 1; }
    return x->second < y->second ? -1 : x->second > y->second;
}

/* What can be the second of a pair may change together with what stands before it. */
static int is_second(uint32_t c) {
    if ((c >= 0x1161 && c <= 0x1175) || (c >= 0x11a8 && c <= 0x11c2)) { return 1; }
    for (uint32_t i = 0; i < pair_count; i++) {
        if (pairs[i].second == c) { return 1; }
    }
    return 0;
}

static void write_leads(FILE *out, const tn_nfc_record *all) {
    uint32_t leads[256] = {0};
    for (uint32_t b = 0x80; b < 0xc0; b++) { leads[b] = 1; }
    for (uint32_t c = 0; c < POINTS; c++) {
        unsigned char text[4];
        uint32_t size = tn_utf8_write(text, c);
        leads[text[0]] |= size | (all[c].may_change || all[c].order ? TN_NFC_RESTLESS : 0);
    }
    fprintf(out, "const uint8_t tn_nfc_leads[256] = {");
    for (uint32_t b = 0; b < 256; b++) { fprintf(out, "%s%u,", b % 16 ? "" : "\n", leads[b]); }
    fprintf(out, "\n};\n");
}

static void write_nfc(FILE *out) {
    static tn_nfc_record all[POINTS];
    for (uint32_t c = 0; c < POINTS; c++) { all[c] = describe(c); }
    for (uint32_t c = 0; c < POINTS; c++) {
        if (!all[c].may_change && is_second(c)) { all[c].may_change = 1; }
        numbers[c] = number_of(&all[c]);
    }
    qsort(pairs, pair_count, sizeof *pairs, by_parts);
    write_leads(out, all);
    write_stages(out, "tn_nfc_blocks", "uint16_t", "tn_nfc_numbers");
    fprintf(out, "const tn_nfc_record tn_nfc_records[] = {\n");
    for (uint32_t i = 0; i < record_count; i++) {
        fprintf(out, "{%u, %u, %u, %u},\n", records[i].order, records[i].may_change, records[i].parts,
                records[i].at);
    }
    fprintf(out, "};\nconst uint32_t tn_nfc_parts[] = {");
    for (uint32_t i = 0; i < part_count; i++) { fprintf(out, "%s%u,", i % 16 ? "" : "\n", parts[i]); }
    fprintf(out, "\n};\nconst tn_nfc_pair tn_nfc_pairs[] = {\n");
    for (uint32_t i = 0; i < pair_count; i++) {
        fprintf(out, "{%u, %u, %u},\n", pairs[i].first, pairs[i].second, pairs[i].composed);
    }
    fprintf(out, "};\nconst uint32_t tn_nfc_pair_count = %u;\n", pair_count);
}

static void write_lower(FILE *out) {
    uint32_t count = 0;
    fprintf(out, "const tn_lower_pair tn_lower_pairs[] = {");
    for (int32_t c = 0; c < POINTS; c++) {
        int32_t lower = utf8proc_tolower(c);
        if (lower != c) { fprintf(out, "%s{%d, %d},", count++ % 8 ? "" : "\n", c, lower); }
    }
    fprintf(out, "\n};\nconst uint32_t tn_lower_pair_count = %u;\n", count);
}

int main(int argc, char **argv) {
    need(argc == 3, "usage: unicode_generate classes|nfc|lower FILE.c");
    FILE *out = fopen(argv[2], "w");
    need(out != NULL, "cannot write");
    fprintf(out,
            "/* Made by unicode_generate from utf8proc %s (Unicode %s). */\n#include \"unicode_tables.h\"\n",
            utf8proc_version(), utf8proc_unicode_version());
    if (strcmp(argv[1], "classes") == 0) {
        write_classes(out);
    } else if (strcmp(argv[1], "lower") == 0) {
        write_lower(out);
    } else {
        write_nfc(out);
    }
    need(fclose(out) == 0, "cannot write");
    return 0;
}
