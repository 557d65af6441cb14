/* The cursor, the rules for names, and metadata values: see gguf_value.h. */
#include "gguf_value.h"

#include "checked.h"
#include "tenon/gguf.h"

#include <inttypes.h>
#include <stdlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "GGUF's numbers are read as they lie in the file");

int32_t tn_cursor_take(tn_cursor *cursor, uint64_t size, const char *what, const char *of, const void **out,
                       tn_error *err) {
    uint64_t left = cursor->size - cursor->at;
    if (size > left) {
        tn_fail(err, TN_E_FILE_DAMAGED,
                "%s: the file ends inside %s%s%.80s: %" PRIu64 " bytes wanted at byte %" PRIu64 ", %" PRIu64
                " are left",
                cursor->name, what, of ? " of " : "", of ? of : "", size, cursor->at, left);
        return TN_E_FILE_DAMAGED;
    }
    *out = cursor->data + cursor->at;
    cursor->at += size;
    return TN_OK;
}

int32_t tn_cursor_u32(tn_cursor *cursor, const char *what, const char *of, uint32_t *out, tn_error *err) {
    const void *p;
    TN_TRY(tn_cursor_take(cursor, sizeof *out, what, of, &p, err));
    memcpy(out, p, sizeof *out);
    return TN_OK;
}

int32_t tn_cursor_u64(tn_cursor *cursor, const char *what, const char *of, uint64_t *out, tn_error *err) {
    const void *p;
    TN_TRY(tn_cursor_take(cursor, sizeof *out, what, of, &p, err));
    memcpy(out, p, sizeof *out);
    return TN_OK;
}

int32_t tn_cursor_string(tn_cursor *cursor, const char *what, const char *of, tn_text *out, tn_error *err) {
    const void *p;
    TN_TRY(tn_cursor_u64(cursor, what, of, &out->size, err));
    TN_TRY(tn_cursor_take(cursor, out->size, what, of, &p, err));
    out->data = p;
    return TN_OK;
}

const char *tn_key_fault(const char *text, uint64_t size) {
    if (size == 0) { return "is empty"; }
    if (size > TN_KEY_MAX) { return "is longer than 65535 bytes"; }
    for (uint64_t i = 0; i < size; i++) {
        if (text[i] < 0x20 || text[i] > 0x7e) { return "has a byte that is no printable ASCII"; }
    }
    return NULL;
}

/* Bytes of the well-formed UTF-8 character at `p`, 0 if there is none (Unicode 15, table 3-7). */
static uint64_t character_size(const unsigned char *p, uint64_t left) {
    static const unsigned char least[] = {[0x0] = 0xa0, [0x10] = 0x90},
                               most[] = {[0xd] = 0x9f, [0x14] = 0x8f};
    if (p[0] < 0x80) { return 1; }
    uint64_t size = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || size > left) { return 0; }
    unsigned row = p[0] - 0xe0u;
    unsigned low = size > 2 && row < sizeof least && least[row] ? least[row] : 0x80;
    unsigned high = size > 2 && row < sizeof most && most[row] ? most[row] : 0xbf;
    if (p[1] < low || p[1] > high) { return 0; }
    for (uint64_t i = 2; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80) { return 0; }
    }
    return size;
}

const char *tn_tensor_name_fault(const char *text, uint64_t size) {
    const unsigned char *p = (const unsigned char *)text;
    if (size == 0) { return "is empty"; }
    if (size > TN_TENSOR_NAME_MAX) { return "is longer than 64 bytes"; }
    for (uint64_t i = 0, step; i < size; i += step) {
        step = character_size(p + i, size - i);
        if (step == 0) { return "is not UTF-8"; }
        int control = p[i] < 0x20 || p[i] == 0x7f || (p[i] == 0xc2 && p[i + 1] < 0xa0);
        if (control) { return "has a control character"; }
    }
    return NULL;
}

int tn_alignment_valid(uint32_t alignment) {
    return alignment >= 8 && (alignment & (alignment - 1)) == 0;
}

static int32_t check_bools(const tn_cursor *cursor, const char *key, const tn_kv *kv, tn_error *err) {
    const unsigned char *p = kv->data;
    for (uint64_t i = 0; i < kv->count; i++) {
        if (p[i] > 1) {
            TN_FAIL(err, TN_E_FILE_DAMAGED,
                    "%s: key %.80s: a bool is %u at byte %" PRIu64 ", 0 or 1 was expected", cursor->name, key,
                    p[i], (uint64_t)(p + i - cursor->data));
        }
    }
    return TN_OK;
}

/* Walks over the strings of an array once, so that later walks need no checks. */
static int32_t skip_strings(tn_cursor *cursor, const char *key, uint64_t count, tn_error *err) {
    uint64_t size, left = cursor->size - cursor->at;
    if (count > left / sizeof size) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: key %.80s: an array of %" PRIu64 " strings at byte %" PRIu64
                " cannot fit into the %" PRIu64 " bytes that are left",
                cursor->name, key, count, cursor->at, left);
    }
    for (uint64_t i = 0; i < count; i++) {
        tn_text text;
        TN_TRY(tn_cursor_string(cursor, "a string", key, &text, err));
    }
    return TN_OK;
}

static int32_t take_array(tn_cursor *cursor, const char *key, tn_kv *out, tn_error *err) {
    TN_TRY(tn_cursor_u32(cursor, "the type of the array", key, &out->element_type, err));
    TN_TRY(tn_cursor_u64(cursor, "the length of the array", key, &out->count, err));
    out->data = cursor->data + cursor->at;
    uint32_t width = tn_kv_width(out->element_type);
    if (out->element_type == TN_KV_STRING) {
        TN_TRY(skip_strings(cursor, key, out->count, err));
        out->size = (uint64_t)(cursor->data + cursor->at - (const unsigned char *)out->data);
        return TN_OK;
    }
    if (out->element_type == TN_KV_ARRAY) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: key %.80s: an array of arrays, numbers or strings were expected as elements",
                cursor->name, key);
    }
    if (!width) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: key %.80s: an array of type %" PRIu32 ", which does not exist",
                cursor->name, key, out->element_type);
    }
    if (!tn_mul_u64(out->count, width, &out->size)) { out->size = UINT64_MAX; }
    return tn_cursor_take(cursor, out->size, "the array", key, &out->data, err);
}

int32_t tn_cursor_value(tn_cursor *cursor, const char *key, tn_kv *out, tn_error *err) {
    *out = (tn_kv){.struct_size = sizeof *out, .count = 1};
    TN_TRY(tn_cursor_u32(cursor, "the type", key, &out->type, err));
    if (out->type == TN_KV_ARRAY) {
        TN_TRY(take_array(cursor, key, out, err));
    } else if (out->type == TN_KV_STRING) {
        tn_text text;
        TN_TRY(tn_cursor_string(cursor, "the string", key, &text, err));
        out->data = text.data;
        out->count = out->size = text.size;
    } else {
        out->size = tn_kv_width(out->type);
        if (!out->size) {
            TN_FAIL(err, TN_E_FILE_DAMAGED,
                    "%s: key %.80s: a value of type %" PRIu32 ", which does not exist", cursor->name, key,
                    out->type);
        }
        TN_TRY(tn_cursor_take(cursor, out->size, "the value", key, &out->data, err));
    }
    int is_bool = out->type == TN_KV_BOOL || (out->type == TN_KV_ARRAY && out->element_type == TN_KV_BOOL);
    return is_bool ? check_bools(cursor, key, out, err) : TN_OK;
}

int32_t tn_kv_table_reserve(tn_kv_table *table) {
    if (table->keys.count < table->capacity) { return TN_OK; }
    uint64_t capacity = table->capacity ? table->capacity * 2 : 64;
    tn_kv *values = reallocarray(table->values, capacity, sizeof *values);
    if (!values) { return TN_E_MEMORY; }
    table->values = values;
    table->capacity = capacity;
    return TN_OK;
}

const tn_kv *tn_kv_table_find(const tn_kv_table *table, const char *key) {
    int64_t i = tn_names_find(&table->keys, key, strlen(key));
    return i < 0 ? NULL : &table->values[i];
}

void tn_kv_table_free(tn_kv_table *table) {
    tn_names_free(&table->keys);
    free(table->values);
    *table = (tn_kv_table){0};
}
