/*
 * broken_plugin.c - a small format plugin with one fault, or with none. Each fault is switched on by one
 * macro from CMakeLists.txt; broken_test.c says how each must be refused.
 */
#include "tenon/plugin.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef ABI_MAJOR
#define ABI_MAJOR TN_ABI_MAJOR
#endif
#ifndef MIN_MINOR
#define MIN_MINOR 0
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(tn_plugin)
#endif
#ifndef ID
#define ID "format.broken"
#endif
#ifndef VERSION
#define VERSION "1.0.0"
#endif
#ifndef LICENSE
#define LICENSE "Apache-2.0"
#endif
#ifndef STRUCT_COUNT
#define STRUCT_COUNT TN_STRUCT_COUNT
#endif
#ifndef TYPE
#define TYPE 250
#endif
#ifndef NAME
#define NAME "BROKEN"
#endif
#ifndef BLOCK
#define BLOCK 1
#endif
#ifndef BLOCK_BYTES
#define BLOCK_BYTES 4
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(tn_format)
#endif
#ifndef IMPORTANCE
#define IMPORTANCE TN_IMPORTANCE_IGNORED
#endif
#ifndef OPEN
#define OPEN open_plugin
#endif
#ifndef INTERFACE
#define INTERFACE interface
#endif
#ifndef CHECK
#define CHECK check
#endif
#ifndef DECODE
#define DECODE decode
#endif

/* Kernels: the members that a fault changes. */
#ifndef KERNEL_SIZE
#define KERNEL_SIZE sizeof(tn_format_kernel)
#endif
#ifndef KERNEL_KIND
#define KERNEL_KIND TN_KERNEL_GEMV
#endif
#ifndef KERNEL_FORM
#define KERNEL_FORM TN_FORM_F32
#endif
#ifndef KERNEL_GROUP
#define KERNEL_GROUP 0
#endif
#ifndef KERNEL_ROWS
#define KERNEL_ROWS 8
#endif
#ifndef KERNEL_GEMV
#define KERNEL_GEMV gemv
#endif
#ifndef KERNEL_UNPACK
#define KERNEL_UNPACK NULL
#endif
#ifndef KERNEL_NAME
#define KERNEL_NAME "broken gemv f32"
#endif
#ifndef KERNEL
#define KERNEL &kernel
#endif
#ifndef KERNELS
#define KERNELS kernels
#endif
#ifndef COMPANION_SUFFIX
#define COMPANION_SUFFIX ".scale"
#endif
#ifndef COMPANION_ROLE
#define COMPANION_ROLE TN_COMPANION_SCALE
#endif

static void crash(void) {
    raise(SIGSEGV);
}

#if defined(CONSTRUCTOR_CRASHES) || defined(CONSTRUCTOR_ABORTS) || defined(CONSTRUCTOR_EXITS)
__attribute__((constructor)) static void construct(void) {
#if defined(CONSTRUCTOR_CRASHES)
    crash();
#elif defined(CONSTRUCTOR_ABORTS)
    abort();
#else
    _exit(7);
#endif
}
#endif

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    memcpy(out, blocks, count * sizeof *out);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self, (void)blocks, (void)block_count, (void)bad;
    return TN_OK;
}

static void gemv(const tn_gemv *call) {
    (void)call;
}

static void unpack(const tn_unpack *call) {
    (void)call;
}

static const tn_format_kernel kernel = {.struct_size = KERNEL_SIZE,
                                        .kind = KERNEL_KIND,
                                        .form = KERNEL_FORM,
                                        .max_rows = KERNEL_ROWS,
                                        .group = KERNEL_GROUP,
                                        .name = KERNEL_NAME,
                                        .gemv = KERNEL_GEMV,
                                        .unpack = KERNEL_UNPACK};
static const tn_format_kernel *const kernels[] = {KERNEL};
static const tn_companion companion = {
    .struct_size = sizeof(tn_companion), .role = COMPANION_ROLE, .suffix = COMPANION_SUFFIX};
static const tn_companion *const companions[] = {&companion};

static const tn_format format = {.struct_size = TABLE_SIZE,
                                 .type = TYPE,
                                 .name = NAME,
                                 .block = BLOCK,
                                 .block_bytes = BLOCK_BYTES,
                                 .importance = IMPORTANCE,
                                 .decode = DECODE,
                                 .check = CHECK,
                                 .kernel_count = 1,
                                 .companion_count = 1,
                                 .kernels = KERNELS,
                                 .companions = companions};

#if defined(GROUP_TORN) || defined(INTERFACE_UNSAID)
/* A second group of functions, of which some are missing. */
static void vocab(void *self, const void *tokenizer, tn_vocab *out) {
    (void)self, (void)tokenizer, (void)out;
}
static const tn_tokenizer tokenizer = {.struct_size = sizeof(tn_tokenizer), .vocab = vocab};
#endif

static const void *interface(const char *name) {
#if defined(INTERFACE_CRASHES)
    crash();
#elif defined(INTERFACE_MISSING)
    return NULL;
#elif defined(INTERFACE_ANY)
    return &format;
#elif defined(INTERFACE_PREFIX)
    return strncmp(name, TN_FORMAT_1, strlen(TN_FORMAT_1)) == 0 ? &format : NULL;
#elif defined(INTERFACE_MOVES)
    static tn_format copies[2];
    static int calls;
    copies[calls & 1] = format;
    return strcmp(name, TN_FORMAT_1) == 0 ? &copies[calls++ & 1] : NULL;
#elif defined(GROUP_TORN) || defined(INTERFACE_UNSAID)
    if (strcmp(name, TN_TOKENIZER_1) == 0) { return &tokenizer; }
#endif
    return strcmp(name, TN_FORMAT_1) == 0 ? &format : NULL;
}

#if defined(SYMBOL_UNDEFINED)
void nobody_has_this(void);
#endif

static int32_t open_plugin(const tn_host *host, void **self, tn_error *err) {
    (void)host, (void)err;
#if defined(OPEN_CRASHES)
    crash();
#elif defined(OPEN_EXITS)
    exit(0);
#elif defined(OPEN_HANGS)
    for (;;) { sleep(1000); }
#elif defined(OPEN_FAILS)
    TN_FAIL(err, TN_E_MEMORY, "the device\nis on fire");
#elif defined(OPEN_FAILS_SILENTLY)
    return TN_E_FAILED;
#elif defined(SYMBOL_UNDEFINED)
    nobody_has_this();
#endif
    *self = NULL;
    return TN_OK;
}

static void close_plugin(void *self) {
    (void)self;
#if defined(CLOSE_CRASHES)
    crash();
#endif
}

#if defined(SYMBOL_SECOND)
TN_EXPORT extern const int second;
const int second = 1;
#endif

#if defined(SIZE_SMALL)
static const uint32_t sizes[TN_STRUCT_COUNT] = {8};
#elif defined(SIZES_NULL)
#define sizes NULL
#else
static const uint32_t sizes[] = {TN_STRUCTS(TN_STRUCT_SIZEOF)};
#endif

#if defined(SYMBOL_FUNCTION) || defined(SYMBOL_MISSING)
#define tenon_plugin tenon_plugin_
#endif
extern TN_EXPORT const tn_plugin tenon_plugin;
const tn_plugin tenon_plugin = {PLUGIN_SIZE, ABI_MAJOR, MIN_MINOR, TN_ABI_MINOR, STRUCT_COUNT, 0, sizes, ID,
                                VERSION,     LICENSE,   OPEN,      close_plugin, INTERFACE};
#if defined(SYMBOL_FUNCTION)
#undef tenon_plugin
TN_EXPORT void tenon_plugin_function(void) __asm__("tenon_plugin");
void tenon_plugin_function(void) {}
#endif

/* So that no fault leaves something unused behind. */
__attribute__((unused)) static void *const all[] = {(void *)crash,   (void *)decode,   (void *)check,
                                                    (void *)gemv,    (void *)unpack,   (void *)open_plugin,
                                                    (void *)kernels, (void *)interface};
