/*
 * jinja_attribute.c - a.name, a[key] and a[start:stop:step] as the immutable sandbox of Jinja looks them up: what
 * there is not is undefined, what the sandbox forbids is a fault.
 */
#include "jinja_inside.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- what there is not -------------------------------------------------------------------------------- */

/* "'dict object' has no attribute 'x'": kept with the value for the fault of whoever uses it. */
static bool missing_attribute(struct jinja_run *run, jinja_value a, const char *name, size_t size,
                              jinja_value *out) {
    enum { LONGEST = 200 };
    char message[LONGEST + 100];
    bool none = a.type == JINJA_NONE;
    int length = snprintf(message, sizeof message, "'%.64s%s' has no attribute '%.*s'",
                          none ? "None" : jinja_type_name(a), none ? "" : " object",
                          (int)(size < LONGEST ? size : LONGEST), name);
    char *kept = jinja_alloc(run, (size_t)length + 1, 1);
    if (!kept) { return false; }
    memcpy(kept, message, (size_t)length + 1);
    *out = jinja_undefined(kept);
    return true;
}

static bool missing_element(struct jinja_run *run, jinja_value a, jinja_value key, jinja_value *out) {
    if (key.type == JINJA_STRING) {
        return missing_attribute(run, a, key.string->bytes, key.string->size, out);
    }
    struct jinja_builder b = {.run = run};
    jinja_value message;
    if (!jinja_build_literal(&b, a.type == JINJA_NONE ? "None" : jinja_type_name(a)) ||
        !jinja_build_literal(&b, a.type == JINJA_NONE ? " has no element " : " object has no element ") ||
        !jinja_build_repr(&b, key) || !jinja_built(&b, &message)) {
        return false;
    }
    *out = jinja_undefined(message.string->bytes);
    return true;
}

static bool forbidden(struct jinja_run *run, jinja_value a, const char *name, size_t size) {
    return jinja_fail(run, JINJA_RUNTIME, "access to attribute '%.*s' of '%s' object is unsafe",
                      (int)(size < 200 ? size : 200), name, jinja_type_name(a));
}

/* ---- attributes --------------------------------------------------------------------------------------- */

bool jinja_method_value(struct jinja_run *run, jinja_value self, const struct jinja_builtin *method,
                        jinja_value *out) {
    struct {
        struct jinja_method method;
        jinja_value self;
    } *bound = jinja_alloc(run, 1, sizeof *bound);
    if (!bound) { return false; }
    bound->self = self;
    bound->method = (struct jinja_method){&bound->self, method};
    *out = (jinja_value){.type = JINJA_METHOD, .method = &bound->method};
    return true;
}

/* range.start and others, and the names of groupby's tuples. */
static bool plain_attribute(jinja_value a, const char *name, size_t size, jinja_value *out) {
    if (a.type == JINJA_RANGE) {
        if (jinja_name_is(name, size, "start")) {
            *out = jinja_int(a.range->start);
        } else if (jinja_name_is(name, size, "stop")) {
            *out = jinja_int(a.range->stop);
        } else if (jinja_name_is(name, size, "step")) {
            *out = jinja_int(a.range->step);
        } else {
            return false;
        }
        return true;
    }
    if (a.type != JINJA_TUPLE || !a.list->group) { return false; }
    if (jinja_name_is(name, size, "grouper")) {
        *out = a.list->items[0];
    } else if (jinja_name_is(name, size, "list")) {
        *out = a.list->items[1];
    } else {
        return false;
    }
    return true;
}

/* What getattr() finds: undefined without a message if there is nothing. */
static bool own_attribute(struct jinja_run *run, jinja_value a, const char *name, size_t size,
                          jinja_value *out) {
    bool refused = false;
    *out = jinja_undefined(NULL);
    if (size >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + size - 2, "__", 2) == 0) {
        return forbidden(run, a, name, size);
    }
    const struct jinja_builtin *method = jinja_method_find(a, name, size, &refused);
    if (refused) { return forbidden(run, a, name, size); }
    if (method) { return jinja_method_value(run, a, method, out); }
    if (a.type == JINJA_OBJECT && a.object->class->attribute && name[0] != '_') {
        return a.object->class->attribute(run, a.object, name, size, out);
    }
    plain_attribute(a, name, size, out);
    return true;
}

bool jinja_attribute(struct jinja_run *run, jinja_value a, const char *name, size_t size, jinja_value *out) {
    if (a.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, a); }
    if (!jinja_spend(run, 1) || !own_attribute(run, a, name, size, out)) { return false; }
    if (out->type != JINJA_UNDEFINED) { return true; }
    const jinja_value *item = NULL;
    if (a.type == JINJA_DICT && !jinja_dict_find(run, a, name, size, &item)) { return false; }
    if (!item) { return out->name || missing_attribute(run, a, name, size, out); }
    *out = *item;
    return true;
}

/* ---- items -------------------------------------------------------------------------------------------- */

static bool character_at(struct jinja_run *run, const struct jinja_string *s, size_t index,
                         jinja_value *out) {
    size_t begin, end;
    if (!jinja_byte_of(run, s, index, &begin)) { return false; }
    end = begin;
    jinja_code_at(s, &end);
    return jinja_substring(run, s, begin, end, out);
}

/* The item at an index that counts from the end if it is negative; *found is false beyond. */
static bool item_at(struct jinja_run *run, jinja_value a, int64_t index, jinja_value *out, bool *found) {
    size_t count;
    if (!jinja_length(run, a, &count)) { return false; }
    if (index < 0) { index += (int64_t)count; }
    *found = index >= 0 && (uint64_t)index < count;
    if (!*found) { return true; }
    if (a.type == JINJA_STRING) { return character_at(run, a.string, (size_t)index, out); }
    *out = a.type == JINJA_RANGE
               ? jinja_int((int64_t)((uint64_t)a.range->start + (uint64_t)index * (uint64_t)a.range->step))
               : a.list->items[index];
    return true;
}

static bool hashable(jinja_value key) {
    if (key.type == JINJA_TUPLE) {
        for (size_t i = 0; i < key.list->count; i++) {
            if (key.list->items[i].type == JINJA_LIST || key.list->items[i].type == JINJA_DICT) {
                return false;
            }
        }
    }
    return key.type != JINJA_LIST && key.type != JINJA_DICT;
}

/* Only what Python's a[key] would give. */
static bool own_item(struct jinja_run *run, jinja_value a, jinja_value key, jinja_value *out, bool *found) {
    *found = false;
    if (a.type == JINJA_DICT && hashable(key)) {
        const jinja_value *item;
        if (!jinja_dict_get(run, a.dict, key, &item)) { return false; }
        *found = item != NULL;
        if (item) { *out = *item; }
        return true;
    }
    bool indexed =
        a.type == JINJA_STRING || a.type == JINJA_LIST || a.type == JINJA_TUPLE || a.type == JINJA_RANGE;
    return !indexed || !jinja_is_whole(key) || item_at(run, a, jinja_whole(key), out, found);
}

bool jinja_item(struct jinja_run *run, jinja_value a, jinja_value key, jinja_value *out) {
    bool found;
    if (a.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, a); }
    if (!jinja_spend(run, 1) || !own_item(run, a, key, out, &found)) { return false; }
    if (found) { return true; }
    *out = jinja_undefined(NULL);
    if (key.type == JINJA_STRING && !own_attribute(run, a, key.string->bytes, key.string->size, out)) {
        return false;
    }
    return out->type != JINJA_UNDEFINED || out->name || missing_element(run, a, key, out);
}

/* ---- slices ------------------------------------------------------------------------------------------- */

static bool slice_bound(struct jinja_run *run, jinja_value value, int64_t fallback, int64_t *out,
                        bool *given) {
    *given = value.type != JINJA_NONE;
    *out = fallback;
    if (!*given) { return true; }
    if (!jinja_is_whole(value)) {
        return jinja_fail(run, JINJA_RUNTIME,
                          "slice indices must be integers or None or have an __index__ method, not %s",
                          jinja_type_name(value));
    }
    *out = jinja_whole(value);
    return true;
}

/* PySlice_AdjustIndices: a bound within [low, high], counted from the end if it is negative. */
static int64_t adjust(int64_t bound, int64_t count, int64_t low, int64_t high) {
    if (bound < 0) { bound += count; }
    return bound < low ? low : bound > high ? high : bound;
}

struct slice {
    int64_t start, stop, step;
    size_t count;
};

static bool read_slice(struct jinja_run *run, size_t length, const jinja_value bounds[3], struct slice *out) {
    int64_t count = (int64_t)length, start, stop, step;
    bool has_start, has_stop, has_step;
    if (!slice_bound(run, bounds[2], 1, &step, &has_step)) { return false; }
    if (step == 0) { return jinja_fail(run, JINJA_RUNTIME, "slice step cannot be zero"); }
    if (step < -INT64_MAX) { step = -INT64_MAX; }
    bool back = step < 0;
    if (!slice_bound(run, bounds[0], back ? count - 1 : 0, &start, &has_start) ||
        !slice_bound(run, bounds[1], back ? -1 : count, &stop, &has_stop)) {
        return false;
    }
    int64_t low = back ? -1 : 0, high = back ? count - 1 : count;
    if (has_start) { start = adjust(start, count, low, high); }
    if (has_stop) { stop = adjust(stop, count, low, high); }
    const struct jinja_range range = {start, stop, step};
    *out = (struct slice){start, stop, step, jinja_range_length(&range)};
    return jinja_spend(run, out->count / 16 + 1);
}

static bool slice_string(struct jinja_run *run, const struct jinja_string *s, struct slice slice,
                         jinja_value *out) {
    size_t begin, end;
    if (!jinja_byte_of(run, s, (size_t)slice.start, &begin)) { return false; }
    if (slice.step == 1) {
        return jinja_byte_of(run, s, (size_t)slice.start + slice.count, &end) &&
               jinja_substring(run, s, begin, end, out);
    }
    struct jinja_builder b = {.run = run};
    for (size_t i = 0; i < slice.count; i++) {
        end = begin;
        jinja_code_at(s, &end);
        if (!jinja_build_from(&b, s, begin, end)) { return false; }
        for (int64_t n = 0; i + 1 < slice.count && n < slice.step; n++) { jinja_code_at(s, &begin); }
        for (int64_t n = 0; i + 1 < slice.count && n > slice.step; n--) { jinja_code_before(s, &begin); }
    }
    return jinja_spend_bytes(run, s->size) && jinja_built(&b, out) && jinja_markup(run, *out, s->markup, out);
}

static bool slice_list(struct jinja_run *run, jinja_value a, struct slice slice, jinja_value *out) {
    if (!jinja_list_make(run, a.type, slice.count, out)) { return false; }
    for (size_t i = 0; i < slice.count; i++) {
        if (!jinja_list_add(run, *out, a.list->items[slice.start + (int64_t)i * slice.step])) {
            return false;
        }
    }
    return true;
}

/* The bounds are indices of a range of at most 100000 items, so that no product overflows but by the step. */
static bool slice_range(struct jinja_run *run, const struct jinja_range *a, struct slice slice,
                        jinja_value *out) {
    struct jinja_range *part = jinja_alloc(run, 1, sizeof *part);
    int64_t step, start, stop;
    if (!part) { return false; }
    if (__builtin_mul_overflow(a->step, slice.step, &step) ||
        __builtin_mul_overflow(a->step, slice.start, &start) ||
        __builtin_add_overflow(a->start, start, &start) ||
        __builtin_mul_overflow(a->step, slice.stop, &stop) || __builtin_add_overflow(a->start, stop, &stop)) {
        return jinja_fail_overflow(run);
    }
    *part = (struct jinja_range){start, stop, step};
    *out = (jinja_value){.type = JINJA_RANGE, .range = part};
    return true;
}

bool jinja_slice(struct jinja_run *run, jinja_value a, jinja_value start, jinja_value stop, jinja_value step,
                 jinja_value *out) {
    size_t length;
    struct slice slice = {0};
    const jinja_value bounds[3] = {start, stop, step};
    if (a.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, a); }
    if (a.type == JINJA_DICT) { return jinja_fail(run, JINJA_RUNTIME, "unhashable type: 'slice'"); }
    bool list = a.type == JINJA_LIST || a.type == JINJA_TUPLE;
    if (!list && a.type != JINJA_STRING && a.type != JINJA_RANGE) {
        return jinja_fail(run, JINJA_RUNTIME, "'%s' object is not subscriptable", jinja_type_name(a));
    }
    if (!jinja_length(run, a, &length) || !read_slice(run, length, bounds, &slice)) { return false; }
    if (list) { return slice_list(run, a, slice, out); }
    if (a.type == JINJA_RANGE) { return slice_range(run, a.range, slice, out); }
    if (slice.count == 0) { return jinja_substring(run, a.string, 0, 0, out); }
    return slice_string(run, a.string, slice, out);
}
