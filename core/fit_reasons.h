/*
 * fit_reasons.h - the list of reasons of a refusal: a few of each code, and how many more there were.
 */
#ifndef TENON_FIT_REASONS_H
#define TENON_FIT_REASONS_H

#include "graph_arena.h"
#include "tenon/model.h"

/* Reasons of one code that are kept word for word, and the room for codes (they end below 400). */
enum { TN_REASONS_KEPT = 8, TN_REASON_CODES = 512 };

typedef struct tn_reasons {
    tn_arena arena;
    tn_fit_reason *items;
    uint32_t count, capacity;
    uint64_t total;                 /**< with those that were only counted */
    uint32_t kept[TN_REASON_CODES]; /**< by code: how many are in the list */
    uint32_t last[TN_REASON_CODES]; /**< by code: the one that counts the others */
    int muted;                      /**< 1: what is added now is known already, in other words */
    int no_memory;                  /**< 1: something could not be kept */
} tn_reasons;

/** Adds one reason. Texts are copied, cut to a sane length and made printable; NULL counts as "". */
void tn_reasons_add(tn_reasons *reasons, int32_t code, const char *subject, const char *found,
                    const char *wanted, const char *remedy);
/** A copy for people and for JSON: no control characters, valid UTF-8, cut where it is too long. */
const char *tn_reasons_printable(tn_reasons *reasons, const char *text);
/** The sink for plugins. Valid as long as `reasons`. */
tn_report tn_reasons_report(tn_reasons *reasons);
/** Adds what a failed call said, unless it (or its plugin) has reported since there were `before` reasons. */
void tn_reasons_add_error(tn_reasons *reasons, uint64_t before, const char *subject, int32_t code,
                          const tn_error *err);
void tn_reasons_free(tn_reasons *reasons);

#endif
