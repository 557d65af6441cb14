/*
 * gemm_band.c - bands, chunks and scratch of the matrix product (gemm_band.h). No arithmetic of results here.
 */
#include "gemm_band.h"

#include <string.h>

enum { ALIGN = 64, SUM_COLUMNS = 16 /* activations bring a sum for each 16 columns */ };

static uint64_t round_up(uint64_t n, uint64_t unit) {
    return (n + unit - 1) / unit * unit;
}
static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}
static uint64_t max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Where the parts of scratch lie. */
typedef struct layout {
    int8_t *codes, *panel;
    float *row_scales, *row_minimums; /* as unpacked, [row][group] */
    float *scales, *minimums;         /* [piece][row] */
    int8_t *row_subs;                 /* p16, as unpacked, [row][group]; */
    uint8_t *row_sub_minimums;
    int32_t *subs, *sub_minimums; /* [piece][row] */
    float *act_scales, *act_sums;
    int32_t *act_offsets, *act_pairs;
    float *sums;
    float *floats;
} layout;

/* Hands out `bytes` from *at on; with a NULL base only the offsets are counted. */
static void *take(char *base, uint64_t *at, uint64_t bytes) {
    char *part = base ? base + *at : NULL;
    *at += round_up(bytes, ALIGN);
    return part;
}

/* Parts for pieces of `piece` columns and more. Returns the bytes of all of them. */
static uint64_t lay_out_codes(const gemm_kind *kind, uint64_t cols, uint64_t act_rows, uint64_t piece,
                              char *base, layout *l) {
    uint64_t at = 0, tokens = round_up(act_rows, kind->tile), rows = kind->rows;
    uint64_t numbers = rows * round_up(kind->chunk / piece, 16) * sizeof(float);
    uint64_t act_numbers = tokens * (cols / piece) * sizeof(float);
    l->codes = take(base, &at, rows * kind->chunk);
    l->panel = take(base, &at, rows * kind->chunk);
    l->row_scales = take(base, &at, numbers);
    l->row_minimums = take(base, &at, numbers);
    l->scales = take(base, &at, numbers);
    l->minimums = take(base, &at, numbers);
    l->row_subs = take(base, &at, rows * kind->chunk / SUM_COLUMNS);
    l->row_sub_minimums = take(base, &at, rows * kind->chunk / SUM_COLUMNS);
    l->subs = take(base, &at, rows * kind->chunk / P16_PIECE * sizeof(int32_t));
    l->sub_minimums = take(base, &at, rows * kind->chunk / P16_PIECE * sizeof(int32_t));
    l->act_scales = take(base, &at, act_numbers);
    l->act_sums = take(base, &at, act_numbers);
    l->act_offsets = take(base, &at, act_numbers);
    l->act_pairs = take(base, &at, act_numbers);
    l->sums = take(base, &at, tokens * rows * sizeof(float));
    return at;
}

static uint64_t float_stride(uint64_t cols) {
    return round_up(cols * sizeof(float), ALIGN);
}

static uint64_t lay_out_floats(const gemm_kind *kind, uint64_t cols, char *base, layout *l) {
    uint64_t at = 0;
    l->floats = take(base, &at, kind->float_rows * float_stride(cols));
    return at;
}

uint64_t gemm_scratch_bytes(const gemm_kind *kind, uint64_t cols, uint64_t act_rows) {
    layout unused;
    return max_u64(lay_out_codes(kind, cols, act_rows, SUM_COLUMNS, NULL, &unused),
                   lay_out_floats(kind, cols, NULL, &unused));
}

/* Scales and offsets of all activation rows, piece by piece, in tiles. */
static void lay_out_activations(const gemm_kind *kind, const cpu_gemm *call, uint64_t piece,
                                uint64_t act_group, const layout *l) {
    uint64_t pieces = call->cols / piece, per_scale = act_group / piece, sums = piece / SUM_COLUMNS;
    for (uint64_t t = 0; t < call->act_rows; t++) {
        const float *scales = call->act->scales + (call->act_from + t) * call->act->scale_stride;
        const int16_t *sum = call->act->sums + (call->act_from + t) * call->act->sum_stride;
        uint64_t at = t / kind->tile * kind->tile * pieces + t % kind->tile;
        for (uint64_t p = 0; p < pieces; p++, at += kind->tile) {
            int32_t total = 0;
            for (uint64_t i = 0; i < sums; i++) total += *sum++;
            l->act_scales[at] = scales[p / per_scale];
            l->act_sums[at] = (float)total;
            l->act_offsets[at] = -128 * total;
        }
    }
}

static int32_t pair_of(int32_t first, int32_t second) {
    return (int32_t)((uint32_t)(uint16_t)first | (uint32_t)(uint16_t)second << 16);
}

/* The same for p16 panels. */
static void lay_out_pairs(const gemm_kind *kind, const cpu_gemm *call, const layout *l) {
    uint64_t pieces = call->cols / P16_PIECE;
    for (uint64_t t = 0; t < call->act_rows; t++) {
        const float *scales = call->act->scales + (call->act_from + t) * call->act->scale_stride;
        const int16_t *sums = call->act->sums + (call->act_from + t) * call->act->sum_stride;
        uint64_t at = t / kind->tile * kind->tile * pieces + t % kind->tile;
        for (uint64_t p = 0; p < pieces; p++, at += kind->tile, sums += 2) {
            l->act_scales[at] = scales[p];
            l->act_pairs[at] = pair_of(sums[0], sums[1]);
            uint64_t first = 2 * at - t % kind->tile;
            l->act_offsets[first] = -P16_OFFSET * sums[0];
            l->act_offsets[first + kind->tile] = -P16_OFFSET * sums[1];
        }
    }
}

/* Sub-scales and minimum codes of a band by pieces; rows past `count` get none. */
static void spread_subs(const gemm_kind *kind, uint64_t count, uint64_t pieces, uint64_t group,
                        int has_minimum, const layout *l) {
    uint64_t stride = kind->chunk / SUM_COLUMNS, second = group == SUM_COLUMNS; /* index of the second */
    for (uint64_t r = 0; r < kind->rows; r++) {
        const int8_t *sub = l->row_subs + r * stride;
        const uint8_t *minimum = l->row_sub_minimums + r * stride;
        for (uint64_t p = 0; p < pieces; p++, sub += 1 + second, minimum += 1 + second) {
            l->subs[p * kind->rows + r] = r < count ? pair_of(sub[0], sub[second]) : 0;
            if (!has_minimum) continue;
            l->sub_minimums[p * kind->rows + r] = r < count ? pair_of(minimum[0], minimum[second]) : 0;
        }
    }
}

/* Unpacks rows row .. row + count - 1, columns from .. to - 1, and brings them into the kind's order. Returns
 * what interleave() does. */
static int32_t unpack_chunk(const gemm_kind *kind, const cpu_gemm *call, uint64_t row, uint64_t count,
                            uint64_t from, uint64_t to, uint64_t piece, const layout *l) {
    int p16 = call->unpack->form == TN_PANEL_P16;
    uint64_t group = p16 ? P16_BLOCK : call->unpack->group, stride = kind->chunk,
             groups = (to - from) / group;
    tn_unpack unpack = {
        .struct_size = sizeof unpack,
        .blocks = (const char *)call->blocks + row * call->row_stride,
        .row_stride = call->row_stride,
        .rows = count,
        .col_from = from,
        .col_to = to,
        .codes = l->codes,
        .code_stride = stride,
        .scales = l->row_scales,
        .minimums = call->has_minimum ? l->row_minimums : NULL,
        .scale_stride = round_up(kind->chunk / group, 16),
        .sub_scales = p16 ? l->row_subs : NULL,
        .sub_minimums = p16 && call->has_minimum ? l->row_sub_minimums : NULL,
        .sub_stride = kind->chunk / SUM_COLUMNS,
    };
    call->unpack->unpack(&unpack);
    for (uint64_t r = count; r < kind->rows; r++) {
        memset(l->codes + r * stride, 0, to - from);
        memset(l->row_scales + r * unpack.scale_stride, 0, groups * sizeof(float));
        memset(l->row_minimums + r * unpack.scale_stride, 0, groups * sizeof(float));
    }
    uint64_t repeat = p16 ? 1 : group / piece;
    kind->spread(l->row_scales, unpack.scale_stride, groups, repeat, l->scales);
    if (call->has_minimum) kind->spread(l->row_minimums, unpack.scale_stride, groups, repeat, l->minimums);
    if (p16)
        spread_subs(kind, count, (to - from) / P16_PIECE, call->unpack->group, (int)call->has_minimum, l);
    return kind->interleave(l->codes, stride, to - from, p16, l->panel);
}

/* The chunk after columns .. to - 1 of row .. row + rows - 1: the next columns, or the next band's first.
 * Column c lies at about c / cols of a row; fetching the wrong lines does no harm. */
static gemm_ahead look_ahead(const gemm_kind *kind, const cpu_gemm *call, uint64_t row, uint64_t to,
                             uint64_t width, uint64_t steps) {
    uint64_t next_row = to < call->cols ? row : row + kind->rows, next = to < call->cols ? to : 0;
    gemm_ahead ahead = {.stride = call->row_stride};
    if (next_row >= call->row_to) return ahead;
    uint64_t begin = call->row_stride * next / call->cols;
    ahead.row = (const char *)call->blocks + next_row * call->row_stride + begin;
    ahead.rows = min_u64(kind->rows, call->row_to - next_row);
    ahead.row_bytes = call->row_stride * min_u64(next + width, call->cols) / call->cols - begin;
    ahead.bytes_per_step = round_up(ahead.rows * ahead.row_bytes / steps, 64) + 64;
    return ahead;
}

static void run_codes(const gemm_kind *kind, const cpu_gemm *call) {
    uint64_t act_group = call->act->form == TN_FORM_I8X32 ? 32 : 256, group = call->unpack->group;
    int p16 = call->unpack->form == TN_PANEL_P16;
    uint64_t piece = p16 ? P16_PIECE : min_u64(group, act_group),
             unit = max_u64(max_u64(group, call->block), 32);
    uint64_t chunks = (call->cols + kind->chunk - 1) / kind->chunk;
    uint64_t width = round_up((call->cols + chunks - 1) / chunks, unit), pieces = call->cols / piece;
    layout l;
    lay_out_codes(kind, call->cols, call->act_rows, p16 ? SUM_COLUMNS : piece, call->scratch, &l);
    if (p16)
        lay_out_pairs(kind, call, &l);
    else
        lay_out_activations(kind, call, piece, act_group, &l);
    for (uint64_t row = call->row_from; row < call->row_to; row += kind->rows) {
        uint64_t count = min_u64(kind->rows, call->row_to - row);
        for (uint64_t from = 0; from < call->cols; from += width) {
            uint64_t to = min_u64(from + width, call->cols);
            int32_t offset = unpack_chunk(kind, call, row, count, from, to, piece, &l);
            uint64_t steps = (to - from) / piece * ((call->act_rows + kind->tile - 1) / kind->tile);
            gemm_ahead ahead = look_ahead(kind, call, row, to, width, steps);
            void (*multiply)(const gemm_chunk *) = p16 ? kind->multiply_p16 : kind->multiply;
            multiply(&(gemm_chunk){
                .panel = l.panel,
                .scales = l.scales,
                .minimums = call->has_minimum ? l.minimums : NULL,
                .pieces = (to - from) / piece,
                .piece = (uint32_t)piece,
                .row_count = (uint32_t)count,
                .offset = offset,
                .act = (const int8_t *)call->act->data + call->act_from * call->act->stride + from,
                .act_stride = call->act->stride,
                .act_scales = l.act_scales + from / piece * kind->tile,
                .act_sums = l.act_sums + from / piece * kind->tile,
                .act_offsets = l.act_offsets + from / (p16 ? SUM_COLUMNS : piece) * kind->tile,
                .act_pairs = l.act_pairs + from / piece * kind->tile,
                .subs = l.subs,
                .sub_minimums = call->has_minimum ? l.sub_minimums : NULL,
                .tile_stride = pieces * kind->tile,
                .tokens = call->act_rows,
                .ahead = &ahead,
                .sums = l.sums,
                .first = from == 0,
                .last = to == call->cols,
                .out = call->out + (row - call->row_from),
                .out_stride = call->out_stride,
            });
        }
    }
}

static void run_floats(const gemm_kind *kind, const cpu_gemm *call) {
    layout l;
    lay_out_floats(kind, call->cols, call->scratch, &l);
    uint64_t stride = float_stride(call->cols);
    const char *x = (const char *)call->act->data + call->act_from * call->act->stride;
    for (uint64_t row = call->row_from; row < call->row_to; row += kind->float_rows) {
        uint64_t count = min_u64(kind->float_rows, call->row_to - row);
        call->unpack->unpack(&(tn_unpack){
            .struct_size = sizeof(tn_unpack),
            .blocks = (const char *)call->blocks + row * call->row_stride,
            .row_stride = call->row_stride,
            .rows = count,
            .col_to = call->cols,
            .codes = l.floats,
            .code_stride = stride,
        });
        kind->dot(l.floats, stride / sizeof(float), count, call->cols, (const float *)(const void *)x,
                  call->act->stride / sizeof(float), call->act_rows, call->out + (row - call->row_from),
                  call->out_stride);
    }
}

void gemm_run(const gemm_kind *kind, const cpu_gemm *call) {
    if (call->act_rows == 0) return;
    if (call->unpack->form == TN_PANEL_F32)
        run_floats(kind, call);
    else
        run_codes(kind, call);
}
