/*
 * format_cases.h - for the tests of formats: the built plugins, the golden cases of tests/data/formats, and
 * which kernels this machine can run.
 */
#ifndef FORMAT_CASES_H
#define FORMAT_CASES_H

#include "tenon/format.h"

#include <jansson.h>

extern const char *const format_names[]; /* "f32" ..., NULL at the end */

/* The table of a plugin, opened as the host opens it; aborts the test if it is not there. */
const tn_format *format_open(const char *name);

/* The `self` of a plugin opened by a host that allows these instruction sets, for encoders choose by them. */
void *format_self(const char *name, uint64_t isa);

/* Golden data of one type: its entry in index.json and its file. */
typedef struct format_golden {
    json_t *index, *type;
    uint8_t *data, *shared;
} format_golden;

format_golden format_golden_open(const tn_format *format);
void format_golden_close(format_golden *golden);

/* The bytes that the pair [offset, length] under `key` names in the type's file (`shared`: in shared.bin). */
const void *golden_bytes(const format_golden *golden, const json_t *entry, const char *key);
const void *golden_shared(const format_golden *golden, const char *name, const char *under);
/* Calls fn for each case of a kind; returns how many there were. */
int golden_each(const format_golden *golden, const char *kind,
                void (*fn)(const tn_format *, const format_golden *, json_t *), const tn_format *format);

/* The TN_ISA_* bits of this machine that kernels here ask for. */
uint64_t machine_isa(void);

/* A simple generator of repeatable numbers. */
uint64_t random_bits(uint64_t *state);
float random_float(uint64_t *state); /* -1 .. 1 */

/* `bytes` bytes that end where a page that cannot be touched begins. */
typedef struct guarded {
    uint8_t *at, *map;
    size_t bytes, length;
} guarded;
guarded guarded_new(size_t bytes);
void guarded_free(guarded *g);

/* Equal bits, or both NaN. */
int same_float(float a, float b);

/* Where the binary16 scales (and minimums) lie in a block. */
const uint32_t *format_scales(const tn_format *format, uint32_t *count);
/* Whether its panels have minimums: w = scale * code + minimum. */
int format_has_minimums(const tn_format *format);

/* Random blocks whose scales are finite and moderate. */
void random_blocks(const tn_format *format, uint64_t blocks, uint64_t *state, uint8_t *out);

#endif
