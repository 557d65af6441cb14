/*
 * tenon/format.h - interface "tenon.format/1": one tensor format, its rows to floats and back, and its
 * kernels for CPU backends.
 *
 * A format's plugin carries its own speed: a backend knows no format by name, it looks through the table
 * of kernels for one that the machine can run. All kernels of a format follow one rule of summing, so
 * that any two of them that use the same pair of forms give the same bits (see "The rule" below).
 */
#ifndef TENON_FORMAT_H
#define TENON_FORMAT_H

#include "tenon/host.h"

TN_BEGIN_C

#define TN_FORMAT_1 "tenon.format/1"

/*
 * Activation forms: how a backend hands activation rows to a kernel. Open list, numbers are never reused.
 *
 * TN_FORM_F32     float rows as they are.
 * TN_FORM_I8X32   int8 codes in -127..127 (never -128), one float scale for 32 columns, an int16 sum of
 * TN_FORM_I8X256  the codes for each 16 columns; the same with one scale for 256 columns. Of a group x:
 *                     m = max |x|;  scale = m / 127;  code = round to nearest even(x * (127 / m))
 *                 in float32; if m < 2^-100 scale and codes are 0; if any x is NaN or Inf the scale is NaN
 *                 and the codes are 0 (so the row's result is NaN).
 * TN_FORM_I16X256 two planes: x = scale * (128 * hi + lo), lo in -64..63, hi in -127..127; m = max |x| of
 * 256, scale = m / 16319, q = round to nearest even(x * (16319 / m)), lo = ((q + 64) & 127) - 64, hi = (q -
 * lo) / 128. The high plane is an I8X256 row with the scale 128 * scale, the low one with `scale`.
 */
enum { TN_FORM_F32 = 1, TN_FORM_I8X32 = 2, TN_FORM_I8X256 = 3, TN_FORM_I16X256 = 4 };

/*
 * Panel forms: what unpack() writes, plain and row-major.
 *
 * TN_PANEL_P8   int8 codes; a float scale and, where the format has one, a float minimum for each group of
 *               `group` columns: w = scale * code + minimum, exactly.
 * TN_PANEL_P16  codes -16 .. 15 and an int8 sub-scale for each `group` (16 or 32) columns, a float scale for
 *               256, which are the block: w = scale * (sub * code); where the format has minimums, a uint8
 *               minimum code for each group and one float minimum scale for 256: ... + minimum_scale *
 *               minimum_code.
 * TN_PANEL_F32  floats.
 */
enum { TN_PANEL_P8 = 1, TN_PANEL_P16 = 2, TN_PANEL_F32 = 3 };

/*
 * The rule of summing. The result of one weight row and one activation row is one float:
 *
 *  Integer forms. acc = +0. Cut the columns wherever the weight's or the activation's scale changes, and
 *    take the pieces in column order. Of each piece: sum = the exact int32 sum of code * code;
 *        acc = fma((float)sum, scale_w * scale_a, acc)
 *    and, if the format has a minimum (p8):
 *        acc = fma((float)(sum of the activation's codes), minimum_w * scale_a, acc)
 *    With p16, of each piece: sum = the exact int32 sum of sub * code * code. From t = +0, u = +0 at the start
 *    of each 256 columns:
 *        t = fma((float)sum, scale_a, t)
 *        u = fma((float)(sum of minimum_code * the activation's code), scale_a, u)
 *    and at their end acc = fma(t, scale_w, acc), then, if there are minimums, acc = fma(u, minimum_w, acc).
 *    With I16X256 each piece takes its float steps for the high plane, then for the low one. (float) rounds to
 *    nearest even; every product and fma is float32.
 *  Float form. Sixteen accumulators from +0: column c goes to accumulator c mod 16,
 *        a[c % 16] = fma(w[c], x[c], a[c % 16])       in column order (w decoded to float32, exactly)
 *    then a[i] += a[i + 8] for i < 8, a[i] += a[i + 4] for i < 4, a[i] += a[i + 2] for i < 2, a[0] + a[1].
 *
 * Files with float steps are compiled with -ffp-contract=off. Subnormals are kept.
 */

/** Activation rows in one form. Rows are `stride` apart; all arrays of codes start at multiples of 64 bytes
 * and so do their rows, and may be read (not used) to the next multiple of 64. */
typedef struct tn_act {
    uint32_t struct_size;
    uint32_t form;         /**< TN_FORM_* */
    uint64_t rows, cols;   /**< of integer forms: cols is a multiple of 32 (of 256 for the x256 forms) */
    const void *data;      /**< F32: floats; else int8 codes (I16X256: the high plane) */
    uint64_t stride;       /**< bytes from row to row of data (and of low) */
    const float *scales;   /**< one for 32 or 256 columns */
    uint64_t scale_stride; /**< floats from row to row of scales (and of low_scales) */
    const int16_t *sums;   /**< of 16 codes each */
    uint64_t sum_stride;   /**< int16 from row to row of sums (and of low_sums) */
    const int8_t *low;     /**< I16X256: the low plane */
    const float *low_scales;
    const int16_t *low_sums;
} tn_act;

/** Weight rows times activation rows: out[a * out_stride + r] for row r and activation row a. */
typedef struct tn_gemv {
    uint32_t struct_size;
    uint32_t act_from, act_rows; /**< rows of `act` to use: act_from .. act_from + act_rows - 1, at most the
                                    kernel's max_rows */
    uint32_t reserved;
    const void *blocks;  /**< the first weight row; any alignment; no byte outside the rows is read */
    uint64_t row_stride; /**< bytes */
    uint64_t rows, cols; /**< any number of rows, 0 too; cols a multiple of the block */
    const tn_act *act;
    float *out;
    uint64_t out_stride; /**< floats */
} tn_gemv;

/** Weight rows into a panel: columns col_from .. col_to - 1, both multiples of the block and of the group. */
typedef struct tn_unpack {
    uint32_t struct_size;
    uint32_t reserved;
    const void *blocks; /**< the first row's column 0; any alignment */
    uint64_t row_stride;
    uint64_t rows, col_from, col_to;
    void *codes;           /**< int8, or float for TN_PANEL_F32; 64-byte aligned */
    uint64_t code_stride;  /**< bytes from row to row of codes */
    float *scales;         /**< one a group (p8), one for 256 (p16) */
    float *minimums;       /**< likewise; NULL where the format has none */
    uint64_t scale_stride; /**< floats from row to row of scales and minimums */
    int8_t *sub_scales;    /**< p16: one a group */
    uint8_t *sub_minimums; /**< p16: one a group; NULL where the format has none */
    uint64_t sub_stride;   /**< bytes from row to row of sub_scales and sub_minimums */
} tn_unpack;

/** Weighted sums of rows: out[a][c] = fma(weights[a][j], w[j][c], out[a][c]), j = 0, 1, ... in order. */
typedef struct tn_blend {
    uint32_t struct_size;
    uint32_t act_rows; /**< a = 0 .. act_rows - 1, at most the kernel's max_rows */
    const void *blocks;
    uint64_t row_stride;
    uint64_t rows, cols;
    const float *weights;
    uint64_t weight_stride; /**< floats from a to a */
    float *out;
    uint64_t out_stride; /**< floats from a to a */
} tn_blend;

/** Kinds of kernels. */
enum { TN_KERNEL_GEMV = 1, TN_KERNEL_UNPACK = 2, TN_KERNEL_STORE = 3, TN_KERNEL_BLEND = 4 };

/** One kernel: a row of the format's table. The function for its kind is set, the others are NULL. */
typedef struct tn_format_kernel {
    uint32_t struct_size;
    uint32_t kind;     /**< TN_KERNEL_* */
    uint64_t isa;      /**< TN_ISA_* bits that must all be there; 0: portable C */
    uint32_t form;     /**< gemv: TN_FORM_*; unpack: TN_PANEL_*; else 0 */
    uint32_t max_rows; /**< gemv, blend: most activation rows of one call, 1 to 8 */
    uint32_t group;    /**< unpack: columns of a group; else 0 */
    uint32_t rank;     /**< among those that the machine can run the largest wins */
    uint32_t minimums; /**< unpack: 1 if it writes minimums; else 0 */
    uint32_t reserved;
    const char *name;                      /**< "q4_0 gemv i8x32 avx2": for plans and tests */
    void (*gemv)(const tn_gemv *call);     /**< [compute] */
    void (*unpack)(const tn_unpack *call); /**< [compute] */
    void (*store)(const float *x, uint64_t cols, void *blocks); /**< [compute] one row, fast, deterministic */
    void (*blend)(const tn_blend *call);                        /**< [compute] */
} tn_format_kernel;

/** A tensor that a format brings along with X: its name is X's without ".weight", plus the suffix. */
enum { TN_COMPANION_SCALE = 1, TN_COMPANION_INPUT_SCALE = 2 };
typedef struct tn_companion {
    uint32_t struct_size;
    uint32_t role;      /**< TN_COMPANION_*: SCALE multiplies the product; INPUT_SCALE is known and unused */
    const char *suffix; /**< ".scale" */
    uint32_t optional;  /**< 1: may be absent */
    uint32_t reserved;
} tn_companion;

/** How a format is written. */
enum { TN_IMPORTANCE_IGNORED = 0, TN_IMPORTANCE_USED = 1, TN_IMPORTANCE_NEEDED = 2 };
#define TN_FORMAT_FLOAT (1u << 0) /* a plain float type: F32, F16, BF16 */

typedef struct tn_format {
    uint32_t struct_size;
    uint32_t type;    /**< the number of the type in GGUF files */
    const char *name; /**< "Q4_0" */
    uint32_t block;   /**< elements of a block */
    uint32_t block_bytes;
    uint32_t flags;      /**< TN_FORMAT_* */
    uint32_t importance; /**< TN_IMPORTANCE_* */
    /** [any] `count` elements (a multiple of the block) to floats, exactly as the type defines them. */
    void (*decode)(void *self, const void *blocks, uint64_t count, float *out);
    /**
     * [any] Rows of `cols` floats (a multiple of the block) to blocks, as well as the format can: the
     * error weighted by `importance` (one number a column, or NULL: all equal). TN_E_INPUT and nothing
     * promised of `blocks` if x has a NaN or Inf, or importance is needed and absent. A message names a place
     * as "row R" and "column C" (or one of them), counted from x. NULL: not written.
     */
    int32_t (*encode)(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err);
    /** [any] TN_OK, or TN_E_FILE_DAMAGED and the first block that no encoder writes (NaN or Inf inside). */
    int32_t (*check)(void *self, const void *blocks, uint64_t block_count, uint64_t *bad);
    uint32_t kernel_count;
    uint32_t companion_count;
    const tn_format_kernel *const *kernels; /**< NULL if there are none: then backends decode rows */
    const tn_companion *const *companions;
} tn_format;

TN_END_C
#endif
