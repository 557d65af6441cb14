/*
 * bpe_cutter.c - runs the stages of a rule set one inside the other, so that words come out one by one and
 * nothing is stored.
 */
#include "bpe_rules.h"

#include <stddef.h>

void tn_cutter_begin(tn_cutter *cutter, const tn_rules *rules, const unsigned char *text, uint64_t size) {
    cutter->rules = rules;
    cutter->at = text;
    cutter->marks = 0;
    cutter->ends[0] = text + size;
    for (uint32_t i = 1; i <= rules->stage_count; i++) { cutter->ends[i] = text; }
}

/* One stage: by marks, if there are any. */
static const unsigned char *look_once(tn_cutter *cutter, const unsigned char **begin) {
    const tn_stage *stage = cutter->rules->stages;
    const unsigned char *at = cutter->at, *end = cutter->ends[0];
    cutter->marks = stage->marks ? stage->marks(stage, at, end) : 0;
    cutter->block = at;
    if (cutter->marks) { return tn_cutter_next(cutter, begin); }
    *begin = at;
    return cutter->at = stage->next(stage, at, end);
}

const unsigned char *tn_cutter_look(tn_cutter *cutter, const unsigned char **begin) {
    const tn_rules *rules = cutter->rules;
    const unsigned char *at = cutter->at;
    if (at == cutter->ends[0]) { return NULL; }
    if (rules->stage_count == 1) { return look_once(cutter, begin); }
    uint32_t depth = rules->stage_count;
    while (cutter->ends[depth] == at) { depth--; } /* pieces that end here are used up */
    for (; depth < rules->stage_count; depth++) {
        const tn_stage *stage = &rules->stages[depth];
        cutter->ends[depth + 1] = stage->next(stage, at, cutter->ends[depth]);
    }
    *begin = at;
    return cutter->at = cutter->ends[depth];
}
