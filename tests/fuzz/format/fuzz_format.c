/*
 * fuzz_format.c - any bytes at all as blocks and as numbers: byte 0 chooses the format, byte 1 the rows and
 * whether importance is given. The rest is first taken for blocks, which must decode, and multiply to the
 * same bits on every instruction set; then for floats, whose encoding must be refused or be sound.
 */
#include "format_cases.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds, const char *what, const char *name) {
    if (!holds) {
        fprintf(stderr, "%s: %s\n", name, what);
        abort();
    }
}

static void *room(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(memory, 0, (bytes + 127) / 64 * 64);
    return memory;
}

/* Two activation rows that are any codes and floats. */
static tn_act make_act(uint64_t cols, uint32_t form) {
    uint64_t state = cols + 1, stride = (cols * (form == TN_FORM_F32 ? 4 : 1) + 63) / 64 * 64;
    int8_t *codes = room(2 * stride);
    float *scales = room(2 * cols / 32 * 4);
    int16_t *sums = room(2 * cols / 16 * 2);
    for (uint64_t i = 0; form == TN_FORM_F32 && i < 2 * stride / 4; i++) {
        ((float *)codes)[i] = random_float(&state);
    }
    for (uint64_t i = 0; form != TN_FORM_F32 && i < 2 * cols; i++) {
        codes[i / cols * stride + i % cols] = (int8_t)(random_bits(&state) % 255 - 127);
        sums[i / 16] = (int16_t)(sums[i / 16] + codes[i / cols * stride + i % cols]);
    }
    for (uint64_t i = 0; i < 2 * cols / 32; i++) { scales[i] = random_float(&state); }
    return (tn_act){.struct_size = sizeof(tn_act),
                    .form = form,
                    .rows = 2,
                    .cols = cols,
                    .data = codes,
                    .stride = stride,
                    .scales = scales,
                    .scale_stride = cols / 32,
                    .sums = sums,
                    .sum_stride = cols / 16};
}

static void multiply(const tn_format *format, const uint8_t *blocks, uint64_t rows, uint64_t cols) {
    uint64_t stride = cols / format->block * format->block_bytes;
    float *want = room(2 * rows * 4), *got = room(2 * rows * 4);
    for (uint32_t k = 0, seen = 0; k < format->kernel_count; k++) {
        const tn_format_kernel *kernel = format->kernels[k];
        if (kernel->kind != TN_KERNEL_GEMV || (machine_isa() & kernel->isa) != kernel->isa) { continue; }
        tn_act act = make_act(cols, kernel->form);
        tn_gemv call = {.struct_size = sizeof call,
                        .act_rows = 2,
                        .blocks = blocks,
                        .row_stride = stride,
                        .rows = rows,
                        .cols = cols,
                        .act = &act,
                        .out = seen ? got : want,
                        .out_stride = rows};
        kernel->gemv(&call);
        for (uint64_t i = 0; seen && i < 2 * rows; i++) {
            require(same_float(got[i], want[i]), "other bits", kernel->name);
        }
        seen = 1;
        free((void *)act.data);
        free((void *)act.scales);
        free((void *)act.sums);
    }
    free(want);
    free(got);
}

static void encode(const tn_format *format, const float *x, uint64_t rows, uint64_t cols,
                   int with_importance) {
    uint64_t blocks = rows * cols / format->block, bad = 0;
    uint8_t *enc = malloc(blocks * format->block_bytes + 1);
    tn_error err = {.struct_size = sizeof err};
    if (format->encode(NULL, x, rows, cols, with_importance ? x : NULL, enc, &err) == TN_OK) {
        require(format->check(NULL, enc, blocks, &bad) == TN_OK, "wrote a block that its check refuses",
                format->name);
    } else {
        require(err.text[0] != 0, "refused without words", format->name);
    }
    free(enc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) { return 0; }
    uint32_t formats = 0;
    while (format_names[formats]) { formats++; }
    const tn_format *format = format_open(format_names[data[0] % formats]);
    uint64_t rows = data[1] % 20 + 1, unit = format->block < 32 ? 32 : format->block, bad;
    uint64_t per_unit = unit / format->block * format->block_bytes, units = (size - 2) / per_unit / rows;
    if (units) {
        uint64_t cols = units * unit, bytes = rows * units * per_unit;
        uint8_t *blocks = malloc(bytes); /* of just this size, for the sanitizer to watch */
        float *out = malloc(rows * cols * sizeof *out);
        memcpy(blocks, data + 2, bytes);
        format->decode(NULL, blocks, rows * cols, out);
        format->check(NULL, blocks, rows * cols / format->block, &bad);
        multiply(format, blocks, rows, cols);
        free(out);
        free(blocks);
    }
    units = (size - 2) / 4 / unit / rows;
    float *x = malloc(rows * units * unit * sizeof *x + 1);
    memcpy(x, data + 2, rows * units * unit * sizeof *x);
    if (format->encode) { encode(format, x, rows, units * unit, data[1] >= 128); }
    free(x);
    return 0;
}
