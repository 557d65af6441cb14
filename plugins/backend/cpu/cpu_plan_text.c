/*
 * cpu_plan_text.c - a plan as text, one line a phase, for debugging and tests:
 *     linear T  norm:blk.0.attn_norm -> attn_q attn_k attn_v
 */
#include "cpu.h"

#include <string.h>

typedef struct text {
    char *out;
    uint64_t capacity, size;
} text;

TN_PRINTF(2, 3)
static void print(text *t, const char *format, ...) {
    bool room = t->size < t->capacity;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(room ? t->out + t->size : NULL, room ? t->capacity - t->size : 0, format, args);
    va_end(args);
    t->size += n > 0 ? (uint64_t)n : 0;
}

static void print_job(text *t, const cpu_job *job) {
    print(t, " [");
    for (uint32_t m = 0; m < job->member_count; m++) {
        print(t, "%s%s", m ? " " : "", job->members[m].weight->name);
    }
    for (uint32_t i = 0; i < job->link_count; i++) { print(t, " > %s", job->links[i].node->name); }
    print(t, "]");
}

static void print_phase(text *t, const cpu_plan *plan, const cpu_phase *phase) {
    static const char *const kinds[] = {"", "tables", "rows", "linear", "attend", "pool"};
    static const char *const domains[] = {"", "T", "O", "S"};
    print(t, "%s %s:", kinds[phase->kind], domains[phase->domain]);
    for (uint32_t i = 0; i < phase->op_count; i++) {
        print(t, " %s", plan->ops[phase->op_from + i].node->name);
    }
    if (phase->kind == CPU_PHASE_ATTEND) { print(t, " %s", plan->attentions[phase->attention].node->name); }
    for (uint32_t j = phase->first_job; j != CPU_NONE; j = plan->jobs[j].next) {
        print_job(t, &plan->jobs[j]);
    }
    print(t, "\n");
}

uint64_t cpu_plan_print(const cpu_plan *plan, char *out, uint64_t capacity) {
    text t = {out, capacity, 0};
    for (uint32_t i = 0; i < plan->phase_count; i++) { print_phase(&t, plan, &plan->phases[i]); }
    return t.size;
}
