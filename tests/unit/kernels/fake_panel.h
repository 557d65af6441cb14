/*
 * fake_panel.h - formats made for tests of the matrix product: p8 panels of any group, p16 panels, plain floats.
 *
 * A block of a p8 fake is a float scale, a float minimum and `group` codes, so that tests can give any
 * numbers to a kernel and read them back without decoding. One of a p16 fake has 256 codes and, before them, a
 * sub-scale and a minimum's code for each `sub_group` columns.
 */
#ifndef TENON_TEST_FAKE_PANEL_H
#define TENON_TEST_FAKE_PANEL_H

#include "tenon/format.h"

typedef struct fake_format {
    uint32_t group;     /* columns of a block; 0: floats */
    uint32_t sub_group; /* p16, else 0 */
    uint32_t has_minimum;
    tn_format_kernel unpack;
} fake_format;

/* Groups 16, 32, 64, 128, 256, without and with minimums; p16 of 16 and 32, likewise; then floats (group 0). */
extern const fake_format fake_formats[];
extern const uint32_t fake_format_count;

uint64_t fake_row_bytes(const fake_format *format, uint64_t cols);
/* Writes group number `index` of a row; sub-scales and minimum codes are any numbers made of the codes. */
void fake_put(const fake_format *format, void *row, uint64_t index, float scale, float minimum,
              const int8_t *codes);
/* One result by the rule of summing of tenon/format.h, step by step. */
float fake_rule(const fake_format *format, const void *row, uint64_t cols, const tn_act *act,
                uint64_t act_row);

#endif
