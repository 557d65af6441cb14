/*
 * test_ctc_cases.c - tests/data/ocr/cases.txt: small cases whose texts, probabilities, spans and confidences were computed
 * by going through every path (tests/tools/fixtures/make_azmx_ocr.py). The beam is wide enough for all texts.
 */
#include "tenon/ctc.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { MOST = 64, BEAM = 1024 };

struct wanted {
    double log_probability;
    int count;
    tn_ctc_symbol symbols[MOST];
};

static void expect_word(FILE *file, const char *word) {
    char found[32] = "";
    cr_assert(fscanf(file, "%31s", found) == 1 && strcmp(found, word) == 0, "\"%s\", expected \"%s\"", found,
              word);
}

static void read_floats(FILE *file, float *out, int count) {
    for (int i = 0; i < count; i++) { cr_assert(fscanf(file, "%f", &out[i]) == 1); }
}

static void read_wanted(FILE *file, const char *word, struct wanted *out) {
    expect_word(file, word);
    cr_assert(fscanf(file, "%lf %d", &out->log_probability, &out->count) == 2 && out->count <= MOST);
    for (int i = 0; i < out->count; i++) {
        tn_ctc_symbol *s = &out->symbols[i];
        unsigned long first, last;
        cr_assert(fscanf(file, "%u %lu %lu %lf", &s->symbol, &first, &last, &s->confidence) == 4);
        s->first = first;
        s->last = last;
    }
}

static void expect_text(int number, const char *what, const tn_ctc_text *found, const struct wanted *wanted) {
    cr_assert(found->count == (uint64_t)wanted->count, "case %d, %s: %d characters, expected %d", number,
              what, (int)found->count, wanted->count);
    cr_assert(fabs(found->log_probability - wanted->log_probability) < 1e-9,
              "case %d, %s: log probability %.15g, expected %.15g", number, what, found->log_probability,
              wanted->log_probability);
    for (int i = 0; i < wanted->count; i++) {
        const tn_ctc_symbol *f = &found->symbols[i], *w = &wanted->symbols[i];
        cr_assert(f->symbol == w->symbol && f->first == w->first && f->last == w->last,
                  "case %d, %s, character %d: symbol %u in rows %d to %d, expected %u in %d to %d", number,
                  what, i, f->symbol, (int)f->first, (int)f->last, w->symbol, (int)w->first, (int)w->last);
        cr_assert(fabs(f->confidence - w->confidence) < 1e-9,
                  "case %d, %s, character %d: confidence %.15g, expected %.15g", number, what, i,
                  f->confidence, w->confidence);
    }
}

/* The rows in pieces of `piece`. */
static void decode(int number, const char *what, const tn_ctc_options *options, const float *rows, int count,
                   int piece, const struct wanted *wanted) {
    tn_error err = TN_ERROR_INIT;
    tn_ctc *ctc = NULL;
    tn_ctc_text text;
    cr_assert(tn_ctc_create(options, &ctc, &err) == TN_OK, "%s", err.text);
    for (int at = 0; at < count; at += piece) {
        uint64_t n = (uint64_t)(count - at < piece ? count - at : piece);
        cr_assert(tn_ctc_push(ctc, rows + (size_t)at * options->size, n, &err) == TN_OK, "%s", err.text);
    }
    cr_assert(tn_ctc_finish(ctc, &text, &err) == TN_OK, "%s", err.text);
    expect_text(number, what, &text, wanted);
    tn_ctc_free(ctc);
}

Test(ctc, every_path_of_small_cases) {
    char path[4096], word[32];
    snprintf(path, sizeof path, "%s/ocr/cases.txt", getenv("TENON_TEST_DATA"));
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s", path);
    int number = 0, count;
    while (fscanf(file, "%31s", word) == 1) {
        float rows[256], bigrams[64];
        double weight;
        struct wanted best_path, best_text;
        tn_ctc_options options = {0};
        cr_assert(strcmp(word, "case") == 0);
        cr_assert(fscanf(file, "%d %u %u %lf", &count, &options.size, &options.blank, &weight) == 4);
        cr_assert(count * options.size <= 256 && options.size <= 8);
        expect_word(file, "rows");
        read_floats(file, rows, count * (int)options.size);
        if (weight > 0) {
            expect_word(file, "bigrams");
            read_floats(file, bigrams, (int)(options.size * options.size));
        }
        read_wanted(file, "path", &best_path);
        read_wanted(file, "beam", &best_text);
        decode(number, "path", &options, rows, count, 1, &best_path);
        options.beam = BEAM;
        options.bigrams = weight > 0 ? bigrams : NULL;
        options.bigram_weight = weight;
        for (int piece = 1; piece <= 3; piece++) {
            decode(number, "beam", &options, rows, count, piece, &best_text);
        }
        number++;
    }
    cr_assert(number == 100, "%d cases", number);
    fclose(file);
}
