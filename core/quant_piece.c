/* quant_piece.c - cuts, decodes, looks at and encodes: see quant_piece.h. */
#include "quant_piece.h"

#include "gguf_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PIECE_ELEMENTS = 1 << 17, /* floats of a piece fit into the second-level cache */
    COPY_BYTES = 1 << 20
};

/* ---- cutting ------------------------------------------------------------------------------------------- */

static uint64_t common_multiple(uint64_t a, uint64_t b) {
    uint64_t x = a, y = b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Columns of a piece: all of a row, or, of a long one, whole blocks of both types. */
static uint64_t piece_columns(const tn_gguf_tensor *source, const tn_conversion *conversion) {
    if (source->dims[0] <= PIECE_ELEMENTS) { return source->dims[0]; }
    uint64_t unit = common_multiple(conversion->from.format->block, conversion->to.format->block);
    uint64_t units = PIECE_ELEMENTS / unit;
    return units ? units * unit : unit;
}

static uint64_t piece_rows(const tn_gguf_tensor *source, uint64_t columns) {
    uint64_t rows = PIECE_ELEMENTS / columns;
    return columns < source->dims[0] || rows == 0 ? 1 : rows < source->dims[1] ? rows : source->dims[1];
}

static uint64_t bytes_of(const tn_format *format, uint64_t elements) {
    return elements / format->block * format->block_bytes;
}

static void next_rows(const tn_quantize_plan *plan, tn_piece_cursor *at, tn_piece *out) {
    const tn_gguf_tensor *source = plan->tensors[at->tensor].source;
    const tn_conversion *conversion = &plan->conversions[at->tensor];
    uint64_t columns = piece_columns(source, conversion), left = source->dims[0] - at->column;
    uint64_t rows = piece_rows(source, columns), in_matrix = source->dims[1] - at->at % source->dims[1];
    if (columns > left) { columns = left; }
    if (rows > in_matrix) { rows = in_matrix; }
    *out = (tn_piece){at->tensor, at->at, rows, at->column, columns, NULL, 0, 0};
    const tn_format *from = conversion->from.format;
    out->from = (const unsigned char *)source->data + bytes_of(from, at->at * source->dims[0] + at->column);
    out->from_size = bytes_of(from, rows * columns);
    out->size = bytes_of(conversion->to.format, rows * columns);
    at->column += columns;
    if (at->column == source->dims[0]) {
        at->column = 0;
        at->at += rows;
    }
}

static void next_bytes(const tn_quantize_plan *plan, tn_piece_cursor *at, tn_piece *out) {
    const tn_quantize_tensor *tensor = &plan->tensors[at->tensor];
    const tn_gguf_tensor *source = tensor->source;
    uint64_t left = tensor->size - at->at, size = left < COPY_BYTES ? left : COPY_BYTES;
    const unsigned char *data = plan->file->shards[source->file].data + source->offset;
    *out = (tn_piece){at->tensor, 0, 0, 0, 0, data + at->at, size, size};
    at->at += size;
}

static int is_done(const tn_quantize_plan *plan, const tn_piece_cursor *at) {
    const tn_quantize_tensor *tensor = &plan->tensors[at->tensor];
    switch (tensor->what) {
    case TN_QUANTIZE_LEFT: return at->at == tensor->size;
    case TN_QUANTIZE_CONVERTED: return at->at == tensor->source->elements / tensor->source->dims[0];
    default: return 1;
    }
}

int tn_piece_next(const tn_quantize_plan *plan, tn_piece_cursor *at, tn_piece *out) {
    while (at->tensor < plan->count && is_done(plan, at)) {
        *at = (tn_piece_cursor){.tensor = at->tensor + 1};
    }
    if (at->tensor == plan->count) { return 0; }
    if (plan->tensors[at->tensor].what == TN_QUANTIZE_CONVERTED) {
        next_rows(plan, at, out);
    } else {
        next_bytes(plan, at, out);
    }
    return 1;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

void tn_piece_measure(const tn_quantize_plan *plan, tn_piece_needs *out) {
    *out = (tn_piece_needs){1, 1, 1};
    for (uint64_t i = 0; i < plan->count; i++) {
        const tn_gguf_tensor *source = plan->tensors[i].source;
        if (plan->tensors[i].what != TN_QUANTIZE_CONVERTED) { continue; }
        uint64_t columns = piece_columns(source, &plan->conversions[i]);
        uint64_t elements = columns * piece_rows(source, columns);
        out->numbers = larger(out->numbers, elements);
        out->bytes = larger(out->bytes, bytes_of(plan->conversions[i].to.format, elements));
        if (plan->conversions[i].importance) { out->importance = larger(out->importance, columns); }
    }
}

/* ---- pages --------------------------------------------------------------------------------------------- */

int32_t tn_piece_fetch(const tn_quantize_plan *plan, const tn_piece *piece, tn_error *err) {
    return tn_gguf_tensor_fetch(plan->tensors[piece->tensor].source, piece->from, piece->from_size, err);
}

void tn_piece_release(const tn_piece *piece) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)piece->from & ~(page - 1);
    size_t size = (uintptr_t)piece->from + piece->from_size - from;
    madvise((void *)from, size, MADV_DONTNEED); /* of a file's pages: it only forgets where they are */
}

/* ---- converting ---------------------------------------------------------------------------------------- */

/* The first number that is infinite or none, or `count`: exponents of all ones. Looks at all of them at first,
 * without a branch, as there is hardly ever one. */
static uint64_t find_not_finite(const float *x, uint64_t count) {
    const uint32_t exponent = 0x7f800000;
    uint32_t most = 0, bits;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(&bits, &x[i], sizeof bits);
        bits &= exponent;
        most = bits > most ? bits : most;
    }
    if (most < exponent) { return count; }
    uint64_t i = 0;
    while (isfinite(x[i])) { i++; }
    return i;
}

enum { MATRIX_NAME = 32 };

static const char *name_matrix(const tn_gguf_tensor *source, const tn_piece *piece, char out[MATRIX_NAME]) {
    *out = 0;
    if (tn_matrices(source) > 1) {
        snprintf(out, MATRIX_NAME, "matrix %" PRIu64 ", ", piece->row / source->dims[1]);
    }
    return out;
}

static int32_t check_numbers(const tn_quantize_plan *plan, const tn_piece *piece, const float *x,
                             tn_error *err) {
    const tn_gguf_tensor *source = plan->tensors[piece->tensor].source;
    uint64_t count = piece->rows * piece->columns, at = find_not_finite(x, count);
    char matrix[MATRIX_NAME];
    if (at == count) { return TN_OK; }
    TN_FAIL(err, TN_E_FILE_DAMAGED,
            "%s: tensor %s: %srow %" PRIu64 ", column %" PRIu64 " is %g: only finite numbers can be "
            "converted",
            tn_plan_source(plan, source), source->name, name_matrix(source, piece, matrix),
            piece->row % source->dims[1] + at / piece->columns, piece->column + at % piece->columns,
            (double)x[at]);
}

/* If the text at `at` is `word` and a number, writes it with `more` added; bytes of the text that this was, or 0. */
static size_t add_to_number(const char *at, const char *word, uint64_t more, char *out, size_t room) {
    size_t size = strlen(word);
    char *end;
    if (strncmp(at, word, size) != 0 || at[size] < '0' || at[size] > '9') { return 0; }
    snprintf(out, room, "%s%" PRIu64, word, (uint64_t)strtoull(at + size, &end, 10) + more);
    return (size_t)(end - at);
}

/* An encoder counts rows and columns from where the piece begins (see tn_format.encode): here they become the
 * tensor's. 0: the text names none. */
static int name_place(const char *text, uint64_t row, uint64_t column, char *out, size_t room) {
    int named = 0;
    size_t used = 0;
    for (*out = 0; *text && used + 1 < room; used += strlen(out + used)) {
        size_t read = add_to_number(text, "row ", row, out + used, room - used);
        if (!read) { read = add_to_number(text, "column ", column, out + used, room - used); }
        named |= read > 0;
        if (!read) { snprintf(out + used, room - used, "%c", *text++); }
        text += read;
    }
    return named;
}

static int32_t encoding_failed(const tn_quantize_plan *plan, const tn_piece *piece, const tn_error *why,
                               tn_error *err) {
    const tn_gguf_tensor *source = plan->tensors[piece->tensor].source;
    uint64_t row = piece->row % source->dims[1];
    char matrix[MATRIX_NAME], place[64] = "", text[sizeof why->text];
    if (!name_place(why->text, row, piece->column, text, sizeof text)) {
        snprintf(place, sizeof place, "from row %" PRIu64 ", column %" PRIu64 " on: ", row, piece->column);
    }
    TN_FAIL(err, why->code, "%s: tensor %s: %s%s%s", tn_plan_source(plan, source), source->name,
            name_matrix(source, piece, matrix), place, text);
}

static void scale(const tn_conversion *conversion, uint64_t matrix, float *x, uint64_t count) {
    if (!conversion->scales) { return; }
    float factor = conversion->scales[conversion->scale_count == 1 ? 0 : matrix];
    for (uint64_t i = 0; i < count; i++) { x[i] *= factor; }
}

int32_t tn_piece_convert(const tn_quantize_plan *plan, const tn_piece *piece, const tn_piece_room *room,
                         void *out, tn_error *err) {
    const tn_gguf_tensor *source = plan->tensors[piece->tensor].source;
    const tn_conversion *conversion = &plan->conversions[piece->tensor];
    const tn_format_use *from = &conversion->from, *to = &conversion->to;
    uint64_t count = piece->rows * piece->columns, matrix = piece->row / source->dims[1];
    const float *importance = NULL;
    tn_error why = TN_ERROR_INIT;
    from->format->decode(from->self, piece->from, count, room->numbers);
    scale(conversion, matrix, room->numbers, count);
    TN_TRY(check_numbers(plan, piece, room->numbers, err));
    if (conversion->importance) {
        tn_imatrix_importance(&plan->importance, conversion->importance, matrix, source->dims[0],
                              piece->column, piece->columns, room->importance);
        importance = room->importance;
    }
    int32_t code =
        to->format->encode(to->self, room->numbers, piece->rows, piece->columns, importance, out, &why);
    why.code = code;
    return code == TN_OK ? TN_OK : encoding_failed(plan, piece, &why, err);
}
