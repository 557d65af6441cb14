/*
 * The sampler against distributions worked out by hand, and its random numbers against an implementation in
 * Python (whose splitmix64 gives the published 6457827717110365317, 3203168211198807973, ... for 1234567).
 * Every test is deterministic: seeds are fixed.
 */
#include "tenon/model.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const tn_sampler_options plain = {.temperature = 1, .top_p = 1, .repeat_penalty = 1};

static tn_sampler *create(const tn_sampler_options *options, uint32_t vocab_size) {
    tn_error error = TN_ERROR_INIT;
    tn_sampler *sampler;
    cr_assert(eq(i32, tn_sampler_create(options, vocab_size, &sampler, &error), TN_OK), "%s", error.text);
    return sampler;
}

static int32_t pick(tn_sampler *sampler, const float *logits) {
    tn_error error = TN_ERROR_INIT;
    int32_t id = -1;
    cr_assert(eq(i32, tn_sampler_pick(sampler, logits, &id, &error), TN_OK), "%s", error.text);
    return id;
}

/* ---- random numbers --------------------------------------------------------------------------------- */

static void expect_ids(const tn_sampler_options *options, const float *logits, uint32_t vocab_size,
                       const int32_t *wanted, size_t count) {
    tn_sampler *sampler = create(options, vocab_size);
    for (size_t i = 0; i < count; i++) {
        cr_expect(eq(i32, pick(sampler, logits), wanted[i]), "pick %zu", i);
    }
    tn_sampler_free(sampler);
}

/* With equal logits the id is the random fraction times the number of ids. */
Test(sampler, equal_logits_give_the_random_numbers_of_xoshiro) {
    static const float logits[1000];
    static const int32_t seed_0[16] = {601, 747, 103, 416, 732, 999, 422, 535,
                                       855, 918, 114, 67,  106, 654, 496, 296};
    static const int32_t seed_42[16] = {83,  378, 680, 924, 991, 769, 719, 850,
                                        761, 583, 682, 290, 801, 321, 711, 877};
    tn_sampler_options options = plain;
    expect_ids(&options, logits, 1000, seed_0, 16);
    options.seed = 42;
    expect_ids(&options, logits, 1000, seed_42, 16);
    options.top_k = 1000; /* the same, by another way */
    expect_ids(&options, logits, 1000, seed_42, 16);
    options.min_p = 1;
    expect_ids(&options, logits, 1000, seed_42, 16);
}

Test(sampler, ids_of_a_seed_are_those_of_the_python_implementation) {
    static const float logits[6] = {1.5f, -0.25f, 3.0f, 0.5f, 2.75f, -1.0f};
    static const int32_t at_1[24] = {4, 2, 0, 1, 1, 0, 2, 2, 2, 2, 4, 4, 3, 0, 2, 4, 2, 2, 2, 2, 2, 4, 4, 2};
    static const int32_t at_07[24] = {4, 2, 4, 3, 3, 4, 2, 2, 2, 2, 4, 4, 0, 4, 2, 4, 2, 2, 2, 2, 2, 4, 4, 2};
    tn_sampler_options options = plain;
    options.seed = 7;
    expect_ids(&options, logits, 6, at_1, 24);
    options.temperature = 0.7;
    expect_ids(&options, logits, 6, at_07, 24);
}

/* ---- distributions ---------------------------------------------------------------------------------- */

#define DRAWS 20000
#define IDS 6

/* Ids are drawn as often as they should be, within 4 standard deviations; those of chance 0 never. */
static void expect_chances(const tn_sampler_options *options, const double chances[IDS],
                           const double wanted[IDS]) {
    float logits[IDS];
    int counts[IDS] = {0};
    for (int i = 0; i < IDS; i++) { logits[i] = (float)log(chances[i]); } /* log 0 is -inf */
    tn_sampler *sampler = create(options, IDS);
    for (int i = 0; i < DRAWS; i++) { counts[pick(sampler, logits)]++; }
    for (int i = 0; i < IDS; i++) {
        double bound = 4 * sqrt(wanted[i] * (1 - wanted[i]) * DRAWS);
        cr_expect(fabs(counts[i] - wanted[i] * DRAWS) <= bound, "id %d: %d times, %g +- %g were expected", i,
                  counts[i], wanted[i] * DRAWS, bound);
    }
    tn_sampler_free(sampler);
}

static const double chances[IDS] = {0.2, 0.4, 0, 0.1, 0.25, 0.05};

Test(sampler, without_limits_ids_come_as_often_as_their_chances) {
    expect_chances(&plain, chances, chances);
}

Test(sampler, temperature_sharpens_and_flattens) {
    tn_sampler_options options = plain;
    double sum = 0.04 + 0.16 + 0.01 + 0.0625 + 0.0025;
    options.temperature = 0.5;
    expect_chances(&options, chances,
                   (double[]){0.04 / sum, 0.16 / sum, 0, 0.01 / sum, 0.0625 / sum, 0.0025 / sum});
    options.temperature = 1e300;
    expect_chances(&options, chances, (double[]){0.2, 0.2, 0, 0.2, 0.2, 0.2});
    options.temperature = 1e-320;
    expect_chances(&options, chances, (double[]){0, 1, 0, 0, 0, 0});
}

Test(sampler, top_k_keeps_the_k_best) {
    tn_sampler_options options = plain;
    options.top_k = 2;
    expect_chances(&options, chances, (double[]){0, 0.4 / 0.65, 0, 0, 0.25 / 0.65, 0});
    options.top_k = 1;
    expect_chances(&options, chances, (double[]){0, 1, 0, 0, 0, 0});
    options.top_k = UINT32_MAX;
    expect_chances(&options, chances, chances);
}

Test(sampler, top_p_keeps_the_fewest_that_reach_p) {
    tn_sampler_options options = plain;
    options.top_p = 0.6;
    expect_chances(&options, chances, (double[]){0, 0.4 / 0.65, 0, 0, 0.25 / 0.65, 0});
    options.top_p = 0.7;
    expect_chances(&options, chances, (double[]){0.2 / 0.85, 0.4 / 0.85, 0, 0, 0.25 / 0.85, 0});
    options.top_p = 0;
    expect_chances(&options, chances, (double[]){0, 1, 0, 0, 0, 0});
    options.top_p = 0.999999;
    expect_chances(&options, chances, chances);
}

Test(sampler, min_p_keeps_what_reaches_that_part_of_the_best) {
    tn_sampler_options options = plain;
    options.min_p = 0.45;
    expect_chances(&options, chances, (double[]){0.2 / 0.85, 0.4 / 0.85, 0, 0, 0.25 / 0.85, 0});
    options.min_p = 1;
    expect_chances(&options, chances, (double[]){0, 1, 0, 0, 0, 0});
}

/* top_k, then top_p of what is left, then min_p, all before the temperature. */
Test(sampler, limits_are_applied_in_their_order) {
    tn_sampler_options options = plain;
    options.top_k = 2;
    options.top_p = 0.6; /* 0.4 / 0.65 reaches it, 0.4 would not */
    expect_chances(&options, chances, (double[]){0, 1, 0, 0, 0, 0});
    options = plain;
    options.top_p = 0.6;
    options.temperature = 1e300; /* with it first, four of five would be kept */
    expect_chances(&options, chances, (double[]){0, 0.5, 0, 0, 0.5, 0});
    options = plain;
    options.min_p = 0.45;
    options.temperature = 1e300;
    expect_chances(&options, chances, (double[]){1.0 / 3, 1.0 / 3, 0, 0, 1.0 / 3, 0});
}

/* ---- large rows ------------------------------------------------------------------------------------- */

#define LARGE 20000

/* Logits with many ties, from a simple generator. */
static void fill_row(float *row, uint32_t seed) {
    for (int i = 0; i < LARGE; i++) {
        seed = seed * 1664525 + 1013904223;
        row[i] = (float)(seed >> 24) / 16;
    }
}

static const float *row_to_sort;

static int by_logit(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    if (row_to_sort[x] != row_to_sort[y]) { return row_to_sort[x] < row_to_sort[y] ? 1 : -1; }
    return (x > y) - (x < y);
}

/* At a temperature that makes all candidates equal, the order shows: it must be that of a full sort. */
Test(sampler, candidates_are_those_of_a_full_sort_in_its_order) {
    static const uint32_t most[] = {1, 2, 40, 1000, LARGE - 1, LARGE, 0};
    float *row = malloc(LARGE * sizeof *row);
    int32_t *order = malloc(LARGE * sizeof *order);
    fill_row(row, 1);
    row_to_sort = row;
    for (int32_t i = 0; i < LARGE; i++) { order[i] = i; }
    qsort(order, LARGE, sizeof *order, by_logit);
    for (size_t m = 0; m < sizeof most / sizeof most[0]; m++) {
        tn_sampler_options options = plain;
        uint32_t kept = most[m] ? most[m] : LARGE;
        options.top_k = most[m];
        options.temperature = 1e300;
        tn_sampler *sampler = create(&options, LARGE);
        tn_sampler *fractions = create(&options, kept);
        float *equal = calloc(kept, sizeof *equal);
        for (int i = 0; i < 5; i++) {
            int32_t place = pick(fractions, equal);
            cr_expect(eq(i32, pick(sampler, row), order[place]), "top_k %u, place %d", most[m], place);
        }
        free(equal);
        tn_sampler_free(fractions);
        tn_sampler_free(sampler);
    }
    free(order);
    free(row);
}

Test(sampler, whether_candidates_are_sorted_before_or_while_drawing_is_the_same) {
    float *row = malloc(LARGE * sizeof *row);
    tn_sampler_options lazy = plain, sorted = plain;
    sorted.min_p = 1e-300;
    tn_sampler *a = create(&lazy, LARGE), *b = create(&sorted, LARGE);
    for (uint32_t i = 0; i < 20; i++) {
        fill_row(row, i);
        cr_expect(eq(i32, pick(a, row), pick(b, row)), "row %u", i);
    }
    tn_sampler_free(a);
    tn_sampler_free(b);
    free(row);
}

/* ---- greedy and the repeat penalty ------------------------------------------------------------------ */

Test(sampler, greedy_takes_the_largest_and_of_equal_ones_the_lower_id) {
    tn_sampler_options options = plain;
    options.temperature = 0;
    tn_sampler *sampler = create(&options, 4);
    cr_expect(eq(i32, pick(sampler, (float[]){1, 3, 3, 2}), 1));
    cr_expect(eq(i32, pick(sampler, (float[]){-INFINITY, -5, -INFINITY, -4}), 3));
    cr_expect(eq(i32, pick(sampler, (float[]){0.0f, -0.0f, -1, -1}), 0));
    tn_sampler_free(sampler);
}

static tn_sampler *create_penalty(double penalty, int32_t last_n) {
    tn_sampler_options options = plain;
    options.temperature = 0;
    options.repeat_penalty = penalty;
    options.repeat_last_n = last_n;
    return create(&options, 4);
}

Test(sampler, the_repeat_penalty_divides_positive_and_multiplies_negative_logits) {
    static const float positive[4] = {4, 3, 1, 0}, negative[4] = {-2, -3, -9, -9};
    tn_sampler *sampler = create_penalty(2, 64);
    cr_expect(eq(i32, pick(sampler, positive), 0));
    tn_sampler_accept(sampler, 0);
    cr_expect(eq(i32, pick(sampler, positive), 1)); /* 2 3 1 0 */
    cr_expect(eq(i32, pick(sampler, negative), 1)); /* -4 -3 -9 -9 */
    tn_sampler_accept(sampler, 0);                  /* twice counts once */
    tn_sampler_accept(sampler, 1);
    cr_expect(eq(i32, pick(sampler, positive), 0)); /* 2 1.5 1 0 */
    tn_sampler_free(sampler);
    sampler = create_penalty(0.5, 64); /* below 1 it rewards */
    tn_sampler_accept(sampler, 1);
    cr_expect(eq(i32, pick(sampler, positive), 1)); /* 4 6 1 0 */
    tn_sampler_free(sampler);
}

/* The id that greedy takes after 0 and then `others` other ids were accepted. */
static int32_t after(int32_t last_n, int others) {
    tn_sampler *sampler = create_penalty(2, last_n);
    tn_sampler_accept(sampler, 0);
    for (int i = 0; i < others; i++) { tn_sampler_accept(sampler, 3); }
    int32_t id = pick(sampler, (float[]){4, 3, 1, 0});
    tn_sampler_free(sampler);
    return id;
}

Test(sampler, only_recent_ids_are_penalised) {
    cr_expect(eq(i32, after(2, 1), 1));
    cr_expect(eq(i32, after(2, 2), 0));
    cr_expect(eq(i32, after(1, 0), 1));
    cr_expect(eq(i32, after(1, 1), 0));
    cr_expect(eq(i32, after(0, 0), 0));
    cr_expect(eq(i32, after(-1, 1000), 1));
    cr_expect(eq(i32, after(INT32_MAX, 1000), 1));
}

Test(sampler, ids_outside_the_vocabulary_may_be_accepted) {
    tn_sampler *sampler = create_penalty(2, 1);
    tn_sampler_accept(sampler, 0);
    tn_sampler_accept(sampler, -1);
    tn_sampler_accept(sampler, 4);
    cr_expect(eq(i32, pick(sampler, (float[]){4, 3, 1, 0}), 0));
    tn_sampler_free(sampler);
}

Test(sampler, the_largest_logits_and_penalties_stay_finite) {
    tn_sampler_options options = plain;
    options.repeat_penalty = 3.0e38;
    options.repeat_last_n = -1;
    options.top_p = 0.9;
    for (int i = 0; i < 2; i++) {
        tn_sampler *sampler = create(&options, 2);
        for (int32_t id = 0; id < 2; id++) { tn_sampler_accept(sampler, id); }
        int32_t low = pick(sampler, (float[]){-3.0e38f, -3.3e38f}),
                high = pick(sampler, (float[]){3.0e38f, 3.3e38f});
        cr_expect(low >= 0 && low <= i && high >= 0, "%d %d", low, high);
        tn_sampler_free(sampler);
        options.repeat_penalty = 1.2e-38;
    }
}

/* ---- what is refused -------------------------------------------------------------------------------- */

static void expect_refused(const float *row, const char *words) {
    for (int greedy = 0; greedy < 2; greedy++) {
        tn_error error = TN_ERROR_INIT;
        tn_sampler_options options = plain;
        int32_t id = -7;
        options.temperature = greedy ? 0 : 1;
        tn_sampler *sampler = create(&options, 3);
        cr_expect(eq(i32, tn_sampler_pick(sampler, row, &id, &error), TN_E_FAILED), "%s", words);
        cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
        cr_expect(eq(i32, id, -7));
        tn_sampler_free(sampler);
    }
}

Test(sampler, rows_without_a_distribution_are_refused) {
    expect_refused((float[]){1, NAN, 2}, "id 1 is NaN");
    expect_refused((float[]){1, 2, INFINITY}, "id 2 is infinite");
    expect_refused((float[]){-INFINITY, -INFINITY, -INFINITY}, "no logit");
}

static void expect_range(tn_sampler_options options, uint32_t vocab_size, const char *name) {
    tn_error error = TN_ERROR_INIT;
    tn_sampler *sampler;
    cr_expect(eq(i32, tn_sampler_create(&options, vocab_size, &sampler, &error), TN_E_RANGE), "%s", name);
    cr_expect(strstr(error.text, name) != NULL, "\"%s\" is not in: %s", name, error.text);
    cr_expect(sampler == NULL);
}

Test(sampler, options_out_of_range_are_named) {
    static const double bad[] = {-0.1, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tn_sampler_options options = plain;
        options.temperature = bad[i];
        expect_range(options, 8, "temperature");
        options = plain;
        options.top_p = bad[i];
        expect_range(options, 8, "top_p");
        options = plain;
        options.min_p = bad[i];
        expect_range(options, 8, "min_p");
        options = plain;
        options.repeat_penalty = bad[i];
        expect_range(options, 8, "repeat_penalty");
    }
    tn_sampler_options options = plain;
    options.top_p = 1.1;
    expect_range(options, 8, "top_p");
    options = plain;
    options.min_p = 1.1;
    expect_range(options, 8, "min_p");
    options = plain;
    options.repeat_penalty = 0;
    expect_range(options, 8, "repeat_penalty");
    options = plain;
    options.repeat_last_n = -2;
    expect_range(options, 8, "repeat_last_n");
    expect_range(plain, 0, "vocabulary");
    expect_range(plain, 1u << 31, "vocabulary");
}

Test(sampler, the_defaults_are_those_of_the_header) {
    tn_sampler_options o;
    tn_sampler_defaults(&o);
    cr_expect(o.seed == 0 && o.temperature == 0.8 && o.top_k == 40 && o.top_p == 0.95 && o.min_p == 0.05);
    cr_expect(o.repeat_penalty == 1 && o.repeat_last_n == 64);
    tn_sampler_free(create(&o, 1));
    tn_sampler_free(NULL);
}
