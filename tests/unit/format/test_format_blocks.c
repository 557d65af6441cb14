/* test_format_blocks.c - decode and check against the goldens of another implementation. */
#include "format_cases.h"
#include "half.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void decode_case(const tn_format *format, const format_golden *golden, json_t *entry) {
    uint64_t blocks = (uint64_t)json_integer_value(json_object_get(entry, "blocks")),
             count = blocks * format->block;
    const uint8_t *enc = golden_bytes(golden, entry, "enc");
    const float *want = golden_bytes(golden, entry, "out");
    guarded in = guarded_new(blocks * format->block_bytes), out = guarded_new(count * sizeof(float));
    const float *got = (float *)out.at;
    memcpy(in.at, enc, in.bytes);
    format->decode(NULL, in.at, count, (float *)out.at);
    for (uint64_t i = 0; i < count; i++) {
        if (!same_float(got[i], want[i]) && !(got[i] == 0 && want[i] == 0)) {
            cr_assert_fail("%s, case %s, element %llu: %a, expected %a", format->name,
                           json_string_value(json_object_get(entry, "name")), (unsigned long long)i,
                           (double)got[i], (double)want[i]);
        }
    }
    guarded_free(&in);
    guarded_free(&out);
}

Test(blocks, decode_gives_the_bits_of_the_goldens) {
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        format_golden golden = format_golden_open(format);
        cr_assert_gt(golden_each(&golden, "decode", decode_case, format), 3, "%s", *name);
        format_golden_close(&golden);
    }
}

static void invalid_case(const tn_format *format, const format_golden *golden, json_t *entry) {
    uint64_t blocks = (uint64_t)json_integer_value(json_object_get(entry, "blocks")),
             bytes = format->block_bytes;
    const uint8_t *enc = golden_bytes(golden, entry, "enc");
    uint8_t *mixed = calloc(5, bytes);
    for (uint64_t b = 0; b < blocks;
         b++) { /* each one alone, then as the fourth of five, before another bad one */
        uint64_t bad = 99;
        cr_assert_eq(format->check(NULL, enc + b * bytes, 1, &bad), TN_E_FILE_DAMAGED, "%s block %d",
                     format->name, (int)b);
        cr_assert_eq(bad, 0);
        memcpy(mixed + 3 * bytes, enc + b * bytes, bytes);
        memcpy(mixed + 4 * bytes, enc, bytes);
        cr_assert_eq(format->check(NULL, mixed, 5, &bad), TN_E_FILE_DAMAGED);
        cr_assert_eq(bad, 3, "%s: first bad block %llu, expected 3", format->name, (unsigned long long)bad);
        cr_assert_eq(format->check(NULL, mixed, 3, &bad), TN_OK);
    }
    free(mixed);
}

static void valid_case(const tn_format *format, const format_golden *golden, json_t *entry) {
    uint64_t blocks = (uint64_t)json_integer_value(json_object_get(entry, "blocks")), bad = 0;
    int holds_nonfinite =
        (format->flags & TN_FORMAT_FLOAT) || format->type == 39; /* MXFP4: the exponent 255 */
    int32_t want =
        holds_nonfinite && json_is_true(json_object_get(entry, "has_nonfinite")) ? TN_E_FILE_DAMAGED : TN_OK;
    cr_assert_eq(format->check(NULL, golden_bytes(golden, entry, "enc"), blocks, &bad), want, "%s, case %s",
                 format->name, json_string_value(json_object_get(entry, "name")));
}

Test(blocks, check_refuses_what_no_encoder_writes) {
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        format_golden golden = format_golden_open(format);
        int bad = golden_each(&golden, "invalid", invalid_case, format);
        /* Q8_1 is in no file; its scale is tried below. NVFP4's scale bytes are all numbers. */
        int none = (format->flags & TN_FORMAT_FLOAT) || format->type == 9 || format->type == 40;
        cr_assert(none || bad > 0, "%s: no case", *name);
        golden_each(&golden, "decode", valid_case, format);
        format_golden_close(&golden);
    }
}

Test(blocks, check_looks_at_every_binary16_scale) {
    static const uint16_t bad_ones[] = {0x7c00, 0xfc00, 0x7e00, 0xffff};
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        uint32_t count, bytes = format->block_bytes;
        const uint32_t *at = format_scales(format, &count);
        for (uint32_t i = 0; !(format->flags & TN_FORMAT_FLOAT) && i < count; i++) {
            for (int k = 0; k < 4; k++) {
                uint8_t *blocks = calloc(3, bytes);
                uint64_t bad = 99;
                memcpy(blocks + bytes + at[i], &bad_ones[k], 2);
                cr_assert_eq(format->check(NULL, blocks, 3, &bad), TN_E_FILE_DAMAGED, "%s, scale at %u: %x",
                             *name, at[i], bad_ones[k]);
                cr_assert_eq(bad, 1, "%s: first bad block %llu, expected 1", *name, (unsigned long long)bad);
                cr_assert_eq(format->check(NULL, blocks, 1, &bad), TN_OK, "%s", *name);
                free(blocks);
            }
        }
    }
}

Test(blocks, check_names_the_first_bad_number_of_float_types) {
    static const float bad_ones[] = {INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 3; i++) {
        float x[5] = {1, 2, bad_ones[i], 4, NAN};
        uint16_t half[5], bfloat[5];
        uint64_t bad = 99;
        for (int k = 0; k < 5; k++) {
            half[k] = tn_half_of_float(x[k]);
            bfloat[k] = tn_bfloat_of_float(x[k]);
        }
        cr_assert_eq(format_open("f32")->check(NULL, x, 5, &bad), TN_E_FILE_DAMAGED);
        cr_assert_eq(bad, 2);
        cr_assert_eq(format_open("f16")->check(NULL, half, 5, &bad), TN_E_FILE_DAMAGED);
        cr_assert_eq(bad, 2);
        cr_assert_eq(format_open("bf16")->check(NULL, bfloat, 5, &bad), TN_E_FILE_DAMAGED);
        cr_assert_eq(bad, 2);
    }
}

/* All numbers but one, so that they fill no vector. */
Test(blocks, every_instruction_set_decodes_f16_to_the_same_bits) {
    enum { COUNT = 1 << 16 };
    const uint64_t sets[] = {0, machine_isa()};
    uint16_t *halves = malloc(COUNT * sizeof *halves);
    guarded out = guarded_new((COUNT - 1) * sizeof(float));
    for (uint32_t i = 0; i < COUNT; i++) { halves[i] = (uint16_t)i; }
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        const float *got = (float *)out.at;
        format_open("f16")->decode(format_self("f16", sets[s]), halves + 1, COUNT - 1, (float *)out.at);
        for (uint32_t i = 1; i < COUNT; i++) {
            uint32_t bits = tn_bits_of_float(got[i - 1]),
                     want = tn_bits_of_float(tn_float_of_half(halves[i]));
            cr_assert_eq(bits, want, "instruction sets %llx, %x: %x, expected %x",
                         (unsigned long long)sets[s], i, bits, want);
        }
    }
    guarded_free(&out);
    free(halves);
}

/* The nearest of all binary16 numbers, ties to the even one, by trying neighbours in double. */
Test(blocks, half_rounds_to_nearest_even) {
    uint64_t state = 7;
    for (uint32_t h = 0; h < 0x7c00; h++) { /* the middle between two, and just beside it */
        double low = (double)tn_float_of_half((uint16_t)h);
        double high = h == 0x7bff ? 65536.0 : (double)tn_float_of_half((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2);
        uint16_t even = (uint16_t)(h & 1 ? h + 1 : h);
        cr_assert_eq((double)middle, (low + high) / 2);
        cr_assert_eq(tn_half_of_float((float)low), h);
        cr_assert_eq(tn_half_of_float(middle), even, "%a: %x, expected %x", (double)middle,
                     tn_half_of_float(middle), even);
        cr_assert_eq(tn_half_of_float(-middle), even | 0x8000);
        cr_assert_eq(tn_half_of_float(nextafterf(middle, 0)), h);
        cr_assert_eq(tn_half_of_float(nextafterf(middle, INFINITY)), h + 1);
    }
    cr_assert_eq(tn_half_of_float(0x1p-149f), 0);
    cr_assert_eq(tn_half_of_float(INFINITY), 0x7c00);
    for (int i = 0; i < 1000; i++) { /* a NaN stays one, quiet */
        uint32_t bits = 0x7f800000 | (uint32_t)(random_bits(&state) >> 41) | 1;
        cr_assert_eq(tn_half_of_float(tn_float_of_bits(bits)) & 0x7e00, 0x7e00);
        cr_assert_eq(tn_bfloat_of_float(tn_float_of_bits(bits)) & 0x7fc0, 0x7fc0);
    }
}
