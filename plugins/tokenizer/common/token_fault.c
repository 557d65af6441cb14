/*
 * token_fault.c - faults of a vocabulary, and reading keys so that a wrong type is one.
 */
#include "token_fault.h"

void tn_fault(tn_faults *faults, int32_t code, const char *key, const char *wanted, const char *found, ...) {
    char text[256];
    va_list args;
    va_start(args, found);
    vsnprintf(text, sizeof text, found, args);
    va_end(args);
    tn_reason reason = {.code = code, .subject = key, .found = text, .wanted = wanted};
    TN_STAMP(faults->host, &reason, tn_reason);
    faults->report->add(faults->report, &reason);
    if (faults->code == TN_OK) {
        faults->code = tn_fail(faults->err, code, "%s: found %s, expected %s", key, text, wanted);
    }
}

static const char *type_name(uint32_t type) {
    static const char *const names[] = {"uint8", "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
                                        "bool",  "string", "array",  "uint64", "int64",  "float64"};
    return type < sizeof names / sizeof *names ? names[type] : "unknown type";
}

void tn_fault_type(tn_faults *faults, const char *key, const tn_kv *kv, const char *wanted) {
    if (kv->type == TN_KV_ARRAY) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, key, wanted, "an array of %s", type_name(kv->element_type));
    } else {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, key, wanted, "one %s", type_name(kv->type));
    }
}

void tn_fault_memory(tn_faults *faults) {
    if (faults->code == TN_OK) {
        faults->code = tn_fail(faults->err, TN_E_MEMORY, "no memory for the vocabulary");
    }
}

int tn_key_find(const tn_meta *meta, const char *key, tn_kv *out) {
    *out = (tn_kv){.struct_size = sizeof *out};
    return meta->find(meta, key, out) == TN_OK;
}

int tn_key_strings(tn_faults *faults, const tn_meta *meta, const char *key, tn_kv *out) {
    if (!tn_key_find(meta, key, out)) { return 0; }
    if (out->type == TN_KV_ARRAY && out->element_type == TN_KV_STRING) { return 1; }
    tn_fault_type(faults, key, out, "an array of strings");
    return 0;
}

int tn_key_numbers(tn_faults *faults, const tn_meta *meta, const char *key, int floats, tn_kv *out) {
    if (!tn_key_find(meta, key, out)) { return 0; }
    uint32_t type = out->element_type;
    int is_float = type == TN_KV_F32 || type == TN_KV_F64;
    int is_integer = tn_kv_width(type) != 0 && !is_float && type != TN_KV_BOOL;
    if (out->type == TN_KV_ARRAY && (is_integer || (floats && is_float))) { return 1; }
    tn_fault_type(faults, key, out, floats ? "an array of numbers" : "an array of integers");
    return 0;
}

uint32_t tn_key_bool(tn_faults *faults, const tn_meta *meta, const char *key, uint32_t missing) {
    tn_kv kv;
    if (!tn_key_find(meta, key, &kv)) { return missing; }
    if (kv.type == TN_KV_BOOL) { return *(const unsigned char *)kv.data != 0; }
    tn_fault_type(faults, key, &kv, "a bool");
    return missing;
}
