/* unpack_wide.h - unpacking of types whose blocks have one scale, given how a block is taken apart. */
#ifndef TENON_UNPACK_WIDE_H
#define TENON_UNPACK_WIDE_H

#include "blocks.h"

/** Codes and scale of a block. */
typedef void tn_unpack_block(const uint8_t *block, int8_t *codes, float *scale);

TN_INLINE void tn_unpack_wide(const tn_unpack *call, tn_shape shape, tn_unpack_block *unpack) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block = (const uint8_t *)call->blocks + r * call->row_stride;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        block += call->col_from / shape.block * shape.bytes;
        for (uint64_t col = call->col_from; col < call->col_to; col += shape.block) {
            unpack(block, codes, scales++);
            block += shape.bytes;
            codes += shape.block;
        }
    }
}

#endif
