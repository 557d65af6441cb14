/*
 * test_ctc_search.c - properties of the decoder: a beam that holds all texts finds the best one with its exact
 * probability, by the forward algorithm over all of them; narrow ones find less; ties; long inputs in bounded memory; what
 * is refused.
 */
#include "tenon/ctc.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>

enum { SIZE = 4, ROWS = 5, BEAM = 1024 };

static double random_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / (double)(1ull << 53);
}

static double add(double a, double b) {
    double high = fmax(a, b), low = fmin(a, b);
    return low == -INFINITY ? high : high + log(1 + exp(low - high));
}

static tn_ctc *make(const tn_ctc_options *options) {
    tn_error err = TN_ERROR_INIT;
    tn_ctc *ctc = NULL;
    cr_assert(tn_ctc_create(options, &ctc, &err) == TN_OK, "%s", err.text);
    return ctc;
}

static void push(tn_ctc *ctc, const float *rows, uint64_t count) {
    tn_error err = TN_ERROR_INIT;
    cr_assert(tn_ctc_push(ctc, rows, count, &err) == TN_OK, "%s", err.text);
}

static tn_ctc_text finish(tn_ctc *ctc) {
    tn_error err = TN_ERROR_INIT;
    tn_ctc_text text;
    cr_assert(tn_ctc_finish(ctc, &text, &err) == TN_OK, "%s", err.text);
    return text;
}

/* ---- against the forward algorithm ------------------------------------------------------------------- */

/* Log probability of a text: a[i] of the paths so far that end in symbol i of the text with blanks around. */
static double forward(const double *rows, int count, uint32_t size, uint32_t blank, const uint32_t *text,
                      int length) {
    double a[2 * ROWS + 3];
    int n = 2 * length + 1;
    for (int i = 0; i < n; i++) { a[i] = i == 0 ? 0 : -INFINITY; }
    for (int t = 0; t < count; t++) {
        for (int i = n - 1; i >= 0; i--) {
            uint32_t s = i % 2 ? text[i / 2] : blank;
            double sum = t == 0 && i > 1 ? -INFINITY : a[i];
            if (i > 0) { sum = add(sum, a[i - 1]); }
            if (i > 2 && i % 2 && s != text[i / 2 - 1]) { sum = add(sum, a[i - 2]); }
            if (t == 0 && i == 0) { sum = 0; }
            a[i] = sum + rows[(size_t)t * size + s];
        }
        if (t == 0 && n > 1) { a[1] = rows[text[0]]; }
    }
    return n > 1 ? add(a[n - 1], a[n - 2]) : a[0];
}

/* All texts of up to `count` symbols, as numbers to the base size - 1; the best one by probability and bigrams. */
static double best_of_all(const double *rows, int count, const tn_ctc_options *o, uint32_t *best,
                          int *best_length, double *probability) {
    double most = -INFINITY;
    for (int length = 0; length <= count; length++) {
        uint64_t texts = 1;
        for (int i = 0; i < length; i++) { texts *= o->size - 1; }
        for (uint64_t number = 0; number < texts; number++) {
            uint32_t text[ROWS];
            uint64_t rest = number;
            for (int i = 0; i < length; i++, rest /= o->size - 1) {
                text[i] = (uint32_t)(rest % (o->size - 1));
                text[i] += text[i] >= o->blank;
            }
            double p = forward(rows, count, o->size, o->blank, text, length), score = p;
            for (int i = 0; i <= length && o->bigrams; i++) {
                uint32_t a = i ? text[i - 1] : o->blank, b = i < length ? text[i] : o->blank;
                score += o->bigram_weight * (double)o->bigrams[a * o->size + b];
            }
            if (!(score > most)) { continue; }
            most = score;
            *probability = p;
            *best_length = length;
            memcpy(best, text, sizeof text);
        }
    }
    return most;
}

static void softmax(const float *logits, int count, uint32_t size, double *out) {
    for (int t = 0; t < count; t++) {
        double sum = 0;
        for (uint32_t i = 0; i < size; i++) { sum += exp((double)logits[(size_t)t * size + i]); }
        for (uint32_t i = 0; i < size; i++) {
            out[(size_t)t * size + i] = (double)logits[(size_t)t * size + i] - log(sum);
        }
    }
}

Test(ctc_search, a_beam_for_all_texts_finds_the_best_one) {
    uint64_t state = 1;
    for (int n = 0; n < 400; n++) {
        float logits[ROWS * SIZE], bigrams[SIZE * SIZE];
        double rows[ROWS * SIZE], probability = 0;
        int count = 1 + n % ROWS, length = 0;
        uint32_t text[ROWS];
        tn_ctc_options options = {.size = 2 + (uint32_t)(n / ROWS) % (SIZE - 1), .beam = BEAM};
        options.blank = (uint32_t)(random_number(&state) * options.size);
        for (int i = 0; i < ROWS * SIZE; i++) { logits[i] = (float)(6 * random_number(&state)); }
        for (int i = 0; i < SIZE * SIZE; i++) { bigrams[i] = (float)(-3 * random_number(&state)); }
        if (n % 2) { options.bigrams = bigrams, options.bigram_weight = 0.7; }
        softmax(logits, count, options.size, rows);
        best_of_all(rows, count, &options, text, &length, &probability);
        tn_ctc *ctc = make(&options);
        push(ctc, logits, (uint64_t)count);
        tn_ctc_text found = finish(ctc);
        cr_assert(found.count == (uint64_t)length, "input %d: %d characters, expected %d", n,
                  (int)found.count, length);
        for (int i = 0; i < length; i++) {
            cr_assert(found.symbols[i].symbol == text[i], "input %d: character %d is %u, expected %u", n, i,
                      found.symbols[i].symbol, text[i]);
        }
        cr_assert(fabs(found.log_probability - probability) < 1e-10, "input %d: %.15g, expected %.15g", n,
                  found.log_probability, probability);
        tn_ctc_free(ctc);
    }
}

/* ---- order and pieces -------------------------------------------------------------------------------- */

/* "a a" is two characters only with a blank in between, and a path of one in the beam that says "a". */
Test(ctc_search, repeated_characters) {
    static const float apart[] = {0, 9, 9, 0, 0, 9}, together[] = {0, 9, 0, 9, 0, 9};
    for (uint32_t beam = 0; beam < 5; beam += 4) {
        for (int i = 0; i < 2; i++) {
            tn_ctc *ctc = make(&(tn_ctc_options){.size = 2, .beam = beam});
            push(ctc, i ? together : apart, 3);
            tn_ctc_text text = finish(ctc);
            cr_expect(text.count == (i ? 1 : 2), "beam %u: %d characters", beam, (int)text.count);
            cr_expect(text.symbols[0].first == 0 && text.symbols[0].last == (i ? 2 : 0));
            tn_ctc_free(ctc);
        }
    }
}

Test(ctc_search, ties) {
    static const float even[4 * 5];
    tn_ctc *ctc = make(&(tn_ctc_options){.size = 5, .blank = 2});
    push(ctc, even, 1);
    tn_ctc_text text = finish(ctc);
    cr_expect(text.count == 1 && text.symbols[0].symbol == 0, "of equal symbols the lowest");
    cr_expect_float_eq(text.symbols[0].confidence, 0.2, 1e-12);
    tn_ctc_free(ctc);
    ctc = make(&(tn_ctc_options){.size = 5, .blank = 2, .beam = 3});
    push(ctc, even, 1);
    cr_expect(finish(ctc).count == 0, "of equal prefixes the one that stays");
    tn_ctc_free(ctc);
}

Test(ctc_search, no_rows_are_an_empty_text) {
    for (uint32_t beam = 0; beam < 3; beam++) {
        tn_ctc *ctc = make(&(tn_ctc_options){.size = 5, .beam = beam});
        tn_ctc_text text = finish(ctc);
        cr_expect(text.count == 0 && text.log_probability == 0);
        tn_ctc_free(ctc);
    }
}

/* ---- long inputs ------------------------------------------------------------------------------------- */

enum { SYMBOLS = 12 };

/* A row of a line with characters of 3 rows. `tied`: each third one is two symbols that are as likely as each other. */
static void line_row(uint64_t t, int tied, uint64_t *state, float row[SYMBOLS]) {
    for (int i = 0; i < SYMBOLS; i++) { row[i] = (float)random_number(state); }
    uint64_t character = t / 3;
    uint32_t symbol = t % 3 == 2 ? 0 : 1 + (uint32_t)(character * 7 % 10);
    row[symbol] += 9;
    if (symbol && character % 3 == 0) { row[symbol + 1] = row[symbol] - (tied ? 0 : 4); }
}

static tn_ctc_text long_line(tn_ctc **ctc, const tn_ctc_options *options, uint64_t rows, int tied,
                             size_t *memory) {
    uint64_t state = 3;
    float row[SYMBOLS];
    *ctc = make(options);
    *memory = 0;
    for (uint64_t t = 0; t < rows; t++) {
        line_row(t, tied, &state, row);
        push(*ctc, row, 1);
        size_t used = mallinfo2().uordblks + mallinfo2().hblkhd;
        if (t % 256 == 0 && used > *memory) { *memory = used; }
    }
    return finish(*ctc);
}

static void expect_sound(const tn_ctc_text *text, uint64_t rows) {
    uint64_t next = 0;
    for (uint64_t i = 0; i < text->count; i++) {
        const tn_ctc_symbol *s = &text->symbols[i];
        cr_assert(s->symbol > 0 && s->symbol < SYMBOLS && s->confidence > 0 && s->confidence <= 1);
        cr_assert(s->first >= next && s->last >= s->first && s->last < rows, "character %d: rows %d to %d",
                  (int)i, (int)s->first, (int)s->last);
        next = s->last + 1;
    }
}

Test(ctc_search, what_is_settled_early_is_the_same) {
    enum { LINE = 3000 };
    size_t memory;
    for (uint32_t beam = 1; beam < 30; beam += 9) {
        tn_ctc *ctc, *other;
        tn_ctc_text whole =
            long_line(&ctc, &(tn_ctc_options){.size = SYMBOLS, .beam = beam}, LINE, 0, &memory);
        expect_sound(&whole, LINE);
        cr_assert(whole.count == LINE / 3, "%d characters", (int)whole.count);
        for (uint32_t lag = 4; lag < 400; lag = 3 * lag + 1) {
            tn_ctc_options options = {.size = SYMBOLS, .beam = beam, .lag = lag};
            tn_ctc_text text = long_line(&other, &options, LINE, 0, &memory);
            expect_sound(&text, LINE);
            cr_assert(text.count == whole.count, "lag %u: %d characters, expected %d", lag, (int)text.count,
                      (int)whole.count);
            for (uint64_t i = 0; i < text.count; i++) {
                const tn_ctc_symbol *a = &text.symbols[i], *b = &whole.symbols[i];
                cr_assert(a->symbol == b->symbol && a->first == b->first && a->last == b->last &&
                              a->confidence == b->confidence,
                          "lag %u: character %d", lag, (int)i);
            }
            tn_ctc_free(other);
        }
        tn_ctc_free(ctc);
    }
}

/* Beside the text itself the memory is the same for 30000 rows as for 6000, though no prefix is ever decided. */
Test(ctc_search, memory_of_long_inputs) {
    tn_ctc_options options = {.size = SYMBOLS, .beam = 24, .lag = 256};
    size_t few, many;
    tn_ctc *ctc;
    tn_ctc_text text = long_line(&ctc, &options, 6000, 1, &few);
    uint64_t count = text.count;
    tn_ctc_free(ctc);
    if (!few) {
        cr_skip_test("memory of long inputs: nothing counts it here (mallinfo2, under a sanitizer)");
    }
    text = long_line(&ctc, &options, 30000, 1, &many);
    expect_sound(&text, 30000);
    size_t own = 2 * (text.count - count) * sizeof *text.symbols;
    cr_expect(many < few + own + 65536, "%zu bytes, then %zu, %zu of them the text's", few, many, own);
    tn_ctc_free(ctc);
}

/* Rows without any order, some of them with numbers as large as they can be: what comes out is sound, settled early or not. */
Test(ctc_search, noise) {
    for (uint32_t beam = 1; beam <= 64; beam *= 4) {
        for (uint32_t lag = 0; lag < 6; lag += 5) {
            uint64_t state = 9;
            float row[SYMBOLS];
            tn_ctc *ctc = make(&(tn_ctc_options){.size = SYMBOLS, .beam = beam, .lag = lag});
            for (int t = 0; t < 2000; t++) {
                float down = t % 97 ? 0 : -3e38f;
                for (int i = 0; i < SYMBOLS; i++) { row[i] = (float)(3 * random_number(&state)) + down; }
                push(ctc, row, 1);
            }
            tn_ctc_text text = finish(ctc);
            if (!lag) { expect_sound(&text, 2000); }
            cr_assert(isfinite(text.log_probability) && text.count > 10 && text.count <= 2000);
            tn_ctc_free(ctc);
        }
    }
}

/* ---- refused ----------------------------------------------------------------------------------------- */

static void expect_refused(const tn_ctc_options *options, int32_t code, const char *words) {
    tn_error err = TN_ERROR_INIT;
    tn_ctc *ctc;
    cr_expect(tn_ctc_create(options, &ctc, &err) == code, "%s", err.text);
    cr_expect(!ctc && strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
}

Test(ctc_search, options_out_of_range) {
    float bigrams[9] = {0};
    expect_refused(&(tn_ctc_options){.size = 1}, TN_E_RANGE, "1 symbols");
    expect_refused(&(tn_ctc_options){.size = 3, .blank = 3}, TN_E_RANGE, "number 3");
    expect_refused(&(tn_ctc_options){.size = 3, .beam = 1025}, TN_E_RANGE, "1025");
    expect_refused(&(tn_ctc_options){.size = 3, .beam = 1, .bigrams = bigrams}, TN_E_RANGE, "weight");
    bigrams[5] = NAN;
    expect_refused(&(tn_ctc_options){.size = 3, .beam = 1, .bigrams = bigrams, .bigram_weight = 1},
                   TN_E_INPUT, "row 1, column 2 is nan");
}

Test(ctc_search, numbers_that_are_none) {
    for (uint32_t beam = 0; beam < 2; beam++) {
        float rows[6] = {0, 1, 2, 3, -INFINITY, 5};
        tn_error err = TN_ERROR_INIT;
        tn_ctc *ctc = make(&(tn_ctc_options){.size = 3, .beam = beam});
        cr_expect(tn_ctc_push(ctc, rows, 2, &err) == TN_E_FAILED);
        cr_expect(strstr(err.text, "row 1: the number of symbol 1 is -inf"), "%s", err.text);
        tn_ctc_free(ctc);
    }
}
