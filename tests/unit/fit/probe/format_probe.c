/* format_probe.c - a format of plain floats in blocks of 4 that brings a scale and an optional, unused input
 * scale. */
#include "tenon/plugin.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    memcpy(out, blocks, count * sizeof *out);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self, (void)blocks, (void)block_count, (void)bad;
    return TN_OK;
}

static const tn_companion scale = {
    .struct_size = sizeof scale, .role = TN_COMPANION_SCALE, .suffix = ".scale"};
static const tn_companion input_scale = {.struct_size = sizeof input_scale,
                                         .role = TN_COMPANION_INPUT_SCALE,
                                         .suffix = ".input_scale",
                                         .optional = 1};
static const tn_companion *const companions[] = {&scale, &input_scale};

static const tn_format format = {.struct_size = sizeof format,
                                 .type = 3000,
                                 .name = "PROBE",
                                 .block = 4,
                                 .block_bytes = 16,
                                 .decode = decode,
                                 .check = check,
                                 .companion_count = 2,
                                 .companions = companions};

static int32_t open(const tn_host *host, void **self, tn_error *err) {
    (void)host, (void)err;
    *self = NULL;
    return TN_OK;
}

static const void *interface(const char *name) {
    return strcmp(name, TN_FORMAT_1) == 0 ? &format : NULL;
}

TN_PLUGIN("format.probe", "0.1.0", "Apache-2.0", 0, open, NULL, interface);
