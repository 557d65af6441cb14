/*
 * Picks an id from a row of logits. The same seed and rows give the same ids on every machine: all arithmetic
 * is IEEE double in a fixed order, without contraction; exp() is our own (libm's differ in the last bit from
 * version to version); random numbers are xoshiro256** seeded by splitmix64.
 *
 * Candidates are ordered by logit, the larger first, ties by id, the lower first. top_k, top_p and min_p each
 * keep a prefix of that order, so a heap that gives candidates one by one does for all of them, and a row of
 * 262144 logits need not be sorted.
 */
#include "tenon/model.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
    double logit;
    int32_t id;
} candidate;

struct tn_sampler {
    tn_sampler_options options;
    uint32_t vocab_size;
    uint32_t most; /* candidates that top_k leaves */
    uint64_t random[4];
    candidate *candidates; /* room for `most` */
    uint64_t accepted;     /* ids so far */
    uint64_t *last;        /* for each id the number of its latest acceptance, from 1; NULL: no penalty */
};

/* ---- random numbers --------------------------------------------------------------------------------- */

/* splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t next_split(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static uint64_t rotate(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
}

/* xoshiro256** 1.0 (Blackman and Vigna, 2018). */
static uint64_t next_random(uint64_t s[4]) {
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

/* At least 0, below 1. */
static double next_fraction(uint64_t s[4]) {
    return (double)(next_random(s) >> 11) * 0x1p-53;
}

/* exp(x) for x <= 0, with an error of about one unit in the last place: x = n ln 2 + r with |r| <= ln 2 / 2,
 * then the Taylor series of r up to the 13th power. 0 where it would no longer be a normal number. */
static double exp_down(double x) {
    static const double inverse_factorial[] = {1.0,
                                               1.0,
                                               1.0 / 2,
                                               1.0 / 6,
                                               1.0 / 24,
                                               1.0 / 120,
                                               1.0 / 720,
                                               1.0 / 5040,
                                               1.0 / 40320,
                                               1.0 / 362880,
                                               1.0 / 3628800,
                                               1.0 / 39916800,
                                               1.0 / 479001600,
                                               1.0 / 6227020800};
    const double log2e = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
    if (!(x > -708.0)) { return 0; }
    int64_t n = (int64_t)(x * log2e - 0.5);
    double r = (x - (double)n * ln2_high) - (double)n * ln2_low, sum = 0, power;
    for (int i = 13; i >= 0; i--) { sum = sum * r + inverse_factorial[i]; }
    uint64_t bits = (uint64_t)(n + 1023) << 52; /* 2^n */
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

/* ---- the order of candidates ------------------------------------------------------------------------ */

static int better(const candidate *a, const candidate *b) {
    return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

/* Lets the element at `at` sink in a heap that has on top its best element, or its worst one. */
static void sink(candidate *heap, size_t count, size_t at, int worst) {
    candidate moving = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && better(&heap[child + 1], &heap[child]) != worst) { child++; }
        if (better(&heap[child], &moving) == worst) { break; }
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static void make_heap(candidate *heap, size_t count, int worst) {
    for (size_t at = count / 2; at-- > 0;) { sink(heap, count, at, worst); }
}

/* ---- options ---------------------------------------------------------------------------------------- */

void tn_sampler_defaults(tn_sampler_options *out) {
    *out = (tn_sampler_options){.temperature = 0.8,
                                .top_k = 40,
                                .top_p = 0.95,
                                .min_p = 0.05,
                                .repeat_penalty = 1,
                                .repeat_last_n = 64};
}

static int32_t check_options(const tn_sampler_options *o, uint32_t vocab_size, tn_error *err) {
    if (!(o->temperature >= 0 && o->temperature <= DBL_MAX)) {
        TN_FAIL(err, TN_E_RANGE, "temperature is %g, at least 0 was expected", o->temperature);
    }
    if (!(o->top_p >= 0 && o->top_p <= 1)) {
        TN_FAIL(err, TN_E_RANGE, "top_p is %g, 0 to 1 was expected", o->top_p);
    }
    if (!(o->min_p >= 0 && o->min_p <= 1)) {
        TN_FAIL(err, TN_E_RANGE, "min_p is %g, 0 to 1 was expected", o->min_p);
    }
    /* So that a logit, which is a float, stays finite as a double. */
    if (!(o->repeat_penalty >= FLT_MIN && o->repeat_penalty <= FLT_MAX)) {
        TN_FAIL(err, TN_E_RANGE, "repeat_penalty is %g, a float above 0 was expected", o->repeat_penalty);
    }
    if (o->repeat_last_n < -1) {
        TN_FAIL(err, TN_E_RANGE, "repeat_last_n is %" PRId32 ", at least -1 was expected", o->repeat_last_n);
    }
    if (vocab_size < 1 || vocab_size > INT32_MAX) {
        TN_FAIL(err, TN_E_RANGE, "a vocabulary of %" PRIu32 " ids, 1 to 2^31 - 1 were expected", vocab_size);
    }
    return TN_OK;
}

int32_t tn_sampler_create(const tn_sampler_options *options, uint32_t vocab_size, tn_sampler **out,
                          tn_error *err) {
    *out = NULL;
    TN_TRY(check_options(options, vocab_size, err));
    tn_sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler) { TN_FAIL(err, TN_E_MEMORY, "no memory left for a sampler"); }
    int penalty = options->repeat_penalty != 1 && options->repeat_last_n != 0;
    uint32_t most = options->top_k && options->top_k < vocab_size ? options->top_k : vocab_size;
    *sampler = (tn_sampler){.options = *options, .vocab_size = vocab_size, .most = most};
    sampler->candidates = malloc(most * sizeof *sampler->candidates);
    if (penalty) { sampler->last = calloc(vocab_size, sizeof *sampler->last); }
    if (!sampler->candidates || (penalty && !sampler->last)) {
        tn_sampler_free(sampler);
        TN_FAIL(err, TN_E_MEMORY, "no memory left for a sampler of %" PRIu32 " ids", vocab_size);
    }
    uint64_t seed = options->seed;
    for (int i = 0; i < 4; i++) { sampler->random[i] = next_split(&seed); }
    *out = sampler;
    return TN_OK;
}

void tn_sampler_free(tn_sampler *sampler) {
    if (!sampler) { return; }
    free(sampler->candidates);
    free(sampler->last);
    free(sampler);
}

void tn_sampler_accept(tn_sampler *sampler, int32_t id) {
    sampler->accepted++;
    if (sampler->last && id >= 0 && (uint32_t)id < sampler->vocab_size) {
        sampler->last[id] = sampler->accepted;
    }
}

/* ---- picking ---------------------------------------------------------------------------------------- */

static double penalised(const tn_sampler *s, const float *logits, uint32_t id) {
    double logit = logits[id], penalty = s->options.repeat_penalty;
    if (!s->last || !s->last[id]) { return logit; }
    uint64_t ago = s->accepted - s->last[id];
    if (s->options.repeat_last_n >= 0 && ago >= (uint64_t)s->options.repeat_last_n) { return logit; }
    return logit > 0 ? logit / penalty : logit * penalty;
}

/* +inf is refused too: it stands for an overflow in the model, and has no distribution. */
static int32_t check_row(const tn_sampler *s, const float *logits, tn_error *err) {
    uint32_t bad = 0, finite = 0, id = 0;
    for (uint32_t i = 0; i < s->vocab_size; i++) {
        bad += !(logits[i] <= FLT_MAX);
        finite += logits[i] >= -FLT_MAX;
    }
    if (!bad && finite) { return TN_OK; }
    if (!bad) { TN_FAIL(err, TN_E_FAILED, "no logit of the row is finite"); }
    while (logits[id] <= FLT_MAX) { id++; }
    TN_FAIL(err, TN_E_FAILED, "the logit of id %" PRIu32 " is %s", id,
            isnan(logits[id]) ? "NaN" : "infinite");
}

static int32_t pick_largest(const tn_sampler *s, const float *logits) {
    candidate best = {.logit = -INFINITY, .id = INT32_MAX};
    for (uint32_t id = 0; id < s->vocab_size; id++) {
        candidate c = {.logit = penalised(s, logits, id), .id = (int32_t)id};
        if (better(&c, &best)) { best = c; }
    }
    return best.id;
}

/* The best s->most candidates of a chance above 0, as a heap with the best on top; returns how many. While
 * they are gathered the worst is on top, so that most ids cost one comparison. */
static size_t gather(tn_sampler *s, const float *logits) {
    candidate *heap = s->candidates;
    size_t count = 0;
    for (uint32_t id = 0; id < s->vocab_size; id++) {
        candidate c = {.logit = penalised(s, logits, id), .id = (int32_t)id};
        if (c.logit == -INFINITY) { continue; }
        if (count < s->most) {
            heap[count++] = c;
            if (count == s->most && count < s->vocab_size) { make_heap(heap, count, 1); }
        } else if (c.logit >= heap[0].logit && better(&c, &heap[0])) {
            heap[0] = c;
            sink(heap, count, 0, 1);
        }
    }
    make_heap(heap, count, 0);
    return count;
}

/* Moves the best of the heap [0, count) to its end, place count - 1. */
static void move_best(candidate *heap, size_t count) {
    candidate best = heap[0];
    heap[0] = heap[count - 1];
    heap[count - 1] = best;
    sink(heap, count - 1, 0, 0);
}

/* How many of the `count` candidates top_p and min_p keep, at least 1; those then lie at the end of the
 * array, the best one last. */
static size_t cut(tn_sampler *s, size_t count) {
    candidate *heap = s->candidates;
    double best = heap[0].logit, total = 0, sum = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) { total += exp_down(heap[i].logit - best); }
    while (kept < count) {
        double weight = exp_down(heap[0].logit - best);
        int enough = s->options.top_p < 1 && sum >= s->options.top_p * total;
        if (kept && (enough || weight < s->options.min_p)) { break; }
        move_best(heap, count - kept++);
        sum += weight;
    }
    return kept;
}

/* Draws one of the best `kept` of the heap of `count` candidates. They are `sorted` by cut(), or taken from
 * the heap one by one here, as many as it takes. */
static int32_t draw(tn_sampler *s, size_t count, size_t kept, int sorted) {
    candidate *heap = s->candidates;
    double best = sorted ? heap[count - 1].logit : heap[0].logit, total = 0, sum = 0;
    int32_t id = -1;
    for (size_t i = count - kept; i < count; i++) {
        total += exp_down((heap[i].logit - best) / s->options.temperature);
    }
    double target = next_fraction(s->random) * total;
    for (size_t end = count; end > count - kept && sum <= target; end--) {
        if (!sorted) { move_best(heap, end); }
        double weight = exp_down((heap[end - 1].logit - best) / s->options.temperature);
        if (weight > 0) { id = heap[end - 1].id; }
        sum += weight;
    }
    return id;
}

int32_t tn_sampler_pick(tn_sampler *sampler, const float *logits, int32_t *id, tn_error *err) {
    TN_TRY(check_row(sampler, logits, err));
    if (sampler->options.temperature == 0) {
        *id = pick_largest(sampler, logits);
        return TN_OK;
    }
    size_t count = gather(sampler, logits);
    int cuts = sampler->options.top_p < 1 || sampler->options.min_p > 0;
    *id = draw(sampler, count, cuts ? cut(sampler, count) : count, cuts);
    return TN_OK;
}
