/*
 * ctc.c - decoding of ctc outputs: rows to log probabilities in float64; the most probable path. ctc_beam.c has the
 * search for the most probable text.
 */
#include "ctc_beam.h"
#include "model_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { LAG = 1024 };

struct tn_ctc {
    tn_ctc_options options;
    float *own_bigrams; /* what options.bigrams points to, if they are a model's */
    double *row;
    uint64_t rows;     /* so far */
    tn_ctc_beam *beam; /* NULL: the most probable path */
    tn_ctc_list list;
    uint32_t previous; /* of the path: the last row's symbol */
    double log_probability;
};

/* ---- create ------------------------------------------------------------------------------------------ */

static int32_t no_memory(tn_error *err) {
    TN_FAIL(err, TN_E_MEMORY, "no memory to decode characters");
}

static int32_t check_options(const tn_ctc_options *o, tn_error *err) {
    if (o->size < 2 || o->blank >= o->size) {
        TN_FAIL(err, TN_E_RANGE, "an alphabet of %" PRIu32 " symbols with number %" PRIu32 " as its blank",
                o->size, o->blank);
    }
    if (o->beam > TN_CTC_BEAM_MOST) {
        TN_FAIL(err, TN_E_RANGE, "a beam of %" PRIu32 " prefixes, expected at most %u", o->beam,
                TN_CTC_BEAM_MOST);
    }
    if (!o->bigrams) { return TN_OK; }
    if (!(o->bigram_weight > 0 && isfinite(o->bigram_weight))) {
        TN_FAIL(err, TN_E_RANGE, "the weight of bigrams is %g, expected a number above 0", o->bigram_weight);
    }
    for (uint64_t i = 0; i < (uint64_t)o->size * o->size; i++) {
        if (isfinite(o->bigrams[i])) { continue; }
        TN_FAIL(err, TN_E_INPUT,
                "bigrams: row %" PRIu64 ", column %" PRIu64 " is %g, expected a finite number", i / o->size,
                i % o->size, (double)o->bigrams[i]);
    }
    return TN_OK;
}

int32_t tn_ctc_create(const tn_ctc_options *options, tn_ctc **out, tn_error *err) {
    *out = NULL;
    TN_TRY(check_options(options, err));
    tn_ctc *ctc = calloc(1, sizeof *ctc);
    if (!ctc) { return no_memory(err); }
    ctc->options = *options;
    if (!ctc->options.lag) { ctc->options.lag = LAG; }
    ctc->previous = options->blank;
    ctc->row = calloc(options->size, sizeof *ctc->row);
    int32_t code = ctc->row ? TN_OK : no_memory(err);
    if (code == TN_OK && options->beam) { code = tn_ctc_beam_create(&ctc->options, &ctc->beam, err); }
    if (code != TN_OK) {
        tn_ctc_free(ctc);
        return code;
    }
    *out = ctc;
    return TN_OK;
}

void tn_ctc_free(tn_ctc *ctc) {
    if (!ctc) { return; }
    tn_ctc_beam_free(ctc->beam);
    free(ctc->own_bigrams);
    free(ctc->list.items);
    free(ctc->row);
    free(ctc);
}

static int32_t decode_bigrams(const tn_weight *w, float **out, tn_error *err) {
    float *bigrams =
        reallocarray(NULL, w->rows * w->cols, sizeof *bigrams); /* both are the size of the alphabet */
    if (!bigrams) { return no_memory(err); }
    for (uint64_t r = 0; r < w->rows; r++) {
        w->format->decode(w->format_self, (const unsigned char *)w->data + r * w->row_bytes, w->cols,
                          bigrams + r * w->cols);
    }
    for (uint64_t i = 0; w->scales && i < w->rows * w->cols; i++) { bigrams[i] *= w->scales[0]; }
    *out = bigrams;
    return TN_OK;
}

int32_t tn_ctc_open(const tn_model *model, uint32_t beam, tn_ctc **out, tn_error *err) {
    const tn_match *m = &model->match;
    *out = NULL;
    if (!m->alphabet || m->output_kind != TN_OUTPUT_CTC) {
        TN_FAIL(err, TN_E_INPUT, "the model has no ctc output");
    }
    float *bigrams = NULL;
    if (beam && m->bigrams) { TN_TRY(decode_bigrams(m->bigrams, &bigrams, err)); }
    tn_ctc_options options = {.size = m->alphabet->size,
                              .blank = m->alphabet->blank,
                              .beam = beam,
                              .bigrams = bigrams,
                              .bigram_weight = m->alphabet->bigram_weight};
    int32_t code = tn_ctc_create(&options, out, err);
    if (code == TN_OK) {
        (*out)->own_bigrams = bigrams;
    } else {
        free(bigrams);
    }
    return code;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

int32_t tn_ctc_list_reserve(tn_ctc_list *list, uint64_t more, tn_error *err) {
    if (more <= list->room - list->count) { return TN_OK; }
    uint64_t room = list->room + more + list->room / 2 + 64;
    tn_ctc_symbol *items = reallocarray(list->items, room, sizeof *items);
    if (!items) { return no_memory(err); }
    list->items = items;
    list->room = room;
    return TN_OK;
}

/* Logits to logarithms of their softmax. */
static int32_t take_row(tn_ctc *ctc, const float *logits, tn_error *err) {
    uint32_t size = ctc->options.size;
    double most = (double)logits[0], sum = 0;
    for (uint32_t i = 0; i < size; i++) {
        if (!isfinite(logits[i])) {
            TN_FAIL(err, TN_E_FAILED, "row %" PRIu64 ": the number of symbol %" PRIu32 " is %g", ctc->rows, i,
                    (double)logits[i]);
        }
        most = fmax(most, (double)logits[i]);
    }
    for (uint32_t i = 0; i < size; i++) { sum += exp((double)logits[i] - most); }
    double all = most + log(sum);
    for (uint32_t i = 0; i < size; i++) { ctc->row[i] = (double)logits[i] - all; }
    return TN_OK;
}

/* The most probable path takes the most probable symbol of each row, ties to the lower one. */
static int32_t follow_path(tn_ctc *ctc, tn_error *err) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < ctc->options.size; i++) { best = ctc->row[i] > ctc->row[best] ? i : best; }
    double p = exp(ctc->row[best]);
    ctc->log_probability += ctc->row[best];
    if (best != ctc->options.blank && best == ctc->previous) {
        tn_ctc_symbol *last = &ctc->list.items[ctc->list.count - 1];
        last->last = ctc->rows;
        last->confidence = fmax(last->confidence, p);
    } else if (best != ctc->options.blank) {
        TN_TRY(tn_ctc_list_reserve(&ctc->list, 1, err));
        ctc->list.items[ctc->list.count++] =
            (tn_ctc_symbol){.symbol = best, .first = ctc->rows, .last = ctc->rows, .confidence = p};
    }
    ctc->previous = best;
    return TN_OK;
}

int32_t tn_ctc_push(tn_ctc *ctc, const float *rows, uint64_t count, tn_error *err) {
    for (uint64_t r = 0; r < count; r++, ctc->rows++) {
        TN_TRY(take_row(ctc, rows + r * ctc->options.size, err));
        TN_TRY(ctc->beam ? tn_ctc_beam_step(ctc->beam, ctc->row, &ctc->list, err) : follow_path(ctc, err));
    }
    return TN_OK;
}

int32_t tn_ctc_finish(tn_ctc *ctc, tn_ctc_text *out, tn_error *err) {
    if (ctc->beam) { TN_TRY(tn_ctc_beam_finish(ctc->beam, &ctc->list, &ctc->log_probability, err)); }
    *out = (tn_ctc_text){
        .symbols = ctc->list.items, .count = ctc->list.count, .log_probability = ctc->log_probability};
    return TN_OK;
}
