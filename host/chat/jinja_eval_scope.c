/*
 * jinja_eval_scope.c - variables while rendering.
 */
#include "jinja_eval.h"

#include <jansson.h>
#include <string.h>

struct jinja_frame *jinja_frame_make(struct jinja_eval *e, uint32_t slots, struct jinja_frame *outer) {
    struct jinja_frame *frame = jinja_alloc(&e->run, 1, sizeof *frame + slots * sizeof *frame->slots);
    if (!frame) { return NULL; }
    frame->outer = outer;
    memset(frame->slots, 0, slots * sizeof *frame->slots);
    return frame;
}

struct jinja_slot *jinja_slot_of(const struct jinja_eval *e, struct jinja_variable variable) {
    struct jinja_frame *frame = e->frame;
    for (uint32_t i = 0; i < variable.hops; i++) { frame = frame->outer; }
    return &frame->slots[variable.slot];
}

/* A variable of the caller or a global function; what was asked for once is kept. */
static bool ask_outside(struct jinja_eval *e, const struct jinja_name *name, struct jinja_slot *out) {
    struct jinja_slot *slot = &e->outside[name->outside];
    if (!e->asked[name->outside]) {
        const json_t *given = json_object_get(e->input->given, name->bytes);
        const json_t *json = given ? given : json_object_get(e->input->trusted, name->bytes);
        const struct jinja_builtin *builtin = jinja_global_find(name->bytes, name->size);
        if (json) {
            bool messages = given && strcmp(name->bytes, "messages") == 0;
            slot->set = true;
            if (!(messages
                      ? jinja_from_messages(&e->run, json, e->input->roles, &slot->value)
                      : jinja_from_json(&e->run, json, given ? JINJA_GIVEN : JINJA_WRITTEN, &slot->value))) {
                return false;
            }
        } else if (builtin) {
            *slot = (struct jinja_slot){true, {.type = JINJA_BUILTIN, .builtin = builtin}};
        }
        e->asked[name->outside] = true;
    }
    *out = *slot;
    return true;
}

bool jinja_enter_scope(struct jinja_eval *e, const struct jinja_scope *scope) {
    for (const struct jinja_load *load = scope->loads; load; load = load->next) {
        struct jinja_slot *slot = &e->frame->slots[load->slot];
        if (!jinja_spend(&e->run, 1)) { return false; }
        switch (load->kind) {
        case LOAD_PARAMETER: break;
        case LOAD_COPY: *slot = *jinja_slot_of(e, load->from); break;
        case LOAD_NOTHING: slot->set = false; break;
        case LOAD_OUTSIDE:
            if (!ask_outside(e, load->name, slot)) { return false; }
            break;
        }
    }
    return true;
}

/* ---- assigning ----------------------------------------------------------------------------------------- */

static bool unpack(struct jinja_eval *e, const struct jinja_node *target, jinja_value value) {
    struct jinja_iterator it;
    jinja_value item;
    bool done = false;
    size_t count = 0;
    e->run.at = target->place;
    if (!jinja_iterate(&e->run, value, &it)) { return false; }
    for (const struct jinja_node *part = target->items.first; part; part = part->next, count++) {
        if (!jinja_next(&e->run, &it, &item, &done)) { return false; }
        if (done) {
            return jinja_fail(&e->run, JINJA_RUNTIME, "not enough values to unpack (expected %u, got %zu)",
                              target->items.count, count);
        }
        if (!jinja_assign(e, part, item)) { return false; }
    }
    e->run.at = target->place;
    if (!jinja_next(&e->run, &it, &item, &done)) { return false; }
    if (done) { return true; }
    return jinja_fail(&e->run, JINJA_RUNTIME, "too many values to unpack (expected %u)", target->items.count);
}

bool jinja_assign(struct jinja_eval *e, const struct jinja_node *target, jinja_value value) {
    if (target->kind == NODE_TUPLE) { return unpack(e, target, value); }
    if (target->kind == NODE_NAME) {
        *jinja_slot_of(e, target->name.variable) = (struct jinja_slot){true, value};
        return true;
    }
    const struct jinja_name *name = target->member.name;
    jinja_value object;
    if (!jinja_evaluate(e, target->member.object, &object)) { return false; }
    e->run.at = target->place;
    return jinja_namespace_set(&e->run, object, name->bytes, name->size, value);
}
