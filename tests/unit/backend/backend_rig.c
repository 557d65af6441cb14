/*
 * backend_rig.c - opening of backends and formats, small graphs, steps. See backend_rig.h.
 */
#include "backend_rig.h"
#include "test_engine.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

const char *const cut_names[CUT_COUNT] = {"one step", "1, 7, rest", "one sequence at a time", "decode"};

/* ---- numbers ----------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) { /* splitmix64 */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

float noise(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t bits = mix(mix(mix(mix(seed) + a) + b) + c);
    double sum = 0; /* four uniform numbers: near enough to a normal one */
    for (int i = 0; i < 4; i++) { sum += (double)(bits >> (16 * i) & 0xffff) / 65535 - 0.5; }
    return (float)(sum * 1.7320508075688772);
}

double worst_error(const float *got, const float *want, uint64_t rows, uint32_t width) {
    double worst = 0, size = 0;
    for (uint64_t i = 0; i < rows * width; i++) { size += isnan(want[i]) ? 0 : (double)want[i] * want[i]; }
    size = sqrt(size / (double)(rows * width));
    for (uint64_t r = 0; r < rows; r++) {
        double error = 0;
        for (uint32_t c = 0; c < width; c++) {
            double g = got[r * width + c], w = want[r * width + c];
            error += isnan(g) && isnan(w) ? 0 : (g - w) * (g - w);
        }
        double relative = error == 0 ? 0 : sqrt(error / width) / size;
        if (!(relative <= worst)) { worst = relative; }
    }
    return worst;
}

/* ---- rigs -------------------------------------------------------------------------------------------- */

int rig_open(rig *out, const char *backend, const char *isa, uint32_t threads) {
    tn_error err = TN_ERROR_INIT;
    tn_entry *entry;
    const void *table;
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s, %s, %u threads", backend, isa ? isa : "any isa", threads);
    out->engine = tn_test_engine(isa, threads);
    int32_t code = tn_registry_find(out->engine, "backend", backend, &entry, &err);
    if (code == TN_E_NOT_FOUND) {
        rig_close(out);
        return 0;
    }
    cr_assert(code == TN_OK, "%s: %s", out->name, err.text);
    code = tn_entry_open(out->engine, entry, TN_BACKEND_1, &table, &out->self, &err);
    cr_assert(code == TN_OK, "%s: %s", out->name, err.text);
    out->backend = table;
    return 1;
}

void rig_close(rig *r) {
    tn_engine_destroy(r->engine);
    r->engine = NULL;
}

static const tn_format *find_format(rig *r, uint32_t type, void **self) {
    tn_error err = TN_ERROR_INIT;
    char number[16];
    tn_entry *entry;
    const void *table;
    snprintf(number, sizeof number, "%u", type);
    int32_t code = tn_registry_find(r->engine, "type", number, &entry, &err);
    cr_assert(code == TN_OK, "type %u: %s", type, err.text);
    code = tn_entry_open(r->engine, entry, TN_FORMAT_1, &table, self, &err);
    cr_assert(code == TN_OK, "type %u: %s", type, err.text);
    return table;
}

/* ---- benches ----------------------------------------------------------------------------------------- */

static uint32_t add_weight(bench *b, uint32_t type, uint64_t cols, uint64_t rows, uint64_t count,
                           const float *numbers) {
    tn_weight *w = &b->weights[b->weight_count];
    tn_error err = TN_ERROR_INIT;
    char name[32];
    cr_assert(b->weight_count < BENCH_WEIGHTS);
    w->format = find_format(b->on, type, &w->format_self);
    cr_assert(cols % w->format->block == 0, "rows of %" PRIu64 " in blocks of %u", cols, w->format->block);
    w->struct_size = sizeof *w;
    w->id = ++b->weight_count;
    snprintf(name, sizeof name, "weight %u", w->id);
    w->name = strdup(name);
    w->cols = cols;
    w->rows = rows;
    w->count = count;
    w->row_bytes = cols / w->format->block * w->format->block_bytes;
    w->size = w->row_bytes * rows * count;
    unsigned char *data = malloc(w->size + 1);
    cr_assert(data);
    float *equal = malloc(cols * sizeof *equal);
    for (uint64_t c = 0; equal && c < cols; c++) { equal[c] = 1; }
    const float *importance = w->format->importance == TN_IMPORTANCE_NEEDED ? equal : NULL;
    int32_t code = w->format->encode(w->format_self, numbers, rows * count, cols, importance, data + 1, &err);
    cr_assert(code == TN_OK, "%s", err.text);
    free(equal);
    w->data = data + 1; /* weights have any alignment */
    b->weight_list[w->id - 1] = w;
    return w->id;
}

static uint32_t add_random(bench *b, uint32_t type, uint64_t cols, uint64_t rows, uint64_t count, double mean,
                           double spread) {
    float *x = malloc(cols * rows * count * sizeof *x);
    cr_assert(x);
    for (uint64_t i = 0; i < cols * rows * count; i++) {
        x[i] = (float)(mean + spread * noise(b->seed, 1000 + b->weight_count, i, 0));
    }
    uint32_t number = add_weight(b, type, cols, rows, count, x);
    free(x);
    return number;
}

uint32_t bench_numbers(bench *b, uint64_t cols, uint64_t rows, uint64_t count, const float *numbers) {
    return add_weight(b, TYPE_F32, cols, rows, count, numbers);
}

uint32_t bench_rows_of(bench *b, uint32_t width, uint32_t rows, const float *numbers) {
    uint32_t table = bench_numbers(b, width, rows, 1, numbers);
    return tn_add_embed(&b->writer, "given", TN_EMBED_POSITION, table, 1);
}

uint32_t bench_weight(bench *b, uint32_t type, uint64_t cols, uint64_t rows, uint64_t count, double spread) {
    return add_random(b, type, cols, rows, count, 0, spread);
}

uint32_t bench_gain(bench *b, uint64_t size) {
    return add_random(b, TYPE_F32, size, 1, 1, 1, 0.3);
}

uint32_t bench_input(bench *b, uint32_t width) {
    char name[16];
    snprintf(name, sizeof name, "port %u", b->port_count);
    b->port_widths[b->port_count] = width;
    return tn_add_input(&b->writer, name, b->port_count++, width);
}

void bench_output(bench *b, uint32_t value, uint32_t pooled) {
    if (!pooled) { value = tn_add_rows(&b->writer, "rows", value); }
    tn_add_output(&b->writer, "out", value, 0, TN_OUTPUT_HIDDEN);
}

int bench_open(bench *b, rig *r, bench_make make, const void *context, tn_error *why) {
    tn_error err = TN_ERROR_INIT;
    memset(b, 0, sizeof *b);
    b->on = r;
    b->seed = 7;
    b->cache_type = TYPE_F32;
    /* The builder sees the list grow while `make` adds weights: it is told of all places from the start. */
    int32_t code = tn_graph_builder_create(b->weight_list, b->weight_flags, BENCH_WEIGHTS, &b->builder, &err);
    cr_assert(code == TN_OK, "%s", err.text);
    b->writer = tn_writer_begin(tn_engine_host(r->engine), tn_graph_builder_table(b->builder));
    make(b, context);
    code = tn_graph_builder_finish(b->builder, TN_OK, &b->graph, &err);
    cr_assert(code == TN_OK, "%s", err.text);
    for (uint32_t n = 0; n < b->graph->node_count; n++) {
        tn_choice choice = {.struct_size = sizeof choice};
        if (b->graph->nodes[n]->op == TN_OP_output) {
            b->width = b->graph->values[b->graph->nodes[n]->inputs[0] - 1]->width;
        }
        code = r->backend->supports(r->self, b->graph, n, &choice, &err);
        if (code != TN_OK) {
            cr_assert(code == TN_E_OP_UNSUPPORTED, "%s: supports() gave %d: %s", r->name, code, err.text);
            cr_assert(err.text[0], "%s: a refusal without a reason", r->name);
            *why = err;
            bench_close(b);
            return 0;
        }
        cr_assert(choice.kernel[0], "%s: no kernel named for %s", r->name, b->graph->nodes[n]->name);
    }
    return 1;
}

void bench_close(bench *b) {
    tn_graph_builder_free(b->builder);
    for (uint32_t i = 0; i < b->weight_count; i++) {
        free((char *)b->weights[i].name);
        free((unsigned char *)b->weights[i].data - 1);
    }
    memset(b, 0, sizeof *b);
}

/* ---- sessions ---------------------------------------------------------------------------------------- */

static int same_group(const tn_cache_group *g, const tn_attend *a) {
    return g->kv_heads == a->kv_heads && g->key_dim == a->key_dim && g->value_dim == a->value_dim &&
           g->window == a->window;
}

static void add_slot(session *s, const tn_attend *a) {
    uint32_t g = 0;
    while (g < s->group_count && !same_group(&s->groups[g], a)) { g++; }
    tn_cache_group *group = &s->groups[g];
    if (g == s->group_count) {
        cr_assert(g < 4);
        s->group_count++;
        group->struct_size = sizeof *group;
        group->kind = TN_GROUP_PAGED;
        group->page_tokens = BENCH_PAGE_TOKENS;
        group->slots = s->slots[g];
        group->kv_heads = a->kv_heads;
        group->key_dim = a->key_dim;
        group->value_dim = a->value_dim;
        group->window = a->window;
        group->key_format = find_format(s->b->on, s->b->cache_type, &group->key_self);
        group->value_format = find_format(s->b->on, s->b->cache_type, &group->value_self);
        s->group_list[g] = group;
    }
    s->slots[g][group->slot_count++] = a->slot;
}

/* Page tables that are out of order on purpose: page p of sequence q is count - 1 - (p * sequences + q). */
static void make_tables(session *s, uint32_t sequences) {
    uint64_t count = s->pages_per_sequence * sequences;
    tn_error err = TN_ERROR_INIT;
    const rig *r = s->b->on;
    for (uint32_t g = 0; g < s->group_count; g++) {
        int32_t code = r->backend->cache_reserve(r->self, s->cache, g, count, &err);
        cr_assert(code == TN_OK, "%s: %s", r->name, err.text);
        for (uint32_t q = 0; q < sequences; q++) {
            s->tables[q][g] = malloc(s->pages_per_sequence * sizeof(uint32_t));
            for (uint64_t p = 0; p < s->pages_per_sequence; p++) {
                s->tables[q][g][p] = (uint32_t)(count - 1 - (p * sequences + q));
            }
        }
    }
}

void session_open(session *s, bench *b, const lengths *most) {
    const rig *r = b->on;
    tn_error err = TN_ERROR_INIT;
    tn_limits limits = {.struct_size = sizeof limits, .sequences = most->count};
    uint32_t longest = 0;
    memset(s, 0, sizeof *s);
    s->b = b;
    for (uint32_t q = 0; q < most->count; q++) {
        limits.rows += most->of[q];
        longest = most->of[q] > longest ? most->of[q] : longest;
    }
    limits.output_rows = limits.rows;
    limits.pages_per_sequence = s->pages_per_sequence = (longest + BENCH_PAGE_TOKENS - 1) / BENCH_PAGE_TOKENS;
    for (uint32_t n = 0; n < b->graph->node_count; n++) {
        const tn_attend *a = b->graph->nodes[n]->attributes;
        if (b->graph->nodes[n]->op == TN_OP_attend && a->cached) { add_slot(s, a); }
    }
    tn_place place = {
        .struct_size = sizeof place, .weight_count = b->weight_count, .weights = b->weight_list};
    tn_memory memory = {.struct_size = sizeof memory};
    int32_t code = r->backend->place(r->self, &place, &s->placed, &memory, &err);
    cr_assert(code == TN_OK, "%s: %s", r->name, err.text);
    tn_compile compile = {.struct_size = sizeof compile,
                          .group_count = s->group_count,
                          .graph = b->graph,
                          .limits = &limits,
                          .groups = s->group_list,
                          .captures = &b->capture,
                          .capture_count = b->capture != 0,
                          .weight_captures = b->weight_captures,
                          .weight_capture_count = b->weight_capture_count};
    code = r->backend->memory(r->self, &compile, &memory, &err);
    cr_assert(code == TN_OK, "%s: %s", r->name, err.text);
    code = r->backend->compile(r->self, s->placed, &compile, &s->plan, &err);
    cr_assert(code == TN_OK, "%s: %s", r->name, err.text);
    code = r->backend->cache_create(r->self, s->group_list, s->group_count, &s->cache, &err);
    cr_assert(code == TN_OK, "%s: %s", r->name, err.text);
    make_tables(s, most->count);
}

void session_close(session *s) {
    const rig *r = s->b->on;
    r->backend->discard(r->self, s->plan);
    r->backend->cache_destroy(r->self, s->cache);
    r->backend->unplace(r->self, s->placed);
    for (uint32_t q = 0; q < BENCH_SEQUENCES; q++) {
        for (uint32_t g = 0; g < 4; g++) { free(s->tables[q][g]); }
    }
}

/* The arrays of one step. */
typedef struct rows {
    int32_t *tokens, *position, *type;
    uint32_t *sequence, *index, *output_rows;
    float *ports[4], *embedded;
    uint32_t count, given;
} rows;

static void rows_alloc(rows *r, const bench *b, uint32_t count) {
    memset(r, 0, sizeof *r);
    r->tokens = malloc((count + 1) * sizeof(int32_t));
    r->position = malloc((count + 1) * sizeof(int32_t));
    r->type = malloc((count + 1) * sizeof(int32_t));
    r->sequence = malloc((count + 1) * sizeof(uint32_t));
    r->index = malloc((count + 1) * sizeof(uint32_t));
    r->output_rows = malloc((count + 1) * sizeof(uint32_t));
    r->embedded = malloc((count + 1) * sizeof(float) * (b->given ? b->given : 1));
    for (uint32_t p = 0; p < b->port_count; p++) {
        r->ports[p] = malloc((count + 1) * sizeof(float) * b->port_widths[p]);
    }
}

static void rows_free(rows *r) {
    free(r->tokens);
    free(r->position);
    free(r->type);
    free(r->sequence);
    free(r->index);
    free(r->output_rows);
    free(r->embedded);
    for (uint32_t p = 0; p < 4; p++) { free(r->ports[p]); }
}

/* Row (sequence q, index i): token and numbers follow from the two alone. */
static void rows_add(rows *r, const bench *b, uint32_t row_sequence, uint32_t q, uint32_t i) {
    uint32_t n = r->count++;
    r->sequence[n] = row_sequence;
    r->index[n] = i;
    r->position[n] = (int32_t)i;
    r->type[n] = (int32_t)(i & 1);
    r->output_rows[n] = n;
    r->tokens[n] = b->vocab ? (int32_t)(mix(q * 1000003u + i) % b->vocab) : 0;
    if (b->given && i % 3 == 1) {
        r->tokens[n] = -1;
        for (uint32_t c = 0; c < b->given; c++) {
            r->embedded[(uint64_t)r->given * b->given + c] = noise(b->seed, 99, q * 4096 + i, c);
        }
        r->given++;
    }
    for (uint32_t p = 0; p < b->port_count; p++) {
        float *x = r->ports[p] + (uint64_t)n * b->port_widths[p];
        for (uint32_t c = 0; c < b->port_widths[p]; c++) { x[c] = noise(b->seed, p, q * 4096 + i, c); }
        if (b->poisoned == i + 1 && q == 0) { x[b->port_widths[p] / 2] = NAN; }
    }
}

int32_t session_step(session *s, const uint32_t counts[BENCH_SEQUENCES], float *out,
                     const step_options *options, tn_error *err) {
    const bench *b = s->b;
    tn_sequence sequences[BENCH_SEQUENCES];
    const tn_sequence *list[BENCH_SEQUENCES];
    uint32_t total = 0, present = 0;
    rows r;
    for (uint32_t q = 0; q < BENCH_SEQUENCES; q++) { total += counts[q]; }
    rows_alloc(&r, b, total);
    for (uint32_t q = 0; q < BENCH_SEQUENCES; q++) {
        if (!counts[q]) { continue; }
        sequences[present] = (tn_sequence){.struct_size = sizeof(tn_sequence),
                                           .held = s->held[q],
                                           .count = counts[q],
                                           .group_count = s->group_count,
                                           .pages = (const uint32_t *const *)s->tables[q]};
        list[present] = &sequences[present];
        for (uint32_t i = 0; i < counts[q]; i++) { rows_add(&r, b, present, q, s->held[q] + i); }
        present++;
    }
    tn_step step = {.struct_size = sizeof step,
                    .rows = total,
                    .tokens = r.tokens,
                    .sequence = r.sequence,
                    .index = r.index,
                    .position = r.position,
                    .type = b->use_types ? r.type : NULL,
                    .embedded = r.given ? r.embedded : NULL,
                    .ports = b->port_count ? (const float *const *)r.ports : NULL,
                    .output_count = total,
                    .sequence_count = present,
                    .output_rows = r.output_rows,
                    .sequences = list,
                    .outputs = &out,
                    .captures = options ? options->captures : NULL,
                    .capture_count = options ? options->capture_count : 0,
                    .cancelled = options ? options->cancelled : NULL,
                    .cancel_context = options ? options->cancel_context : NULL};
    int32_t code = b->on->backend->run(b->on->self, s->plan, s->cache, &step, err);
    for (uint32_t q = 0; q < BENCH_SEQUENCES && code == TN_OK; q++) { s->held[q] += counts[q]; }
    rows_free(&r);
    return code;
}

/* ---- whole runs -------------------------------------------------------------------------------------- */

static int is_pooled(const bench *b) {
    for (uint32_t n = 0; n < b->graph->node_count; n++) {
        if (b->graph->nodes[n]->op == TN_OP_output) {
            return b->graph->values[b->graph->nodes[n]->inputs[0] - 1]->rows == TN_ROWS_S;
        }
    }
    return 0;
}

uint64_t bench_rows(const bench *b, const lengths *l) {
    uint64_t total = 0;
    if (is_pooled(b)) { return l->count; }
    for (uint32_t q = 0; q < l->count; q++) { total += l->of[q]; }
    return total;
}

static uint32_t at_most(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* How many tokens of each sequence come next; 0 if all are done. */
static uint32_t next_counts(const session *s, const lengths *l, int cut, uint32_t counts[BENCH_SEQUENCES]) {
    uint32_t total = 0;
    memset(counts, 0, BENCH_SEQUENCES * sizeof *counts);
    for (uint32_t q = 0; q < l->count; q++) {
        uint32_t held = s->held[q], left = l->of[q] - held;
        switch (cut) {
        case CUT_PIECES:
            counts[q] = held == 0 ? at_most(left, 1) : held == 1 ? at_most(left, 7) : left;
            break;
        case CUT_DECODE: counts[q] = left > 3 ? left - 3 : at_most(left, 1); break;
        default: counts[q] = left; break;
        }
        total += counts[q];
        if (cut == CUT_ALONE && total) { break; }
    }
    return total;
}

float *bench_run(bench *b, const lengths *l, int cut) {
    uint64_t total_rows = bench_rows(b, l);
    float *out = malloc(total_rows * b->width * sizeof *out);
    float *part = malloc(total_rows * b->width * sizeof *part);
    uint32_t counts[BENCH_SEQUENCES];
    tn_error err = TN_ERROR_INIT;
    session s;
    cr_assert(out && part);
    session_open(&s, b, l);
    while (next_counts(&s, l, cut, counts)) {
        session before = s;
        int32_t code = session_step(&s, counts, part, NULL, &err);
        cr_assert(code == TN_OK, "%s, %s: %s", b->on->name, cut_names[cut], err.text);
        const float *from = part;
        uint64_t to = 0;
        for (uint32_t q = 0; q < l->count; q++) {
            uint64_t n = is_pooled(b) ? counts[q] != 0 : counts[q];
            uint64_t at = is_pooled(b) ? q : to + before.held[q];
            memcpy(out + at * b->width, from, n * b->width * sizeof *out);
            from += n * b->width;
            to += l->of[q];
        }
    }
    session_close(&s);
    free(part);
    return out;
}
