/*
 * ref_elementwise.c - ops within a row: norm, rope, act, glu, add, mul, scale, softcap, clamp.
 */
#include "reference.h"

#include <math.h>

/* ---- norm -------------------------------------------------------------------------------------------- */

/* One part of n numbers: 1 / sqrt of the mean square around `mean`. */
static double part_factor(const double *x, uint64_t n, double mean, double eps) {
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) { sum += (x[i] - mean) * (x[i] - mean); }
    return 1 / sqrt(sum / (double)n + eps);
}

static double part_mean(const double *x, uint64_t n) {
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) { sum += x[i]; }
    return sum / (double)n;
}

/* How many numbers of W or b belong to a part: none if all parts share them. */
static uint64_t part_step(const tn_weight *w, uint64_t part) {
    return w && w->cols * w->rows > part ? part : 0;
}

int32_t ref_norm(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_norm *a = node->attributes;
    const tn_weight *weight = ref_weight(run, node, 0), *bias = ref_weight(run, node, 1);
    const float *w = ref_numbers(run, weight, 0), *b = ref_numbers(run, bias, 1);
    uint64_t part = run->plan->values[node->result - 1].width / a->groups;
    uint64_t w_step = part_step(weight, part), b_step = part_step(bias, part);
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        for (uint32_t g = 0; g < a->groups; g++) {
            const double *x = ref_row(run, node->inputs[0], r) + g * part;
            double *y = ref_row(run, node->result, r) + g * part;
            double mean = a->kind == TN_NORM_LAYER ? part_mean(x, part) : 0;
            double factor = part_factor(x, part, mean, a->eps);
            for (uint64_t i = 0; i < part; i++) {
                y[i] = (x[i] - mean) * factor * (w ? w[g * w_step + i] : 1) + (b ? b[g * b_step + i] : 0);
            }
        }
    }
    return TN_OK;
}

/* ---- rope -------------------------------------------------------------------------------------------- */

/* Rotates pair p of one head; y holds a copy of x. */
static void rotate_pair(const tn_rope *a, const double *x, double *y, uint32_t p, double cosine,
                        double sine) {
    uint32_t i = a->pairing == TN_PAIR_ADJACENT ? 2 * p : p;
    uint32_t j = a->pairing == TN_PAIR_ADJACENT ? 2 * p + 1 : p + a->rotated / 2;
    y[i] = x[i] * cosine - x[j] * sine;
    y[j] = x[i] * sine + x[j] * cosine;
}

int32_t ref_rope(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_rope *a = node->attributes;
    const float *factors = ref_numbers(run, ref_weight(run, node, 0), 0);
    TN_TRY(ref_mark(run, node, err)); /* what is not rotated passes unchanged */
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        const double *x = ref_row(run, node->inputs[0], r);
        double *y = ref_row(run, node->result, r);
        for (uint32_t p = 0; p < a->rotated / 2; p++) {
            double angle = run->step->position[r] * a->frequencies[p] / (factors ? factors[p] : 1);
            double cosine = cos(angle) * a->magnitude, sine = sin(angle) * a->magnitude;
            for (uint32_t h = 0; h < a->heads; h++) {
                uint64_t head = (uint64_t)h * a->head_dim;
                rotate_pair(a, x + head, y + head, p, cosine, sine);
            }
        }
    }
    return TN_OK;
}

/* ---- activations ------------------------------------------------------------------------------------- */

double ref_activate(uint32_t act, double alpha, double x) {
    const double root_2_over_pi = 0.79788456080286535587989211986876, root_half = 0.70710678118654752440;
    switch (act) {
    case TN_ACT_SILU: return x / (1 + exp(-(alpha == 0 ? 1 : alpha) * x));
    case TN_ACT_GELU_ERF: return 0.5 * x * (1 + erf(x * root_half));
    case TN_ACT_GELU_TANH: return 0.5 * x * (1 + tanh(root_2_over_pi * (x + 0.044715 * x * x * x)));
    case TN_ACT_RELU: return x < 0 ? 0 : x;
    case TN_ACT_RELU2: return x < 0 ? 0 : x * x;
    case TN_ACT_TANH: return tanh(x);
    case TN_ACT_SIGMOID: return 1 / (1 + exp(-x));
    default: return NAN; /* ref_supports() lets no other number through */
    }
}

double ref_glu_number(uint32_t act, double alpha, double limit, double offset, double gate, double up) {
    if (limit != 0) { /* written so that a NaN stays one */
        gate = gate > limit ? limit : gate;
        up = up > limit ? limit : up < -limit ? -limit : up;
    }
    return ref_activate(act, alpha, gate) * (up + offset);
}

int32_t ref_act(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_act_op *a = node->attributes;
    uint32_t width = run->plan->values[node->result - 1].width;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        const double *x = ref_row(run, node->inputs[0], r);
        double *y = ref_row(run, node->result, r);
        for (uint32_t c = 0; c < width; c++) { y[c] = ref_activate(a->act, a->alpha, x[c]); }
    }
    return TN_OK;
}

int32_t ref_glu(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_glu *a = node->attributes;
    uint32_t width = run->plan->values[node->result - 1].width;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        const double *g = ref_row(run, node->inputs[0], r), *u = ref_row(run, node->inputs[1], r);
        double *y = ref_row(run, node->result, r);
        for (uint32_t c = 0; c < width; c++) {
            y[c] = ref_glu_number(a->act, a->alpha, a->limit, a->offset, g[c], u[c]);
        }
    }
    return TN_OK;
}

/* ---- arithmetic -------------------------------------------------------------------------------------- */

int32_t ref_add(ref_run *run, const tn_node *node, tn_error *err) {
    uint32_t width = run->plan->values[node->result - 1].width;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        const double *a = ref_row(run, node->inputs[0], r), *b = ref_row(run, node->inputs[1], r);
        double *y = ref_row(run, node->result, r);
        for (uint32_t c = 0; c < width; c++) { y[c] = a[c] + b[c]; }
    }
    return TN_OK;
}

int32_t ref_mul(ref_run *run, const tn_node *node, tn_error *err) {
    const ref_value *values = run->plan->values;
    uint32_t width = values[node->result - 1].width;
    uint32_t a_step = values[node->inputs[0] - 1].width > 1, b_step = values[node->inputs[1] - 1].width > 1;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        const double *a = ref_row(run, node->inputs[0], r), *b = ref_row(run, node->inputs[1], r);
        double *y = ref_row(run, node->result, r);
        for (uint32_t c = 0; c < width; c++) { y[c] = a[c * a_step] * b[c * b_step]; }
    }
    return TN_OK;
}

int32_t ref_scale(ref_run *run, const tn_node *node, tn_error *err) {
    double factor = ((const tn_scale *)node->attributes)->factor;
    uint32_t width = run->plan->values[node->result - 1].width;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        const double *x = ref_row(run, node->inputs[0], r);
        double *y = ref_row(run, node->result, r);
        for (uint32_t c = 0; c < width; c++) { y[c] = x[c] * factor; }
    }
    return TN_OK;
}

int32_t ref_softcap(ref_run *run, const tn_node *node, tn_error *err) {
    double factor = ((const tn_scale *)node->attributes)->factor;
    uint32_t width = run->plan->values[node->result - 1].width;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        const double *x = ref_row(run, node->inputs[0], r);
        double *y = ref_row(run, node->result, r);
        for (uint32_t c = 0; c < width; c++) { y[c] = factor * tanh(x[c] / factor); }
    }
    return TN_OK;
}

int32_t ref_clamp(ref_run *run, const tn_node *node, tn_error *err) {
    double factor = ((const tn_scale *)node->attributes)->factor;
    uint32_t width = run->plan->values[node->result - 1].width;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        const double *x = ref_row(run, node->inputs[0], r);
        double *y = ref_row(run, node->result, r);
        for (uint32_t c = 0; c < width; c++) {
            y[c] = x[c] < -factor ? -factor : x[c] > factor ? factor : x[c];
        }
    }
    return TN_OK;
}
