/*
 * cpu_experts.c - mixtures of experts: which experts a row goes to, which rows an expert gets, and the sum.
 *
 * Everything here follows from the rows alone, so all workers that ask find the same. The products themselves
 * are those of cpu_linear.c: an expert is a matrix that some of the rows meet.
 */
#include "cpu.h"

#include <string.h>

enum { ALIGN = 64 };

/* ---- a row chooses ---------------------------------------------------------------------------------- */

/* The `used` largest of n ranks, largest first, ties to the lower number, into chosen[]. */
static void choose(const float *ranks, uint32_t n, uint32_t used, float *chosen) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < n; e++) {
        uint32_t at = count;
        while (at > 0 && ranks[e] > ranks[(uint32_t)chosen[at - 1]]) { at--; }
        if (at == used) { continue; }
        count += count < used;
        memmove(chosen + at + 1, chosen + at, (count - at - 1) * sizeof *chosen);
        chosen[at] = (float)e;
    }
}

/* The scores of all logits, but for a factor, which is what they must be divided by. */
static float score(const cpu_kernels *kernels, uint32_t kind, const float *logits, uint32_t n, float *out) {
    if (kind == TN_SCORE_SOFTMAX) { return kernels->exp_sum(logits, kernels->max(logits, n), n, out); }
    kernels->act(TN_ACT_SIGMOID, 1.0f, logits, n, out);
    return 1.0f;
}

void cpu_route(const cpu_kernels *kernels, const tn_route *route, const float *logits, uint32_t n,
               const float *bias, float *scores, float *out) {
    float *weights = out + route->used, total = 0;
    float divisor = score(kernels, route->score, logits, n, scores);
    if (bias) { /* it is in the choice, not in the weights */
        for (uint32_t e = 0; e < n; e++) { scores[e] = scores[e] / divisor + bias[e]; }
        choose(scores, n, route->used, out);
        divisor = score(kernels, route->score, logits, n, scores);
    } else {
        choose(logits, n, route->used, out);
    }
    for (uint32_t u = 0; u < route->used; u++) {
        weights[u] = scores[(uint32_t)out[u]];
        total += weights[u];
    }
    if (route->normalise && total == 0) { /* sigmoids too small for a float: there they are exponentials */
        for (uint32_t u = 0; u < route->used; u++) { weights[u] = logits[(uint32_t)out[u]]; }
        total = kernels->exp_sum(weights, kernels->max(weights, route->used), route->used, weights);
    }
    if (route->normalise) { divisor = total; }
    for (uint32_t u = 0; u < route->used; u++) { weights[u] = weights[u] / divisor * (float)route->scale; }
}

void cpu_sum_experts(const cpu_kernels *kernels, const float *parts, const float *route, uint32_t used,
                     uint32_t width, float *out) {
    memset(out, 0, width * sizeof *out);
    kernels->blend(parts, width, used, width, route + used, used, 1, out, width);
}

/* ---- an expert gets its rows ------------------------------------------------------------------------ */

static uint64_t most_groups(const cpu_phase *phase, uint64_t pairs) {
    return pairs < phase->experts ? pairs : phase->experts;
}

static uint64_t number_bytes(uint64_t count) {
    return cpu_round(cpu_mul(count, sizeof(uint32_t)), ALIGN);
}

uint64_t cpu_choices_bytes(const cpu_phase *phase, uint64_t rows) {
    uint64_t pairs = cpu_mul(rows, phase->used);
    uint64_t lists = cpu_add(cpu_mul(2, number_bytes(pairs)), number_bytes(phase->experts + 1ull));
    return cpu_add(lists, cpu_mul(most_groups(phase, pairs), sizeof(cpu_group)));
}

void cpu_choices_at(const cpu_phase *phase, uint64_t rows, unsigned char *memory, cpu_choices *out) {
    uint64_t pairs = number_bytes(rows * phase->used);
    *out = (cpu_choices){.experts = phase->experts,
                         .used = phase->used,
                         .numbers = (uint32_t *)memory,
                         .pairs = (uint32_t *)(memory + pairs),
                         .starts = (uint32_t *)(memory + 2 * pairs),
                         .groups = (cpu_group *)(memory + 2 * pairs + number_bytes(phase->experts + 1ull))};
}

void cpu_choices_take(cpu_choices *choices, uint64_t row, const float *route) {
    uint32_t *to = choices->numbers + row * choices->used;
    for (uint32_t u = 0; u < choices->used; u++) { to[u] = (uint32_t)route[u]; }
}

void cpu_choices_sort(cpu_choices *choices, uint64_t rows) {
    uint64_t pairs = rows * choices->used;
    uint32_t *starts = choices->starts, count = 0;
    memset(starts, 0, (choices->experts + 1ull) * sizeof *starts);
    for (uint64_t p = 0; p < pairs; p++) { starts[choices->numbers[p] + 1]++; }
    for (uint32_t e = 0; e < choices->experts; e++) {
        uint32_t here = starts[e + 1], from = starts[e];
        starts[e + 1] += from;
        if (here) { choices->groups[count++] = (cpu_group){e, from, here}; }
    }
    choices->group_count = count;
    for (uint64_t p = 0; p < pairs; p++) { choices->pairs[starts[choices->numbers[p]]++] = (uint32_t)p; }
}
