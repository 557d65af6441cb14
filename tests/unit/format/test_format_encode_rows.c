/*
 * test_format_encode_rows.c - encoders of legacy and K types on single rows of unusual kinds, with importance of
 * unusual kinds: no row may be much worse than by a plain search, written here without regard to speed.
 *
 * That search: of each group the best of all scales (lines, where the type has minimums) that set the outermost
 * codes on two of its numbers; then multiples of what the groups share, so that the largest fits, or is cut to
 * 1/2 .. 1/16.
 */
#include "format_cases.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { COLS = 256, GROUPS = 16, ROWS = 3, LAYOUTS = 9, KINDS = 10, IMPORTANCES = 6, RARE = 3, MILLION = 5 };

/* Codes low .. high for `count` numbers with a scale, and a minimum or none; these are binary16, or multiples of
 * such that 256 numbers share: 0 .. sub_high, or sub_low .. sub_high of either sign. */
typedef struct layout {
    const char *name;
    int count, low, high, has_minimum, sub_low, sub_high;
} layout;

static const layout layouts[LAYOUTS] = {
    {"q4_0", 32, -8, 7, 0, 0, 0},  {"q5_0", 32, -16, 15, 0, 0, 0}, {"q4_1", 32, 0, 15, 1, 0, 0},
    {"q5_1", 32, 0, 31, 1, 0, 0},  {"q2_k", 16, 0, 3, 1, 0, 15},   {"q3_k", 16, -4, 3, 0, -32, 31},
    {"q4_k", 32, 0, 15, 1, 0, 63}, {"q5_k", 32, 0, 31, 1, 0, 63},  {"q6_k", 16, -32, 31, 0, -128, 127},
};

/* w = scale * code + minimum */
typedef struct line {
    double scale, minimum;
} line;

static double nearest(double x, double low, double high) {
    return x > low ? rint(x < high ? x : high) : low;
}

static double to_half(double x) {
    int exponent;
    frexp(x, &exponent);
    int place = exponent - 11 < -24 ? -24 : exponent - 11;
    return ldexp(rint(ldexp(x, -place)), place);
}

static double group_error(const layout *l, const float *x, const float *w, line at) {
    double sum = 0;
    for (int i = 0; i < l->count; i++) {
        double code = at.scale == 0 ? 0 : nearest(((double)x[i] - at.minimum) / at.scale, l->low, l->high);
        double miss = (double)x[i] - at.minimum - at.scale * code;
        sum += (double)w[i] * miss * miss;
    }
    return sum;
}

/* Of least squares for the codes nearest to `at`; `floor`: minimums above 0 do not exist. */
static line refit(const layout *l, const float *x, const float *w, line at, int floor) {
    double sw = 0, sx = 0, sq = 0, sqq = 0, sxq = 0;
    for (int i = 0; i < l->count; i++) {
        double code = nearest(((double)x[i] - at.minimum) / at.scale, l->low, l->high), weight = (double)w[i];
        sw += weight;
        sx += weight * (double)x[i];
        sq += weight * code;
        sqq += weight * code * code;
        sxq += weight * code * (double)x[i];
    }
    double spread = sw * sqq - sq * sq;
    line fit = {spread > 0 ? (sw * sxq - sx * sq) / spread : 0, 0};
    fit.minimum = sw > 0 ? (sx - fit.scale * sq) / sw : 0;
    if (!l->has_minimum || (floor && fit.minimum > 0)) { fit = (line){sqq > 0 ? sxq / sqq : 0, 0}; }
    return fit;
}

static void keep(const layout *l, const float *x, const float *w, line at, double *least, line *best) {
    double error = group_error(l, x, w, at);
    if (error < *least) {
        *least = error;
        *best = at;
    }
}

static line best_line(const layout *l, const float *x, const float *w) {
    int shared = l->sub_high > 0;
    line best = {0, 0};
    double least = group_error(l, x, w, best);
    for (int i = 0; i < l->count; i++) {
        for (int k = -1; k < l->count; k++) { /* codes low and high on numbers i and k; -1: the number 0 */
            double low = l->has_minimum ? (double)x[i] : 0, high = k < 0 ? 0 : (double)x[k];
            line at = {(high - low) / l->high, low};
            if (!l->has_minimum) { at.scale = k < 0 ? (double)x[i] / l->low : (double)x[k] / l->high; }
            if (at.scale == 0 || (l->has_minimum && (at.scale < 0 || (shared && low > 0)))) { continue; }
            keep(l, x, w, at, &least, &best);
            keep(l, x, w, refit(l, x, w, at, shared), &least, &best);
        }
    }
    return best;
}

static double block_error(const layout *l, const float *x, const float *w) {
    line lines[GROUPS];
    double sum = 0, scale = 0, minimum = 0, least = INFINITY;
    int groups = COLS / l->count;
    for (int g = 0; g < groups; g++) {
        lines[g] = best_line(l, x + g * l->count, w + g * l->count);
        if (fabs(lines[g].scale) > fabs(scale)) { scale = lines[g].scale; }
        minimum = fmin(minimum, lines[g].minimum);
        line stored = {to_half(lines[g].scale), to_half(lines[g].minimum)};
        sum += group_error(l, x + g * l->count, w + g * l->count, stored);
    }
    if (l->sub_high == 0) { return sum; }
    double last = l->sub_low < 0 ? l->sub_low : l->sub_high;
    for (int cut = 0; cut < 25; cut++) {
        double d = to_half(scale / last / (1 << cut % 5)), dmin = to_half(minimum / last / (1 << cut / 5));
        sum = 0;
        for (int g = 0; g < groups; g++) {
            line stored = {d == 0 ? 0 : d * nearest(lines[g].scale / d, l->sub_low, l->sub_high),
                           dmin == 0 ? 0 : dmin * nearest(lines[g].minimum / dmin, 0, l->sub_high)};
            sum += group_error(l, x + g * l->count, w + g * l->count, stored);
        }
        least = fmin(least, sum);
    }
    return least;
}

static double random_normal(uint64_t *state) {
    double u = ((double)random_float(state) + 1) / 2 + 1e-12, v = (double)random_float(state);
    return sqrt(-2 * log(u)) * cos(3.14159265358979 * v);
}

static const char *const kinds[KINDS] = {
    "log-normal",  "log-normal, positive", "ternary",   "rare ternary", "two numbers",
    "few numbers", "an outlier",           "far off 0", "nearly equal", "sparse"};

static void make_row(int kind, uint64_t *state, float *x) {
    double few[3] = {random_normal(state), random_normal(state), random_normal(state)};
    for (int i = 0; i < COLS; i++) {
        double n = random_normal(state), u = (double)random_float(state), sign = u < 0 ? -1 : 1;
        switch (kind) {
        case 0: n = exp(2 * n) * sign; break;
        case 1: n = exp(2 * n); break;
        case 2: n = fabs(u) < 0.67 ? sign : 0; break;
        case 3: n = fabs(u) < 0.1 ? sign : 0; break;
        case 4: n = 0.3 * sign; break;
        case 5: n = few[random_bits(state) % 3]; break;
        case 6: n = i == 77 ? 50 : n; break;
        case 7: n = 3 + 0.2 * n; break;
        case 8: n = 0.7 + 0.01 * n; break;
        default: n = fabs(u) < 0.05 ? n : 0; break;
        }
        x[i] = (float)n;
    }
}

static const char *const importances[IMPORTANCES] = {
    "none", "ones", "log-normal", "zeros among them", "few huge", "few of a million"};

static void make_importance(int kind, uint64_t *state, float *w) {
    for (int i = 0; i < COLS; i++) {
        double n = random_normal(state), u = fabs((double)random_float(state));
        switch (kind) {
        case 2: n = exp(2 * n); break;
        case 3: n = u < 0.3 ? 0 : exp(n); break;
        case 4: n = u < 0.01 ? 1e4 : 1; break;
        case 5: n = u < 0.01 ? 1e6 : 1; break;
        default: n = 1; break;
        }
        w[i] = (float)n;
    }
}

/* What binary16 makes of scales that are equally good tells them apart by this part of a row's squares: less where
 * codes can meet all numbers exactly. */
static double rounding(int kind) {
    return kind >= 2 && kind <= 4 ? 5e-7 : 2e-6;
}

static double own_error(const tn_format *format, void *self, const float *x, const float *w,
                        const float *importance) {
    uint8_t enc[COLS * 2] = {0}, portable[COLS * 2] = {0};
    float y[COLS];
    double sum = 0;
    tn_error err = {.struct_size = sizeof err};
    int32_t code = format->encode(self, x, 1, COLS, importance, enc, &err);
    cr_assert_eq(code, TN_OK, "%s: %s", format->name, err.text);
    format->encode(NULL, x, 1, COLS, importance, portable, &err);
    cr_assert_eq(memcmp(enc, portable, sizeof enc), 0, "%s: instruction sets differ", format->name);
    format->decode(NULL, enc, COLS, y);
    for (int i = 0; i < COLS; i++) { sum += (double)w[i] * pow((double)x[i] - (double)y[i], 2); }
    return sum;
}

static void judge(const layout *l, const tn_format *format, void *self, int kind, int weights, int row) {
    uint64_t state = 77 + (uint64_t)(1000 * kind + 100 * weights + row);
    float x[COLS], w[COLS];
    double size = 0;
    make_row(kind, &state, x);
    make_importance(weights, &state, w);
    for (int i = 0; i < COLS; i++) { size += (double)w[i] * (double)x[i] * (double)x[i]; }
    double plain = block_error(l, x, w), own = own_error(format, self, x, w, weights > 0 ? w : NULL);
    /* a scale of its own for each 32 numbers: then a column of huge weight allows for more scales than are tried */
    double allowed = (l->sub_high > 0 ? 1.3 : 1.6) * plain + rounding(kind) * size;
    cr_assert_leq(own, allowed, "%s, %s, importance %s, row %d: error %g, plain search %g", format->name,
                  kinds[kind], importances[weights], row, own / size, plain / size);
}

Test(encode_rows, no_row_is_worse_than_by_a_plain_search) {
    for (int t = 0; t < LAYOUTS; t++) {
        const tn_format *format = format_open(layouts[t].name);
        void *self = format_self(layouts[t].name, machine_isa());
        for (int c = 0; c < KINDS * IMPORTANCES * ROWS; c++) {
            int kind = c / ROWS % KINDS, weights = c / ROWS / KINDS;
            if (weights == MILLION && kind != RARE) { continue; } /* where all could be met exactly */
            judge(&layouts[t], format, self, kind, weights, c % ROWS);
        }
    }
}
