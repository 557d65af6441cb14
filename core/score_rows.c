/*
 * score_rows.c - losses and divergences of rows of logits. A row is scored by one worker in float64, in the order
 * of its columns: results do not depend on how many workers there are.
 */
#include "engine_state.h"

#include "tenon/score.h"

#include <math.h>
#include <stdatomic.h>

#define FINE UINT32_MAX

typedef struct scoring {
    const tn_scoring *asked;
    atomic_uint bad, bad_base; /* the first row that is no row of logits; FINE: none */
} scoring;

/* ln p_i = x_i - most - log_sum. */
typedef struct softmax {
    const float *x;
    uint32_t top; /* the first of the largest */
    double most, log_sum;
    double excess; /* sum of p_i * (x_i - other_i), if there is another row */
} softmax;

/* 0 if x is no row of logits. An exp a number is what this costs; so what the divergence needs is summed here. */
static int read_row(const float *x, const float *other, uint32_t width, softmax *out) {
    double sum = 0, excess = 0;
    uint32_t top = 0;
    for (uint32_t i = 1; i < width; i++) { top = x[i] > x[top] ? i : top; }
    for (uint32_t i = 0; i < width; i++) {
        double part = exp((double)x[i] - x[top]);
        sum += part;
        if (other && part > 0) { excess += part * ((double)x[i] - other[i]); }
    }
    *out = (softmax){x, top, x[top], log(sum), excess / sum};
    return isfinite(sum); /* NaN if there is one, or if the largest is infinite */
}

static double log_probability(const softmax *s, uint32_t i) {
    return (double)s->x[i] - s->most - s->log_sum;
}

static void report_bad(atomic_uint *first, uint32_t row) {
    unsigned bad = atomic_load(first);
    while (row < bad && !atomic_compare_exchange_weak(first, &bad, row)) {}
}

/* [compute] */
static void score_row(void *arg, uint64_t row, uint32_t worker) {
    scoring *s = arg;
    const tn_scoring *asked = s->asked;
    tn_score *out = &asked->out[row];
    uint32_t next = (uint32_t)asked->next[row];
    softmax mine, base;
    (void)worker;
    *out = (tn_score){0};
    const float *x = asked->logits + row * asked->width;
    if (!read_row(x, NULL, asked->width, &mine)) {
        report_bad(&s->bad, (uint32_t)row);
        return;
    }
    if (asked->base && !read_row(asked->base + row * asked->width, x, asked->width, &base)) {
        report_bad(&s->bad_base, (uint32_t)row);
        return;
    }
    out->loss = -log_probability(&mine, next);
    if (!asked->base) { return; }
    out->base_loss = -log_probability(&base, next);
    /* sum of p_base * (ln p_base - ln p): what is the same for all columns comes out of the sum */
    out->divergence = base.excess - (base.most + base.log_sum) + (mine.most + mine.log_sum);
    out->same_top = mine.top == base.top;
}

int32_t tn_score_rows(tn_engine *engine, const tn_scoring *asked, tn_error *err) {
    scoring s = {.asked = asked};
    atomic_init(&s.bad, FINE);
    atomic_init(&s.bad_base, FINE);
    for (uint32_t i = 0; i < asked->rows; i++) {
        if (asked->next[i] < 0 || (uint32_t)asked->next[i] >= asked->width) {
            TN_FAIL(err, TN_E_INPUT, "row %u is followed by token %d, a row has %u numbers", i,
                    asked->next[i], asked->width);
        }
    }
    tn_pool_for(engine->pool, asked->rows, score_row, &s);
    unsigned bad = atomic_load(&s.bad), bad_base = atomic_load(&s.bad_base);
    if (bad_base != FINE) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "row %u of the base is not finite (NaN or infinite)", bad_base);
    }
    if (bad != FINE) { TN_FAIL(err, TN_E_FAILED, "row %u is not finite (NaN or infinite)", bad); }
    return TN_OK;
}
