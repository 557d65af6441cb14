/*
 * format_plugin.h - what every format plugin has in common: the entry of the plugin, the rows of the table of
 * kernels, and the checks of what is to be encoded.
 */
#ifndef TENON_FORMAT_PLUGIN_H
#define TENON_FORMAT_PLUGIN_H

#include "half.h"
#include "tenon/plugin.h"

#include <inttypes.h>
#include <math.h>

#define TN_INLINE static inline __attribute__((always_inline))

/** Most activation rows of one call, in every gemv and blend here. */
#define TN_MAX_ROWS 8

#define TN_ISA_VNNI512 (TN_ISA_AVX512 | TN_ISA_AVX512_VNNI)
#define TN_ISA_VBMI512 (TN_ISA_VNNI512 | TN_ISA_AVX512_VBMI)

/* Ranks: where a machine can run several kernels, the wider one wins. */
enum { TN_RANK_SCALAR = 0, TN_RANK_AVX2 = 10, TN_RANK_AVX512 = 20, TN_RANK_VBMI512 = 30 };

#define TN_GEMV_KERNEL(symbol, isa_, rank_, form_, name_, function)                                          \
    const tn_format_kernel symbol = {.struct_size = sizeof(tn_format_kernel),                                \
                                     .kind = TN_KERNEL_GEMV,                                                 \
                                     .isa = (isa_),                                                          \
                                     .form = (form_),                                                        \
                                     .max_rows = TN_MAX_ROWS,                                                \
                                     .rank = (rank_),                                                        \
                                     .name = (name_),                                                        \
                                     .gemv = (function)}

#define TN_UNPACK_KERNEL(symbol, isa_, rank_, panel_, group_, minimums_, name_, function)                    \
    const tn_format_kernel symbol = {.struct_size = sizeof(tn_format_kernel),                                \
                                     .kind = TN_KERNEL_UNPACK,                                               \
                                     .isa = (isa_),                                                          \
                                     .form = (panel_),                                                       \
                                     .group = (group_),                                                      \
                                     .minimums = (minimums_),                                                \
                                     .rank = (rank_),                                                        \
                                     .name = (name_),                                                        \
                                     .unpack = (function)}

#define TN_STORE_KERNEL(symbol, isa_, rank_, name_, function)                                                \
    const tn_format_kernel symbol = {.struct_size = sizeof(tn_format_kernel),                                \
                                     .kind = TN_KERNEL_STORE,                                                \
                                     .isa = (isa_),                                                          \
                                     .rank = (rank_),                                                        \
                                     .name = (name_),                                                        \
                                     .store = (function)}

#define TN_BLEND_KERNEL(symbol, isa_, rank_, name_, function)                                                \
    const tn_format_kernel symbol = {.struct_size = sizeof(tn_format_kernel),                                \
                                     .kind = TN_KERNEL_BLEND,                                                \
                                     .isa = (isa_),                                                          \
                                     .max_rows = TN_MAX_ROWS,                                                \
                                     .rank = (rank_),                                                        \
                                     .name = (name_),                                                        \
                                     .blend = (function)}

#define TN_COUNT(array) (sizeof(array) / sizeof(array)[0])

/** The plugin `id` that offers the format `table`; its `self` is the host, of which encoders ask the
 * instruction sets (tn_encode_isa). */
#define TN_FORMAT_PLUGIN(id, table)                                                                          \
    static int32_t plugin_open(const tn_host *host, void **self, tn_error *err) {                            \
        (void)err;                                                                                           \
        *self = (void *)(uintptr_t)host;                                                                     \
        return TN_OK;                                                                                        \
    }                                                                                                        \
    static const void *plugin_interface(const char *name) {                                                  \
        return strcmp(name, TN_FORMAT_1) == 0 ? &(table) : NULL;                                             \
    }                                                                                                        \
    TN_PLUGIN(id, "0.1.0", "Apache-2.0", 0, plugin_open, NULL, plugin_interface)

/** The TN_ISA_* bits that an encoder may use; 0 for a plugin that was not opened. */
static inline uint64_t tn_encode_isa(const void *self) {
    return self ? ((const tn_host *)self)->isa : 0;
}

/** Whether no number is infinite or a NaN; without an early end, so that it is compiled to vectors. */
static inline int tn_all_finite(const float *x, uint64_t count) {
    int32_t largest = 0;
    for (uint64_t i = 0; i < count; i++) {
        int32_t size = (int32_t)(tn_bits_of_float(x[i]) & 0x7fffffff);
        largest = size > largest ? size : largest;
    }
    return largest < 0x7f800000;
}

/**
 * [any] TN_E_INPUT if a number of x is not finite, or of `importance` (may be NULL) negative or not finite.
 */
static inline int32_t tn_encode_check(const float *x, uint64_t rows, uint64_t cols, const float *importance,
                                      tn_error *err) {
    for (uint64_t c = 0; importance && c < cols; c++) {
        if (!(importance[c] >= 0 && isfinite(importance[c]))) {
            TN_FAIL(err, TN_E_INPUT, "importance of column %" PRIu64 " is %g; expected a finite number >= 0",
                    c, (double)importance[c]);
        }
    }
    for (uint64_t r = 0; r < rows; r++, x += cols) {
        for (uint64_t c = 0; !tn_all_finite(x, cols) && c < cols; c++) {
            if (!isfinite(x[c])) {
                TN_FAIL(err, TN_E_INPUT,
                        "row %" PRIu64 ", column %" PRIu64 " is %g; only finite numbers can be encoded", r, c,
                        (double)x[c]);
            }
        }
    }
    return TN_OK;
}

/** Fails with TN_E_RANGE: the numbers from (row, column) on need a scale (or are) beyond binary16. */
static inline int32_t tn_encode_overflow(uint64_t row, uint64_t column, float value, tn_error *err) {
    return tn_fail(
        err, TN_E_RANGE,
        "row %" PRIu64 ", from column %" PRIu64
        ": %g is too large: it, or the scale of its block, would be beyond 65504, the largest binary16",
        row, column, (double)value);
}

#endif
