/*
 * tenon/abi.h - the rules that hold for everything that crosses between the host and a plugin.
 *
 * Every struct that crosses starts with `uint32_t struct_size`, holds fixed-width integers, floats and
 * pointers only (no enum, bool, long, bit-field, nor a struct passed by value), and grows at its end.
 * A reader looks at a member only after TN_HAS(); it never compares sizes for equality. What a writer
 * stamps is the negotiated size, TN_STAMP(): the smaller of what it and its reader were compiled with.
 * Where a member that the reader does not know would change a result, zero means "as before" and the
 * host refuses to pass a struct that is not zero beyond what the reader can see.
 *
 * Thread tags. Every function of the ABI carries one:
 *   [load]     on the one thread that opens plugins, fits and loads models; never two at once an engine
 *   [any]      on any thread, many at once; no locks are held by the caller
 *   [compute]  on the workers of the host's pool, many at once; must not block, allocate or log
 *
 * Strings are UTF-8, end in NUL, and belong to whoever handed them out; each place says for how long
 * they live. Who allocates frees: a pointer from malloc never crosses.
 */
#ifndef TENON_ABI_H
#define TENON_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TN_BEGIN_C extern "C" {
#define TN_END_C }
#else
#define TN_BEGIN_C
#define TN_END_C
#endif

/** The version of this ABI. Majors must be equal; a plugin names the smallest host minor it can do with. */
#define TN_ABI_MAJOR 1u
#define TN_ABI_MINOR 0u

#define TN_EXPORT __attribute__((visibility("default")))
#define TN_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))

/** True if the writer of *p knew `member`: the only way to look at a member added after 1.0. */
#define TN_HAS(p, member) ((p)->struct_size >= offsetof(__typeof__(*(p)), member) + sizeof((p)->member))

/**
 * All codes: X(name, number, text, exit status). A function of the ABI returns TN_OK or one of these and,
 * where it takes a tn_error, puts what happened into it. Numbers and texts are stable; new ones are added
 * at the end of their hundred. Exit statuses are those of the `tenon` program: 1 failed while working,
 * 2 wrong input, 3 model or plugin refused.
 */
#define TN_CODES(X)                                                                                          \
    X(TN_OK, 0, "ok", 0)                                                                                     \
    /* failed while working */                                                                               \
    X(TN_E_FAILED, 1, "failed", 1)                                                                           \
    X(TN_E_MEMORY, 2, "memory", 1)                                                                           \
    X(TN_E_IO, 3, "io", 1)                                                                                   \
    X(TN_E_CANCELLED, 4, "cancelled", 1)                                                                     \
    X(TN_E_BUG, 5, "bug", 1)                                                                                 \
    X(TN_E_NOT_FOUND, 6, "not.found", 1)                                                                     \
    /* wrong input */                                                                                        \
    X(TN_E_INPUT, 100, "input.invalid", 2)                                                                   \
    X(TN_E_RANGE, 101, "input.range", 2)                                                                     \
    X(TN_E_CONTEXT, 102, "context.full", 2)                                                                  \
    /* a file refused */                                                                                     \
    X(TN_E_FILE_DAMAGED, 200, "file.damaged", 3)                                                             \
    X(TN_E_FILE_VERSION, 201, "file.version", 3)                                                             \
    X(TN_E_FILE_KIND, 202, "file.kind", 3)                                                                   \
    X(TN_E_FILE_SPLIT, 203, "file.split", 3)                                                                 \
    X(TN_E_ARCH_UNKNOWN, 210, "arch.unknown", 3)                                                             \
    X(TN_E_ARCH_REFUSED, 211, "arch.refused", 3)                                                             \
    X(TN_E_FORMAT_UNKNOWN, 212, "format.unknown", 3)                                                         \
    X(TN_E_FORMAT_REFUSED, 213, "format.refused", 3)                                                         \
    X(TN_E_TOKENIZER_UNKNOWN, 214, "tokenizer.unknown", 3)                                                   \
    X(TN_E_TOKENIZER_PRE, 215, "tokenizer.pre.unknown", 3)                                                   \
    X(TN_E_TOKENIZER_INVALID, 216, "tokenizer.invalid", 3)                                                   \
    X(TN_E_TENSOR_MISSING, 220, "tensor.missing", 3)                                                         \
    X(TN_E_TENSOR_UNREAD, 221, "tensor.unread", 3)                                                           \
    X(TN_E_TENSOR_SHAPE, 222, "tensor.shape", 3)                                                             \
    X(TN_E_PARAM_MISSING, 230, "param.missing", 3)                                                           \
    X(TN_E_PARAM_TYPE, 231, "param.type", 3)                                                                 \
    X(TN_E_PARAM_INVALID, 232, "param.invalid", 3)                                                           \
    X(TN_E_PARAM_UNSUPPORTED, 233, "param.unsupported", 3)                                                   \
    X(TN_E_OP_UNSUPPORTED, 240, "op.unsupported", 3)                                                         \
    X(TN_E_GRAPH, 241, "graph.invalid", 3)                                                                   \
    /* a plugin refused */                                                                                   \
    X(TN_E_PLUGIN_MISSING, 300, "plugin.missing", 3)                                                         \
    X(TN_E_PLUGIN_UNTRUSTED, 301, "plugin.untrusted", 3)                                                     \
    X(TN_E_PLUGIN_MANIFEST, 302, "plugin.manifest", 3)                                                       \
    X(TN_E_PLUGIN_HASH, 303, "plugin.hash", 3)                                                               \
    X(TN_E_PLUGIN_ABI, 304, "plugin.abi", 3)                                                                 \
    X(TN_E_PLUGIN_ISA, 305, "plugin.isa", 3)                                                                 \
    X(TN_E_PLUGIN_BROKEN, 306, "plugin.broken", 3)                                                           \
    X(TN_E_PLUGIN_DUPLICATE, 307, "plugin.duplicate", 3)

enum {
#define TN_CODE_ENUM(name, number, text, status) name = number,
    TN_CODES(TN_CODE_ENUM)
#undef TN_CODE_ENUM
};

/**
 * What went wrong, in words. The caller owns it and stamps struct_size; the callee fills code and text
 * (whole UTF-8 characters, NUL at the end, no newline, no path of a plugin). A function that fails
 * without a text gets one from the host.
 */
typedef struct tn_error {
    uint32_t struct_size;
    int32_t code;
    char text[1016];
} tn_error;

/** Instruction sets, as bits: what a kernel needs, what the host found usable (and TENON_ISA left over). */
#define TN_ISA_AVX2 (1ull << 0)        /* AVX2, FMA, F16C, BMI1, BMI2 */
#define TN_ISA_AVX512 (1ull << 1)      /* F, BW, DQ, VL, CD */
#define TN_ISA_AVX512_VNNI (1ull << 2) /* with AVX512 */
#define TN_ISA_AVX512_VBMI (1ull << 3)
#define TN_ISA_AVX512_BF16 (1ull << 4)
#define TN_ISA_AVX_VNNI (1ull << 5) /* the 256-bit VEX form */
#define TN_ISA_GFNI (1ull << 6)
#define TN_ISA_AMX_INT8 (1ull << 7) /* with the kernel's permission for every thread of the pool */
#define TN_ISA_AMX_BF16 (1ull << 8)
#define TN_ISA_NEON_DOT (1ull << 16)
#define TN_ISA_NEON_I8MM (1ull << 17)

/* Names of the bits as manifests write them, in the order of the bits: X(name, bit). */
#define TN_ISA_NAMES(X)                                                                                      \
    X("avx2", TN_ISA_AVX2)                                                                                   \
    X("avx512", TN_ISA_AVX512)                                                                               \
    X("avx512_vnni", TN_ISA_AVX512_VNNI)                                                                     \
    X("avx512_vbmi", TN_ISA_AVX512_VBMI)                                                                     \
    X("avx512_bf16", TN_ISA_AVX512_BF16)                                                                     \
    X("avx_vnni", TN_ISA_AVX_VNNI)                                                                           \
    X("gfni", TN_ISA_GFNI)                                                                                   \
    X("amx_int8", TN_ISA_AMX_INT8)                                                                           \
    X("amx_bf16", TN_ISA_AMX_BF16)                                                                           \
    X("neon_dot", TN_ISA_NEON_DOT)                                                                           \
    X("neon_i8mm", TN_ISA_NEON_I8MM)

/**
 * Every struct of the ABI, in the order of its number. A plugin carries a table of the sizes that it was
 * compiled with (TN_PLUGIN makes it), the host shows its own; so both sides know the negotiated size of
 * each struct in each direction. Appended to, never reordered; the frozen layout file lists the same.
 */
#define TN_STRUCTS(X)                                                                                        \
    X(tn_error)                                                                                              \
    X(tn_host)                                                                                               \
    X(tn_plugin)                                                                                             \
    X(tn_kv)                                                                                                 \
    X(tn_meta)                                                                                               \
    X(tn_reason)                                                                                             \
    X(tn_report)                                                                                             \
    X(tn_act)                                                                                                \
    X(tn_gemv)                                                                                               \
    X(tn_unpack)                                                                                             \
    X(tn_blend)                                                                                              \
    X(tn_format_kernel)                                                                                      \
    X(tn_companion)                                                                                          \
    X(tn_format)                                                                                             \
    X(tn_vocab)                                                                                              \
    X(tn_encode)                                                                                             \
    X(tn_tokenizer)                                                                                          \
    X(tn_facts)                                                                                              \
    X(tn_claim)                                                                                              \
    X(tn_claims)                                                                                             \
    X(tn_build)                                                                                              \
    X(tn_arch)                                                                                               \
    X(tn_embed)                                                                                              \
    X(tn_input)                                                                                              \
    X(tn_norm)                                                                                               \
    X(tn_linear)                                                                                             \
    X(tn_split)                                                                                              \
    X(tn_rope)                                                                                               \
    X(tn_attend)                                                                                             \
    X(tn_act_op)                                                                                             \
    X(tn_glu)                                                                                                \
    X(tn_route)                                                                                              \
    X(tn_experts)                                                                                            \
    X(tn_scale)                                                                                              \
    X(tn_mark)                                                                                               \
    X(tn_pool)                                                                                               \
    X(tn_output)                                                                                             \
    X(tn_custom)                                                                                             \
    X(tn_node)                                                                                               \
    X(tn_value)                                                                                              \
    X(tn_weight)                                                                                             \
    X(tn_graph)                                                                                              \
    X(tn_builder)                                                                                            \
    X(tn_choice)                                                                                             \
    X(tn_limits)                                                                                             \
    X(tn_memory)                                                                                             \
    X(tn_place)                                                                                              \
    X(tn_compile)                                                                                            \
    X(tn_cache_group)                                                                                        \
    X(tn_sequence)                                                                                           \
    X(tn_capture)                                                                                            \
    X(tn_step)                                                                                               \
    X(tn_backend)                                                                                            \
    X(tn_kernel_call)                                                                                        \
    X(tn_kernel)                                                                                             \
    X(tn_kernels)

enum {
#define TN_STRUCT_ENUM(name) TN_STRUCT_##name,
    TN_STRUCTS(TN_STRUCT_ENUM)
#undef TN_STRUCT_ENUM
        TN_STRUCT_COUNT
};

#endif
