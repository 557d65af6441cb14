/*
 * cpu_attend_block.c - attention to one block of keys, and how blocks are put together.
 *
 * Blocks are cut by index: block b holds the tokens b * block .. of the sequence. Each is taken against its
 * own maximum; parts are then merged in the order of their blocks. So a result is the same whoever computed
 * which block, and however many query rows went through it at once. Few query rows read the cache as it is,
 * by the format's gemv and blend; many have the block unpacked once: by the rule of summing these are the
 * same bits.
 */
#include "cpu.h"

#include <string.h>

enum { UNPACK_FROM = 12 /* query rows */ };

void cpu_attend_visible(const cpu_unit *unit, uint32_t block, uint32_t row, uint32_t *from, uint32_t *to) {
    const tn_attend *attend = unit->attention->node->attributes;
    uint64_t size = unit->attention->block, start = block * size, index = (uint64_t)unit->index + row;
    uint64_t end = attend->causal ? index + 1 : unit->total, begin = 0;
    if (attend->window && index + 1 > attend->window) { begin = index + 1 - attend->window; }
    if (end > start + size) { end = start + size; }
    if (begin < start) { begin = start; }
    *from = end > begin ? (uint32_t)(begin - start) : 0;
    *to = end > begin ? (uint32_t)(end - start) : 0;
}

float *cpu_uncached_keys(const cpu_plan *plan, const cpu_attention *a, uint32_t head) {
    return (float *)(plan->arena + plan->uncached) + (uint64_t)head * plan->limits.rows * a->key_dim;
}

float *cpu_uncached_values(const cpu_plan *plan, const cpu_attention *a, uint32_t head) {
    return cpu_uncached_keys(plan, a, a->kv_heads) + (uint64_t)head * plan->limits.rows * a->value_dim;
}

/* The rows of a block: blocks of a format, or floats already. */
typedef struct source {
    const tn_format *format; /* NULL: floats */
    void *self;
    const tn_format_kernel *unpack;
    const unsigned char *rows;
    uint64_t bytes; /* from row to row */
    uint32_t cols;
} source;

static void find_sources(const cpu_worker *worker, const cpu_unit *unit, uint32_t block, source *keys,
                         source *values) {
    const cpu_attention *a = unit->attention;
    keys->cols = a->key_pad;
    values->cols = a->value_pad;
    if (!a->cached) {
        uint64_t row = unit->tile->row - unit->index + (uint64_t)block * a->block; /* nothing is held */
        keys->rows = (unsigned char *)(cpu_uncached_keys(worker->plan, a, unit->kv_head) + row * a->key_dim);
        values->rows =
            (unsigned char *)(cpu_uncached_values(worker->plan, a, unit->kv_head) + row * a->value_dim);
        keys->format = values->format = NULL;
        keys->bytes = a->key_dim * sizeof(float);
        values->bytes = a->value_dim * sizeof(float);
        return;
    }
    const cpu_cache_group *group = &worker->run->cache->groups[a->group];
    uint32_t page = worker->run->step->sequences[unit->tile->sequence]->pages[a->group][block];
    *keys = (source){a->key_format,  a->key_self,
                     a->key_unpack,  cpu_cache_keys(group, page, a->slot, unit->kv_head),
                     group->key_row, a->key_pad};
    *values = (source){a->value_format,  a->value_self,
                       a->value_unpack,  cpu_cache_values(group, page, a->slot, unit->kv_head),
                       group->value_row, a->value_pad};
}

/* Rows from .. to - 1 as floats: where they are, or unpacked to `memory`. Row 0 of the result is row 0. */
static const float *as_floats(const source *s, uint32_t from, uint32_t to, float *memory, uint64_t *stride) {
    if (!s->format) {
        *stride = s->cols;
        return (const float *)s->rows;
    }
    *stride = cpu_round(s->cols, 16);
    const unsigned char *first = s->rows + from * s->bytes;
    float *out = memory + from * *stride;
    if (s->unpack) {
        s->unpack->unpack(&(tn_unpack){.struct_size = sizeof(tn_unpack),
                                       .blocks = first,
                                       .row_stride = s->bytes,
                                       .rows = to - from,
                                       .col_to = s->cols,
                                       .codes = out,
                                       .code_stride = *stride * sizeof(float)});
        return memory;
    }
    for (uint32_t r = 0; r < to - from; r++) {
        s->format->decode(s->self, first + r * s->bytes, s->cols, out + r * *stride);
    }
    return memory;
}

static uint64_t query_stride(const cpu_attention *a) {
    return cpu_round(a->key_pad, 16);
}

static float *scratch(const cpu_worker *worker, uint64_t offset) {
    return (float *)(worker->scratch + offset);
}

/* scores[act * block + j] = query . key j for keys from .. to - 1. */
static void score(const cpu_worker *worker, const cpu_unit *unit, const source *keys, uint32_t from,
                  uint32_t to, float *scores) {
    const cpu_attention *a = unit->attention;
    const float *queries = scratch(worker, worker->plan->scratch.queries);
    uint64_t stride;
    if (!keys->format || !a->key_gemv || unit->acts >= UNPACK_FROM) {
        const float *rows = as_floats(keys, from, to, scratch(worker, worker->plan->scratch.keys), &stride);
        worker->plan->backend->kernels->dot(rows + from * stride, stride, to - from, keys->cols, queries,
                                            query_stride(a), unit->acts, scores + from, a->block);
        return;
    }
    tn_act act = {.struct_size = sizeof act,
                  .form = TN_FORM_F32,
                  .rows = unit->acts,
                  .cols = keys->cols,
                  .data = queries,
                  .stride = query_stride(a) * sizeof(float)};
    tn_gemv call = {.struct_size = sizeof call,
                    .blocks = keys->rows + from * keys->bytes,
                    .row_stride = keys->bytes,
                    .rows = to - from,
                    .cols = keys->cols,
                    .act = &act,
                    .out_stride = a->block};
    for (uint32_t i = 0; i < unit->acts; i += a->key_gemv->max_rows) {
        call.act_from = i;
        call.act_rows = unit->acts - i < a->key_gemv->max_rows ? unit->acts - i : a->key_gemv->max_rows;
        call.out = scores + i * (uint64_t)a->block + from;
        a->key_gemv->gemv(&call);
    }
}

/* Scores of one query row to weights; its maximum and sum. */
static void weigh(const cpu_kernels *kernels, const cpu_unit *unit, float *x, uint32_t n, float *maximum,
                  float *sum) {
    const tn_attend *attend = unit->attention->node->attributes;
    kernels->scale(x, (float)attend->scale, n, x);
    if (attend->softcap != 0) { kernels->softcap(x, (float)attend->softcap, n, x); }
    *maximum = kernels->max(x, n);
    *sum = kernels->exp_sum(x, *maximum, n, x);
}

/* Query rows that see the same keys, and how their values are summed. */
typedef struct blend {
    const cpu_unit *unit;
    const source *values;
    const float *floats; /* NULL: by the format's kernel */
    uint64_t stride;
    const float *scores;
    const cpu_part *part;
} blend;

static void blend_acts(const cpu_kernels *kernels, const blend *b, uint32_t act, uint32_t acts, uint32_t from,
                       uint32_t to) {
    const cpu_attention *a = b->unit->attention;
    const float *weights = b->scores + act * (uint64_t)a->block + from;
    float *out = b->part->out + act * (uint64_t)a->value_pad;
    if (b->floats) {
        kernels->blend(b->floats + from * b->stride, b->stride, to - from, a->value_pad, weights, a->block,
                       acts, out, a->value_pad);
        return;
    }
    tn_blend call = {.struct_size = sizeof call,
                     .blocks = b->values->rows + from * b->values->bytes,
                     .row_stride = b->values->bytes,
                     .rows = to - from,
                     .cols = a->value_pad,
                     .weight_stride = a->block,
                     .out_stride = a->value_pad};
    for (uint32_t i = 0; i < acts; i += a->value_blend->max_rows) {
        call.act_rows = acts - i < a->value_blend->max_rows ? acts - i : a->value_blend->max_rows;
        call.weights = weights + i * (uint64_t)a->block;
        call.out = out + i * (uint64_t)a->value_pad;
        a->value_blend->blend(&call);
    }
}

/* Blends rows of the tile, together where they see the same keys. */
static void blend_rows(const cpu_worker *worker, const blend *b, uint32_t block) {
    const cpu_unit *unit = b->unit;
    uint32_t share = unit->attention->share, rows = unit->tile->rows;
    for (uint32_t row = 0, next; row < rows; row = next) {
        uint32_t from, to, next_from, next_to;
        cpu_attend_visible(unit, block, row, &from, &to);
        for (next = row + 1; next < rows; next++) {
            cpu_attend_visible(unit, block, next, &next_from, &next_to);
            if (next_from != from || next_to != to) { break; }
        }
        if (to > from) {
            blend_acts(worker->plan->backend->kernels, b, row * share, (next - row) * share, from, to);
        }
    }
}

void cpu_attend_block(const cpu_worker *worker, const cpu_unit *unit, uint32_t block, const cpu_part *part) {
    const cpu_attention *a = unit->attention;
    const cpu_kernels *kernels = worker->plan->backend->kernels;
    float *scores = scratch(worker, worker->plan->scratch.scores);
    source keys, values;
    uint32_t least = a->block, most = 0, from, to;
    for (uint32_t row = 0; row < unit->tile->rows; row++) {
        cpu_attend_visible(unit, block, row, &from, &to);
        if (from == to) { continue; }
        if (from < least) { least = from; }
        if (to > most) { most = to; }
    }
    memset(part->sum, 0, unit->acts * sizeof(float));
    if (least >= most) { return; }
    memset(part->out, 0, (uint64_t)unit->acts * a->value_pad * sizeof(float));
    find_sources(worker, unit, block, &keys, &values);
    score(worker, unit, &keys, least, most, scores);
    for (uint32_t act = 0; act < unit->acts; act++) {
        cpu_attend_visible(unit, block, act / a->share, &from, &to);
        if (from == to) { continue; }
        weigh(kernels, unit, scores + act * (uint64_t)a->block + from, to - from, &part->maximum[act],
              &part->sum[act]);
    }
    blend b = {.unit = unit, .values = &values, .scores = scores, .part = part};
    if (!values.format || !a->value_blend || unit->acts >= UNPACK_FROM) {
        b.floats = as_floats(&values, least, most, scratch(worker, worker->plan->scratch.values), &b.stride);
    }
    blend_rows(worker, &b, block);
}

void cpu_attend_merge(const cpu_kernels *kernels, const cpu_unit *unit, const cpu_part *into,
                      const cpu_part *part) {
    uint32_t width = unit->attention->value_pad;
    for (uint32_t act = 0; act < unit->acts; act++) {
        float *out = into->out + act * (uint64_t)width, *more = part->out + act * (uint64_t)width;
        if (part->sum[act] == 0) { continue; }
        if (into->sum[act] == 0) { /* the first that is seen */
            into->maximum[act] = part->maximum[act];
            into->sum[act] = part->sum[act];
            memcpy(out, more, width * sizeof *out);
            continue;
        }
        float old = into->maximum[act], new = part->maximum[act], most = new > old ? new : old;
        float old_factor = most == old ? 1.0f : cpu_exp(kernels, old - most); /* exp(0) is 1 */
        float new_factor = most == new ? 1.0f : cpu_exp(kernels, new - most);
        into->maximum[act] = most;
        kernels->merge(&into->sum[act], old_factor, &part->sum[act], new_factor, 1);
        kernels->merge(out, old_factor, more, new_factor, width);
    }
}
