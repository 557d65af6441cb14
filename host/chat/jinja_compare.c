/*
 * jinja_compare.c - equality, order, hashes, `in` and sorting under Python's rules: 1 == 1.0 == True, texts by code
 * points, sequences item by item, a TypeError for an order between unlike types.
 */
#include "jinja_inside.h"

#include <math.h>

/* ---- numbers ------------------------------------------------------------------------------------------ */

/* Exact: never through a rounded double. */
static int order_whole_real(int64_t a, double b) {
    if (b >= 0x1p63) { return -1; }
    if (b < -0x1p63) { return 1; }
    int64_t whole = (int64_t)b;
    if (a != whole) { return a < whole ? -1 : 1; }
    double rest = b - (double)whole;
    return rest > 0 ? -1 : rest < 0;
}

int jinja_order_numbers(jinja_value a, jinja_value b, bool *unordered) {
    bool whole_a = jinja_is_whole(a), whole_b = jinja_is_whole(b);
    *unordered = (!whole_a && isnan(a.number)) || (!whole_b && isnan(b.number));
    if (*unordered) { return 0; }
    if (whole_a && whole_b) { return jinja_whole(a) < jinja_whole(b) ? -1 : jinja_whole(a) > jinja_whole(b); }
    if (whole_a) { return order_whole_real(jinja_whole(a), b.number); }
    if (whole_b) { return -order_whole_real(jinja_whole(b), a.number); }
    return a.number < b.number ? -1 : a.number > b.number;
}

/* ---- equality ----------------------------------------------------------------------------------------- */

static bool equal_lists(struct jinja_run *run, const struct jinja_list *a, const struct jinja_list *b,
                        bool *out) {
    *out = a == b || a->count == b->count;
    if (a == b) { return true; }
    for (size_t i = 0; i < a->count && *out; i++) {
        if (!jinja_equal(run, a->items[i], b->items[i], out)) { return false; }
    }
    return true;
}

static bool equal_dicts(struct jinja_run *run, const struct jinja_dict *a, const struct jinja_dict *b,
                        bool *out) {
    *out = a == b || a->count == b->count;
    if (a == b) { return true; }
    for (size_t i = 0; i < a->count && *out; i++) {
        const jinja_value *other;
        if (!jinja_dict_get(run, b, a->pairs[i].key, &other)) { return false; }
        *out = other != NULL;
        if (other && !jinja_equal(run, a->pairs[i].item, *other, out)) { return false; }
    }
    return true;
}

static bool equal_ranges(const struct jinja_range *a, const struct jinja_range *b) {
    size_t count = jinja_range_length(a);
    if (count != jinja_range_length(b)) { return false; }
    return count == 0 || (a->start == b->start && (count == 1 || a->step == b->step));
}

static bool equal_methods(const struct jinja_method *a, const struct jinja_method *b) {
    return a->method == b->method && a->self->type == b->self->type && a->self->object == b->self->object;
}

static bool equal_alike(struct jinja_run *run, jinja_value a, jinja_value b, bool *out) {
    switch (a.type) {
    case JINJA_UNDEFINED:
    case JINJA_NONE: *out = true; return true;
    case JINJA_STRING:
        *out =
            a.string->size == b.string->size && memcmp(a.string->bytes, b.string->bytes, a.string->size) == 0;
        return a.string->size != b.string->size || jinja_spend_bytes(run, a.string->size);
    case JINJA_LIST:
    case JINJA_TUPLE: return equal_lists(run, a.list, b.list, out);
    case JINJA_DICT: return equal_dicts(run, a.dict, b.dict, out);
    case JINJA_RANGE: *out = equal_ranges(a.range, b.range); return true;
    case JINJA_METHOD: *out = equal_methods(a.method, b.method); return true;
    case JINJA_BUILTIN: *out = a.builtin == b.builtin; return true;
    default: *out = a.object == b.object; return true;
    }
}

bool jinja_equal(struct jinja_run *run, jinja_value a, jinja_value b, bool *out) {
    bool unordered;
    *out = false;
    if (!jinja_spend(run, 1)) { return false; }
    if (jinja_is_number(a) && jinja_is_number(b)) {
        *out = jinja_order_numbers(a, b, &unordered) == 0 && !unordered;
        return true;
    }
    if (a.type != b.type) { return true; }
    if (!jinja_enter(run)) { return false; }
    bool done = equal_alike(run, a, b, out);
    jinja_leave(run);
    return done;
}

/* ---- order -------------------------------------------------------------------------------------------- */

static const char *const signs[] = {
    [JINJA_LT] = "<", [JINJA_LE] = "<=", [JINJA_GT] = ">", [JINJA_GE] = ">=", [JINJA_NE] = "!="};

/* By the first items that differ, else by length. */
static bool compare_lists(struct jinja_run *run, enum jinja_operator op, const struct jinja_list *a,
                          const struct jinja_list *b, bool *out) {
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        bool equal;
        if (!jinja_equal(run, a->items[i], b->items[i], &equal)) { return false; }
        if (!equal) { return jinja_compare(run, op, a->items[i], b->items[i], out); }
    }
    return jinja_compare(run, op, jinja_int((int64_t)a->count), jinja_int((int64_t)b->count), out);
}

static bool holds(enum jinja_operator op, int order) {
    return op == JINJA_LT ? order < 0 : op == JINJA_LE ? order <= 0 : op == JINJA_GT ? order > 0 : order >= 0;
}

static bool compare_ordered(struct jinja_run *run, enum jinja_operator op, jinja_value a, jinja_value b,
                            bool *out) {
    if (jinja_is_number(a) && jinja_is_number(b)) {
        bool unordered;
        int order = jinja_order_numbers(a, b, &unordered);
        *out = !unordered && holds(op, order);
        return true;
    }
    if (a.type == JINJA_STRING && b.type == JINJA_STRING) {
        size_t size = a.string->size < b.string->size ? a.string->size : b.string->size;
        *out = holds(op, jinja_string_order(a.string, b.string));
        return jinja_spend_bytes(run, size);
    }
    if (a.type == b.type && (a.type == JINJA_LIST || a.type == JINJA_TUPLE)) {
        if (!jinja_enter(run)) { return false; }
        bool done = compare_lists(run, op, a.list, b.list, out);
        jinja_leave(run);
        return done;
    }
    if (a.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, a); }
    if (b.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, b); }
    return jinja_fail(run, JINJA_RUNTIME, "'%s' not supported between instances of '%s' and '%s'", signs[op],
                      jinja_type_name(a), jinja_type_name(b));
}

bool jinja_compare(struct jinja_run *run, enum jinja_operator op, jinja_value a, jinja_value b, bool *out) {
    if (!jinja_spend(run, 1)) { return false; }
    if (op != JINJA_EQ && op != JINJA_NE) { return compare_ordered(run, op, a, b, out); }
    if (!jinja_equal(run, a, b, out)) { return false; }
    *out = *out == (op == JINJA_EQ);
    return true;
}

bool jinja_less(struct jinja_run *run, jinja_value a, jinja_value b, bool *out) {
    return jinja_compare(run, JINJA_LT, a, b, out);
}

/* ---- hashes ------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash) {
    hash ^= hash >> 32;
    hash *= 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    hash *= 0xBF58476D1CE4E5B9u;
    return hash ^ hash >> 32;
}

uint64_t jinja_hash_bytes(const char *bytes, size_t size) {
    uint64_t hash = 0x2545F4914F6CDD1Du ^ size;
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = mix(hash ^ word) + 0x9E3779B97F4A7C15u;
    }
    uint64_t rest = 0;
    if (size) { memcpy(&rest, bytes, size); }
    return mix(hash ^ rest);
}

/* Equal numbers have equal hashes, whatever their type. */
static uint64_t hash_number(jinja_value value) {
    if (value.type == JINJA_FLOAT &&
        !(value.number >= -0x1p63 && value.number < 0x1p63 && value.number == floor(value.number))) {
        uint64_t bits;
        memcpy(&bits, &value.number, sizeof bits);
        return mix(bits ^ 0xF10A7);
    }
    int64_t whole = value.type == JINJA_FLOAT ? (int64_t)value.number : jinja_whole(value);
    return mix((uint64_t)whole);
}

static bool hash_tuple(struct jinja_run *run, const struct jinja_list *list, uint64_t *out) {
    uint64_t hash = list->count, item;
    for (size_t i = 0; i < list->count; i++) {
        if (!jinja_hash(run, list->items[i], &item)) { return false; }
        hash = mix(hash ^ item) + i;
    }
    *out = hash;
    return true;
}

bool jinja_hash(struct jinja_run *run, jinja_value value, uint64_t *out) {
    if (!jinja_spend(run, 1)) { return false; }
    switch (value.type) {
    case JINJA_UNDEFINED:
    case JINJA_NONE: *out = mix((uint64_t)value.type + 0x5EED); return true;
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_FLOAT: *out = hash_number(value); return true;
    case JINJA_STRING:
        *out = jinja_hash_bytes(value.string->bytes, value.string->size);
        return jinja_spend_bytes(run, value.string->size);
    case JINJA_TUPLE: {
        if (!jinja_enter(run)) { return false; }
        bool done = hash_tuple(run, value.list, out);
        jinja_leave(run);
        return done;
    }
    case JINJA_LIST:
    case JINJA_DICT: return jinja_fail(run, JINJA_RUNTIME, "unhashable type: '%s'", jinja_type_name(value));
    case JINJA_RANGE: *out = mix(jinja_range_length(value.range)); return true;
    default: *out = mix((uint64_t)(uintptr_t)value.object); return true;
    }
}

/* ---- in ----------------------------------------------------------------------------------------------- */

static bool contains_text(struct jinja_run *run, const struct jinja_string *whole, jinja_value part,
                          bool *out) {
    if (part.type != JINJA_STRING) {
        return jinja_fail(run, JINJA_RUNTIME, "'in <string>' requires string as left operand, not %s",
                          jinja_type_name(part));
    }
    *out = jinja_string_find(whole, 0, whole->size, part.string) != SIZE_MAX;
    return jinja_spend_walk(run, whole->size);
}

static bool contains_item(struct jinja_run *run, jinja_value whole, jinja_value part, bool *out) {
    struct jinja_iterator each;
    jinja_value item;
    bool done = false;
    *out = false;
    if (!jinja_iterate(run, whole, &each)) { return false; }
    while (!*out && jinja_next(run, &each, &item, &done) && !done) {
        if (!jinja_equal(run, item, part, out)) { return false; }
    }
    return *out || done;
}

bool jinja_contains(struct jinja_run *run, jinja_value whole, jinja_value part, bool *out) {
    if (whole.type == JINJA_STRING) { return contains_text(run, whole.string, part, out); }
    if (whole.type == JINJA_DICT) {
        const jinja_value *item;
        if (!jinja_dict_get(run, whole.dict, part, &item)) { return false; }
        *out = item != NULL;
        return true;
    }
    bool view;
    if (whole.type == JINJA_LIST || whole.type == JINJA_TUPLE || whole.type == JINJA_RANGE ||
        whole.type == JINJA_UNDEFINED || jinja_stream_of(whole, &view)) {
        return contains_item(run, whole, part, out);
    }
    return jinja_fail(run, JINJA_RUNTIME, "argument of type '%s' is not iterable", jinja_type_name(whole));
}

/* ---- sorting ------------------------------------------------------------------------------------------ */

/* Merges two sorted runs; of equal keys the one of the left run comes first. Backwards, "less" is "greater". */
static bool merge(struct jinja_run *run, const jinja_value *keys, bool reverse, const size_t *left,
                  size_t left_count, const size_t *right, size_t right_count, size_t *out) {
    while (left_count && right_count) {
        bool take_right;
        jinja_value a = keys[*left], b = keys[*right];
        if (!(reverse ? jinja_less(run, a, b, &take_right) : jinja_less(run, b, a, &take_right))) {
            return false;
        }
        *out++ = take_right ? *right++ : *left++;
        if (take_right) {
            right_count--;
        } else {
            left_count--;
        }
    }
    memcpy(out, left_count ? left : right, (left_count + right_count) * sizeof *out);
    return true;
}

bool jinja_sort(struct jinja_run *run, const jinja_value *keys, size_t count, bool reverse, size_t *order) {
    size_t *from = order, *to = jinja_alloc(run, count, sizeof *order);
    if (!to) { return false; }
    for (size_t i = 0; i < count; i++) { order[i] = i; }
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t left = count - at < width ? count - at : width;
            size_t right = count - at - left < width ? count - at - left : width;
            if (!merge(run, keys, reverse, from + at, left, from + at + left, right, to + at)) {
                return false;
            }
        }
        size_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) { memcpy(order, from, count * sizeof *order); }
    return true;
}
