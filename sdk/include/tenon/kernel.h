/*
 * tenon/kernel.h - interface "tenon.kernel/1-draft": kernels for a backend that someone else wrote.
 *
 * The way of out-of-tree code to make an existing backend faster for a format, or to teach it a `custom` op.
 * A manifest names the backend ("cpu") and each op or format that the plugin serves. Kernels for a format
 * follow the rule of summing in tenon/format.h; the conformance checker holds them to it.
 */
#ifndef TENON_KERNEL_H
#define TENON_KERNEL_H

#include "tenon/graph.h"

TN_BEGIN_C

#define TN_KERNEL_1 "tenon.kernel/1-draft"

/** Rows of a custom op: row i of out from row i of each input. */
typedef struct tn_kernel_call {
    uint32_t struct_size;
    uint32_t input_count;
    const float *const *inputs;
    const uint64_t *input_strides; /**< floats from row to row */
    const uint32_t *input_widths;
    const tn_weight *const *weights; /**< NULL entries: none */
    uint32_t weight_count;
    uint32_t width;            /**< of a result row */
    uint64_t row_from, row_to; /**< the rows of this call: a slice */
    float *out;
    uint64_t out_stride; /**< floats from row to row */
    const void *params;
    uint64_t params_size;
} tn_kernel_call;

/** One kernel: for a custom op or more kernels for a format. */
typedef struct tn_kernel {
    uint32_t struct_size;
    uint32_t type;      /**< GGUF type number that `format_kernel` is for; unused with a custom op */
    uint64_t isa;       /**< TN_ISA_* bits that must all be there */
    const char *custom; /**< id of the custom op it serves, or NULL */
    void (*rows)(void *self, const tn_kernel_call *call); /**< [compute] of the custom op */
    const tn_format_kernel *format_kernel; /**< or a kernel for a format; the other one is NULL */
} tn_kernel;

typedef struct tn_kernels {
    uint32_t struct_size;
    uint32_t count;
    const char *backend; /**< "cpu" */
    const tn_kernel *const *kernels;
} tn_kernels;

TN_END_C
#endif
