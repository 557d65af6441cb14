/*
 * token_fault.h - collecting what is wrong with a vocabulary: each fault goes to the host's report at once.
 */
#ifndef TENON_TOKEN_FAULT_H
#define TENON_TOKEN_FAULT_H

#include "tenon/errors.h"
#include "tenon/host.h"
#include "tenon/meta.h"

typedef struct tn_faults {
    const tn_host *host;
    const tn_report *report;
    tn_error *err; /**< gets the first fault */
    int32_t code;  /**< of the first fault; TN_OK: none so far */
} tn_faults;

/** Adds a fault: the key, what would work, and (printf) what the file has. */
TN_PRINTF(5, 6)
void tn_fault(tn_faults *faults, int32_t code, const char *key, const char *wanted, const char *found, ...);
/** The same for a key that has another type than it should. */
void tn_fault_type(tn_faults *faults, const char *key, const tn_kv *kv, const char *wanted);
/** Records that memory ran out, which is no fault of the file. */
void tn_fault_memory(tn_faults *faults);

/** True and *out filled if the key is there. */
int tn_key_find(const tn_meta *meta, const char *key, tn_kv *out);
/** True if the key is there and an array of strings; another type is a fault, absence is not. */
int tn_key_strings(tn_faults *faults, const tn_meta *meta, const char *key, tn_kv *out);
/** True if the key is there and an array of numbers; another type is a fault, absence is not. */
int tn_key_numbers(tn_faults *faults, const tn_meta *meta, const char *key, int floats, tn_kv *out);
/** The key's value, or `missing` if it is not there; another type is a fault. */
uint32_t tn_key_bool(tn_faults *faults, const tn_meta *meta, const char *key, uint32_t missing);

#endif
