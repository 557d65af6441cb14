/*
 * ref_attend.c - attention over cached or uncached keys and values.
 *
 * With a cache, keys and values of this step are stored first, all of them, and then read back like those of
 * earlier steps: what a row sees does not depend on how a prompt was cut into steps.
 */
#include "reference.h"

#include <math.h>

typedef struct attend_call {
    const ref_run *run;
    const tn_node *node;
    const tn_attend *attributes;
    const float *sinks;
    const ref_group *group; /* NULL: not cached */
    uint32_t group_number, slot_at;
} attend_call;

/* ---- keys and values --------------------------------------------------------------------------------- */

static int32_t store_head(const ref_group *group, uint32_t which, const double *x, uint32_t dim, float *row,
                          unsigned char *blocks, tn_error *err) {
    const tn_format *format = group->format[which];
    for (uint64_t i = 0; i < group->padded[which]; i++) { row[i] = i < dim ? (float)x[i] : 0; }
    if (group->store[which]) {
        group->store[which](row, group->padded[which], blocks);
        return TN_OK;
    }
    return format->encode(group->format_self[which], row, 1, group->padded[which], NULL, blocks, err);
}

static int32_t page_of(const attend_call *call, uint32_t sequence, uint32_t index, uint32_t *page,
                       tn_error *err) {
    const tn_sequence *s = call->run->step->sequences[sequence];
    *page = s->pages[call->group_number][index / call->group->page_tokens];
    if (*page < call->group->page_count) { return TN_OK; }
    TN_FAIL(err, TN_E_BUG, "%s: page %u of %llu", call->node->name, *page,
            (unsigned long long)call->group->page_count);
}

/* Key and value of every row of the step go to their places in the cache. */
static int32_t store_rows(const attend_call *call, tn_error *err) {
    const tn_attend *a = call->attributes;
    const tn_step *step = call->run->step;
    float *row = call->run->plan->workers[0].row;
    for (uint32_t r = 0; r < step->rows; r++) {
        uint32_t page, token = step->index[r] % call->group->page_tokens;
        TN_TRY(page_of(call, step->sequence[r], step->index[r], &page, err));
        for (uint32_t which = REF_KEY; which <= REF_VALUE; which++) {
            uint32_t dim = which == REF_KEY ? a->key_dim : a->value_dim;
            const double *x = ref_row(call->run, call->node->inputs[1 + which], r);
            for (uint32_t h = 0; h < a->kv_heads; h++) {
                unsigned char *to = ref_cache_head(call->group, page, call->slot_at, token, which, h);
                TN_TRY(store_head(call->group, which, x + (uint64_t)h * dim, dim, row, to, err));
            }
        }
    }
    return TN_OK;
}

/* Key or value number `index` of the sequence of step row `r`, as doubles. */
static void fetch(const attend_call *call, uint64_t r, uint32_t index, uint32_t which, uint32_t head,
                  float *row, double *out) {
    const tn_attend *a = call->attributes;
    const tn_step *step = call->run->step;
    const tn_sequence *s = step->sequences[step->sequence[r]];
    uint32_t dim = which == REF_KEY ? a->key_dim : a->value_dim;
    if (call->group) {
        const ref_group *g = call->group;
        uint32_t page = s->pages[call->group_number][index / g->page_tokens];
        const unsigned char *blocks =
            ref_cache_head(g, page, call->slot_at, index % g->page_tokens, which, head);
        g->format[which]->decode(g->format_self[which], blocks, g->padded[which], row);
        for (uint32_t i = 0; i < dim; i++) { out[i] = row[i]; }
    } else {
        uint64_t first = r - step->index[r]; /* the sequence lies whole in the step */
        const double *x = ref_row(call->run, call->node->inputs[1 + which], first + index);
        for (uint32_t i = 0; i < dim; i++) { out[i] = x[(uint64_t)head * dim + i]; }
    }
}

/* ---- one row ----------------------------------------------------------------------------------------- */

/* The keys that row i sees: from *first to before *end. */
static void visible(const attend_call *call, uint64_t r, uint32_t *first, uint32_t *end) {
    const tn_attend *a = call->attributes;
    const tn_step *step = call->run->step;
    const tn_sequence *s = step->sequences[step->sequence[r]];
    uint32_t i = step->index[r];
    *first = a->window && i >= a->window ? i - a->window + 1 : 0;
    *end = a->causal ? i + 1 : s->held + s->count;
}

static double score(const tn_attend *a, const double *q, const double *k) {
    double dot = 0;
    for (uint32_t i = 0; i < a->key_dim; i++) { dot += q[i] * k[i]; }
    dot *= a->scale;
    return a->softcap != 0 ? a->softcap * tanh(dot / a->softcap) : dot;
}

/* Head h of step row r: y = sum_j exp(s_j - max) v_j / (sum_j exp(s_j - max) + exp(sink - max)). */
static void attend_head(const attend_call *call, uint64_t r, uint32_t h, const ref_scratch *scratch) {
    const tn_attend *a = call->attributes;
    uint32_t g = h / (a->heads / a->kv_heads), first, end;
    const double *q = ref_row(call->run, call->node->inputs[0], r) + (uint64_t)h * a->key_dim;
    double *y = ref_row(call->run, call->node->result, r) + (uint64_t)h * a->value_dim;
    double max = call->sinks ? call->sinks[h] : -INFINITY;
    visible(call, r, &first, &end);
    double *head = scratch->work,
           *scores = scratch->work + (a->key_dim > a->value_dim ? a->key_dim : a->value_dim);
    for (uint32_t j = first; j < end; j++) {
        fetch(call, r, j, REF_KEY, g, scratch->row, head);
        scores[j - first] = score(a, q, head);
        max = fmax(max, scores[j - first]);
    }
    double sum = call->sinks ? exp(call->sinks[h] - max) : 0;
    for (uint32_t i = 0; i < a->value_dim; i++) { y[i] = 0; }
    for (uint32_t j = first; j < end; j++) {
        double weight = exp(scores[j - first] - max);
        fetch(call, r, j, REF_VALUE, g, scratch->row, head);
        sum += weight;
        for (uint32_t i = 0; i < a->value_dim; i++) { y[i] += weight * head[i]; }
    }
    for (uint32_t i = 0; i < a->value_dim; i++) { y[i] /= sum; }
}

/* [compute] All heads of one row. */
static void attend_row(void *arg, uint64_t r, uint32_t worker) {
    const attend_call *call = arg;
    for (uint32_t h = 0; h < call->attributes->heads; h++) {
        attend_head(call, r, h, &call->run->plan->workers[worker]);
    }
}

/* ---- the op ------------------------------------------------------------------------------------------ */

static int32_t check_whole(const attend_call *call, tn_error *err) {
    const tn_step *step = call->run->step;
    for (uint32_t s = 0; s < step->sequence_count; s++) {
        if (step->sequences[s]->held) {
            TN_FAIL(err, TN_E_BUG, "%s: sequence %u does not lie whole in the step", call->node->name, s);
        }
    }
    return TN_OK;
}

static int32_t check_pages(const attend_call *call, tn_error *err) {
    const tn_step *step = call->run->step;
    for (uint32_t s = 0; s < step->sequence_count; s++) {
        uint32_t tokens = step->sequences[s]->held + step->sequences[s]->count, page;
        for (uint32_t i = 0; i < tokens; i += call->group->page_tokens) {
            TN_TRY(page_of(call, s, i, &page, err));
        }
    }
    return TN_OK;
}

int32_t ref_attend(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_host *host = run->plan->host;
    attend_call call = {.run = run, .node = node, .attributes = node->attributes};
    call.sinks = ref_numbers(run, ref_weight(run, node, 0), 0);
    if (call.attributes->cached) {
        if (!ref_cache_find(run->cache, call.attributes->slot, &call.group_number, &call.slot_at)) {
            TN_FAIL(err, TN_E_BUG, "%s: the cache has no slot %u", node->name, call.attributes->slot);
        }
        call.group = &run->cache->groups[call.group_number];
        TN_TRY(check_pages(&call, err));
        TN_TRY(store_rows(&call, err));
    } else {
        TN_TRY(check_whole(&call, err));
    }
    host->parallel_for(host, run->step->rows, attend_row, &call);
    return TN_OK;
}
