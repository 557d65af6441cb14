/* test_format_encode.c - encoders against the reference's: no larger error, and sound at the edges. */
#include "format_cases.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, COLS = 1024, HUGE_ROW = 11, NAN_ROW = 14, INF_ROW = 15 };

/* The error of a row as the goldens count it. */
static double row_error(const float *x, const float *y, const float *importance) {
    double sum = 0, weight = 0;
    for (int c = 0; c < COLS; c++) {
        double w = importance ? importance[c] : 1, miss = (double)x[c] - (double)y[c];
        sum += w * miss * miss;
        weight += w;
    }
    return sum / weight;
}

/* How far an encoded number may be off, of its block's largest: half of the type's widest gap, and some. */
static float coarseness(const tn_format *format) {
    uint32_t bits = 8 * format->block_bytes / format->block;
    if (format->type == 18) { return 1.1f; } /* IQ3_XXS: a sign in eight may be wrong */
    if (bits >= 5) { return 0.08f; }
    if (bits == 4) { return 0.2f; }
    return bits == 3 ? 0.35f : 1.05f;
}

/* The largest number that a type can write; what is beyond is refused. */
static float largest_number(const tn_format *format) {
    switch (format->type) {
    case 0:
    case 30:
    case 39: return 3.4e38f; /* F32, BF16; MXFP4: up to 12 * 2^126 */
    case 40: return 2688;    /* NVFP4: 448 * 6 */
    default: return 65504;   /* times the largest code, which only adds to it */
    }
}

/* What may become zero. */
static float smallest_number(const tn_format *format) {
    switch (format->type) {
    case 18:
    case 21: return 0x1p-20f; /* IQ3: nor here, and a number alone among 255 zeros has to outweigh them all */
    case 20:
    case 23:
        return 0x1p-21f; /* IQ4: no code is 0, so beside zeros a number of a few steps is best left out */
    case 40: return 0x1p-11f; /* NVFP4: half of 2^-9 / 2 */
    default: return 0x1p-24f;
    }
}

static int is_judged(const format_golden *golden, int row) {
    size_t i;
    json_t *entry, *shared = json_object_get(json_object_get(golden->index, "shared"), "encode_x");
    json_array_foreach (json_object_get(shared, "judged_rows"), i, entry) {
        if (json_integer_value(entry) == row) { return 1; }
    }
    return 0;
}

static void refused_without_importance(const tn_format *format, const float *x) {
    uint8_t enc[COLS * 2];
    tn_error err = {.struct_size = sizeof err};
    cr_assert_eq(format->encode(NULL, x, 1, COLS, NULL, enc, &err), TN_E_INPUT, "%s", format->name);
    cr_assert(strstr(err.text, "importance"), "%s: %s", format->name, err.text);
}

static void encode_case(const tn_format *format, const format_golden *golden, json_t *entry) {
    const char *name = json_string_value(json_object_get(entry, "name"));
    const float *importance =
        strcmp(name, "importance") == 0 ? golden_shared(golden, "importance", NULL) : NULL;
    const float *x = golden_shared(golden, "encode_x", NULL);
    uint64_t row_bytes = COLS / format->block * format->block_bytes, bad;
    if (!importance && format->importance == TN_IMPORTANCE_NEEDED) {
        refused_without_importance(format, x);
        return;
    }
    const uint8_t *reference = golden_bytes(golden, entry, "enc");
    double logs = 0;
    int judged = 0;
    for (int r = 0; r < ROWS; r++) {
        uint8_t *enc = calloc(1, row_bytes);
        float y[COLS];
        tn_error err = {.struct_size = sizeof err};
        int32_t code = format->encode(NULL, x + r * COLS, 1, COLS, importance, enc, &err);
        json_t *known = json_array_get(json_object_get(entry, "row_wmse"), (size_t)r);
        if (r == NAN_ROW || r == INF_ROW) {
            cr_assert_eq(code, TN_E_INPUT, "%s %s row %d: code %d", format->name, name, r, code);
        } else if (r == HUGE_ROW && largest_number(format) < 1e30f) {
            cr_assert_eq(code, TN_E_RANGE, "%s %s row %d: code %d", format->name, name, r, code);
            cr_assert(strlen(err.text) > 0);
        } else {
            cr_assert_eq(code, TN_OK, "%s %s row %d: %s", format->name, name, r, err.text);
            cr_assert_eq(format->check(NULL, enc, COLS / format->block, &bad), TN_OK);
            format->decode(NULL, enc, COLS, y);
            double error = row_error(x + r * COLS, y, importance), ours = error,
                   theirs = json_number_value(known);
            if (is_judged(golden, r)) {
                cr_assert_leq(ours, 1.10 * theirs, "%s %s row %d: error %g, reference %g", format->name, name,
                              r, ours, theirs);
                logs += log(ours / theirs);
                judged++;
            } else {
                cr_assert_leq(ours, 1.10 * theirs + 1e-7, "%s %s row %d: error %g, reference %g",
                              format->name, name, r, ours, theirs);
            }
            if (format->type == 1 || format->type == 30 || (format->type == 8 && r != 10 && r != 12)) {
                cr_assert_eq(memcmp(enc, reference + (uint64_t)r * row_bytes, row_bytes), 0,
                             "%s %s row %d: other bytes", format->name, name, r);
            }
        }
        free(enc);
    }
    double mean = exp(logs / judged);
    fprintf(stderr, "%s %s: %.4f of the reference's error\n", format->name, name, mean);
    cr_assert_leq(mean, 1.01, "%s %s: %.4f of the reference's error", format->name, name, mean);
}

Test(encode, errors_are_no_larger_than_the_references) {
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        if (!format->encode) { continue; }
        format_golden golden = format_golden_open(format);
        int cases = golden_each(&golden, "encode", encode_case, format);
        int needed = format->importance == TN_IMPORTANCE_NEEDED; /* then there is no plain reference */
        cr_assert_eq(cases, format->type == 0 ? 0 : needed ? 1 : 2, "%s: %d cases", *name, cases);
        if (needed) { refused_without_importance(format, golden_shared(&golden, "encode_x", NULL)); }
        format_golden_close(&golden);
    }
}

Test(encode, f32_keeps_the_bits) {
    const tn_format *format = format_open("f32");
    float x[6] = {0, -0.0f, 1e-45f, 3e38f, -1.5f, 7}, y[6];
    cr_assert_eq(format->encode(NULL, x, 2, 3, NULL, y, NULL), TN_OK);
    cr_assert_eq(memcmp(x, y, sizeof x), 0);
}

/* Zeros, the smallest numbers, one number alone, equal numbers; with and without importance, which may be
 * zero. */
Test(encode, edges) {
    static const float sizes[] = {0,     1e-45f, 1e-40f, 1e-38f, 1e-30f, 1e-10f,
                                  6e-8f, 1e-6f,  1e-3f,  1,      300,    6e4f};
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        if (!format->encode) { continue; }
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes && sizes[s] <= largest_number(format); s++) {
            for (int kind = format->importance == TN_IMPORTANCE_NEEDED ? 4 : 0; kind < 8; kind++) {
                float x[256], y[256], importance[256], largest = 0;
                uint8_t enc[256 * 4];
                uint64_t state = 3 + s, bad;
                for (int i = 0; i < 256; i++) {
                    x[i] = kind % 4 == 0   ? sizes[s]
                           : kind % 4 == 1 ? -sizes[s]
                                           : sizes[s] * random_float(&state);
                    if (kind % 4 == 2 && i != 77) { x[i] = 0; }
                    importance[i] = kind >= 6 || i / 32 == 1 ? 0 : (float)(i % 3);
                    largest = fmaxf(largest, fabsf(x[i]));
                }
                tn_error err = {.struct_size = sizeof err};
                int32_t code = format->encode(NULL, x, 1, 256, kind >= 4 ? importance : NULL, enc, &err);
                cr_assert_eq(code, TN_OK, "%s %g kind %d: %s", *name, (double)sizes[s], kind, err.text);
                cr_assert_eq(format->check(NULL, enc, 256 / format->block, &bad), TN_OK);
                format->decode(NULL, enc, 256, y);
                for (int i = 0; i < 256;
                     i++) { /* within a step of the coarsest grid there is, or of binary16 */
                    float allowed = largest * coarseness(format) + smallest_number(format);
                    cr_assert_leq(fabsf(x[i] - y[i]), allowed, "%s %g kind %d, column %d: %a becomes %a",
                                  *name, (double)sizes[s], kind, i, (double)x[i], (double)y[i]);
                }
            }
        }
    }
}

/* What would need an infinite scale is refused by place, not written. */
Test(encode, refuses_what_binary16_cannot_scale) {
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        if (!format->encode || largest_number(format) > 3e38f) { continue; }
        float x[512] = {0}, importance[512];
        uint8_t enc[1024];
        x[300] = 3.4e38f;
        for (int i = 0; i < 512; i++) { importance[i] = 1; }
        tn_error err = {.struct_size = sizeof err};
        cr_assert_eq(format->encode(NULL, x, 1, 512, importance, enc, &err), TN_E_RANGE, "%s", *name);
        cr_assert(strstr(err.text, "row 0"), "%s: %s", *name, err.text);
    }
}

Test(encode, refuses_bad_input_by_place) {
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        float x[512] = {0}, importance[256];
        uint8_t enc[2048];
        if (!format->encode) { continue; }
        for (int i = 0; i < 256; i++) { importance[i] = 1; }
        tn_error err = {.struct_size = sizeof err};
        x[256 + 3] = NAN;
        cr_assert_eq(format->encode(NULL, x, 2, 256, importance, enc, &err), TN_E_INPUT);
        cr_assert(strstr(err.text, "row 1, column 3"), "%s: %s", *name, err.text);
        x[256 + 3] = 0;
        importance[9] = -1;
        cr_assert_eq(format->encode(NULL, x, 2, 256, importance, enc, &err), TN_E_INPUT);
        cr_assert(strstr(err.text, "column 9"), "%s: %s", *name, err.text);
    }
}

static void encode_rows(const tn_format *format, void *self, const float *x, uint64_t rows, uint64_t cols,
                        const float *importance, uint8_t *enc) {
    tn_error err = {.struct_size = sizeof err};
    int32_t code = format->encode(self, x, rows, cols, importance, enc, &err);
    cr_assert_eq(code, TN_OK, "%s, %d rows of %d: %s", format->name, (int)rows, (int)cols, err.text);
}

/* Blocks at odd places of a row, whose number fills no vector; all rows at once, and each alone. */
static void same_bytes(const tn_format *format, const char *name, const float *x, uint64_t cols,
                       const float *importance) {
    enum { ROWS_AT_ONCE = 7 };
    uint64_t row_bytes = cols / format->block * format->block_bytes, bytes = ROWS_AT_ONCE * row_bytes;
    uint8_t *want = calloc(1, bytes), *got = calloc(1, bytes);
    for (uint64_t r = 0; r < ROWS_AT_ONCE; r++) {
        encode_rows(format, NULL, x + r * cols, 1, cols, importance, want + r * row_bytes);
    }
    const uint64_t sets[] = {0, TN_ISA_AVX2, machine_isa()};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if ((machine_isa() & sets[i]) != sets[i]) { continue; }
        memset(got, 0, bytes);
        encode_rows(format, format_self(name, sets[i]), x, ROWS_AT_ONCE, cols, importance, got);
        for (uint64_t b = 0; b < bytes; b++) {
            cr_assert_eq(got[b], want[b], "%s, instruction sets %llx, %d columns, byte %d: %d, portable %d",
                         name, (unsigned long long)sets[i], (int)cols, (int)b, got[b], want[b]);
        }
    }
    free(want);
    free(got);
}

Test(encode, every_instruction_set_writes_the_same_bytes) {
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        if (!format->encode) { continue; }
        format_golden golden = format_golden_open(format);
        const float *x = golden_shared(&golden, "encode_x", NULL),
                    *importance = golden_shared(&golden, "importance", NULL);
        const uint64_t cols[] = {256, 3 * (format->block < 32 ? 32 : format->block), COLS};
        for (size_t i = 0; i < 3; i++) {
            same_bytes(format, *name, x, cols[i], importance);
            if (format->importance != TN_IMPORTANCE_NEEDED) { same_bytes(format, *name, x, cols[i], NULL); }
        }
        format_golden_close(&golden);
    }
}
