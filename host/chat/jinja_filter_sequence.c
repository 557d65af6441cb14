/*
 * jinja_filter_sequence.c - filters that look at sequences or take them apart.
 */
#include "jinja_filter.h"
#include "jinja_method.h"

/* ---- single items ------------------------------------------------------------------------------------- */

bool jinja_filter_first(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    (void)args;
    struct jinja_iterator each;
    bool done;
    if (!jinja_iterate(run, self, &each) || !jinja_next(run, &each, out, &done)) { return false; }
    if (done) { *out = jinja_undefined("No first item, sequence was empty."); }
    return true;
}

bool jinja_filter_last(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    (void)args;
    struct jinja_iterator each;
    bool done;
    if (!jinja_iterate_back(run, self, &each) || !jinja_next(run, &each, out, &done)) { return false; }
    if (done) { *out = jinja_undefined("No last item, sequence was empty."); }
    return true;
}

bool jinja_filter_length(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    (void)args;
    size_t length;
    if (!jinja_length(run, self, &length)) { return false; }
    *out = jinja_int((int64_t)length);
    return true;
}

bool jinja_filter_default(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    bool any, truth = true;
    if (!jinja_arg_bool(run, args, 1, false, &any) || (any && !jinja_truth(run, self, &truth))) {
        return false;
    }
    *out = self;
    if (self.type != JINJA_UNDEFINED && truth) { return true; }
    if (!args->given[0]) { return jinja_literal(run, "", out); }
    *out = args->at[0];
    return true;
}

/* Attributes alone, never items. */
bool jinja_filter_attr(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    const struct jinja_string *name = NULL;
    bool refused = false;
    if (!jinja_arg_string(run, args, 0, &name)) { return false; }
    if (!name) { return jinja_fail(run, JINJA_RUNTIME, "attr: an attribute's name must be str"); }
    if (self.type == JINJA_DICT && !jinja_method_find(self, name->bytes, name->size, &refused) && !refused) {
        jinja_value empty; /* the same fault or message without an item of that name */
        return jinja_dict_make(run, &empty) && jinja_attribute(run, empty, name->bytes, name->size, out);
    }
    return jinja_attribute(run, self, name->bytes, name->size, out);
}

/* ---- lists -------------------------------------------------------------------------------------------- */

bool jinja_filter_list(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    (void)args;
    return jinja_to_list(run, self, out);
}

bool jinja_filter_items(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    (void)args;
    jinja_value view;
    bool is_view;
    if (self.type == JINJA_UNDEFINED) {
        return jinja_list_make(run, JINJA_LIST, 0, &view) && jinja_stream_make(run, view, out);
    }
    if (self.type != JINJA_DICT) {
        return jinja_fail(run, JINJA_RUNTIME, "Can only get item pairs from a mapping.");
    }
    return jinja_view_make(run, "items", self, &view) &&
           jinja_stream_make(run, jinja_stream_of(view, &is_view)->items, out);
}

static bool reversed_text(struct jinja_run *run, const struct jinja_string *s, jinja_value *out) {
    return jinja_slice(run, jinja_string_value(s), jinja_none(), jinja_none(), jinja_int(-1), out);
}

/* reversed() gives what iterates once; of a generator a list is made first. */
bool jinja_filter_reverse(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    (void)args;
    struct jinja_iterator each;
    jinja_value list, item;
    bool done, view = true;
    if (self.type == JINJA_STRING) { return reversed_text(run, self.string, out); }
    bool generator = jinja_stream_of(self, &view) && !view;
    if (generator && !jinja_to_list(run, self, &self)) { return false; }
    if (!jinja_iterate_back(run, self, &each) || !jinja_list_make(run, JINJA_LIST, 0, &list)) {
        return false;
    }
    while (jinja_next(run, &each, &item, &done) && !done) {
        if (!jinja_list_add(run, list, item)) { return false; }
    }
    *out = list;
    return done && (generator || jinja_stream_make(run, list, out));
}

static bool join_attribute(struct jinja_run *run, jinja_value self, jinja_value path, jinja_value *out) {
    struct jinja_iterator each;
    jinja_value item;
    bool done;
    if (!jinja_iterate(run, self, &each) || !jinja_list_make(run, JINJA_LIST, 0, out)) { return false; }
    while (jinja_next(run, &each, &item, &done) && !done) {
        if (!jinja_attribute_path(run, item, path, NULL, &item) || !jinja_list_add(run, *out, item)) {
            return false;
        }
    }
    return done;
}

bool jinja_filter_join(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    jinja_value separator;
    if (!(args->given[0] ? jinja_text(run, args->at[0], &separator) : jinja_literal(run, "", &separator))) {
        return false;
    }
    if (jinja_has(args, 1) && !join_attribute(run, self, args->at[1], &self)) { return false; }
    return jinja_join(run, separator.string, self, true, out);
}

/* ---- in groups ---------------------------------------------------------------------------------------- */

static bool begin_batch(struct jinja_run *run, jinja_value batches, jinja_value *batch) {
    return jinja_list_make(run, JINJA_LIST, 0, batch) && jinja_list_add(run, batches, *batch);
}

/* What lacks in the last batch; the size must be a whole number only if something does. */
static bool fill_batch(struct jinja_run *run, jinja_value batch, jinja_value size, jinja_value with) {
    int64_t count = (int64_t)batch.list->count, wanted;
    bool lacks;
    if (!jinja_less(run, jinja_int(count), size, &lacks)) { return false; }
    if (!lacks) { return true; }
    if (!jinja_index(run, size, &wanted)) { return false; }
    for (; count < wanted; count++) {
        if (!jinja_list_add(run, batch, with)) { return false; }
    }
    return true;
}

/* A batch is full once its length equals the size, which need not be a number. An empty one can be full at once. */
bool jinja_filter_batch(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    jinja_value all, batches, batch;
    bool full;
    if (!jinja_to_list(run, self, &all) || !jinja_list_make(run, JINJA_LIST, 0, &batches)) { return false; }
    size_t count = all.list->count;
    if (count && !begin_batch(run, batches, &batch)) { return false; }
    for (size_t i = 0; i < count; i++) {
        if (!jinja_equal(run, jinja_int((int64_t)batch.list->count), args->at[0], &full) ||
            (full && !begin_batch(run, batches, &batch)) || !jinja_list_add(run, batch, all.list->items[i])) {
            return false;
        }
    }
    if (count && jinja_has(args, 1) && !fill_batch(run, batch, args->at[0], args->at[1])) { return false; }
    return jinja_stream_make(run, batches, out);
}

bool jinja_filter_slice(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    jinja_value all, slices, part;
    int64_t count;
    if (!jinja_arg_int(run, args, 0, 0, &count) || !jinja_to_list(run, self, &all) ||
        !jinja_list_make(run, JINJA_LIST, 0, &slices)) {
        return false;
    }
    if (count == 0) { return jinja_fail(run, JINJA_RUNTIME, "integer division or modulo by zero"); }
    size_t each = count < 0 ? 0 : all.list->count / (size_t)count, at = 0;
    size_t longer = count < 0 ? 0 : all.list->count % (size_t)count;
    for (size_t i = 0; (int64_t)i < count; i++) {
        size_t size = each + (i < longer);
        if (!jinja_list_make(run, JINJA_LIST, size, &part) || !jinja_list_add(run, slices, part)) {
            return false;
        }
        for (size_t n = 0; n < size; n++) {
            if (!jinja_list_add(run, part, all.list->items[at++])) { return false; }
        }
        if (i >= longer && jinja_has(args, 1) && !jinja_list_add(run, part, args->at[1])) { return false; }
    }
    return jinja_stream_make(run, slices, out);
}

/* Whatever + can add to the start, but texts. */
bool jinja_filter_sum(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    struct jinja_iterator each;
    jinja_value item, sum = args->given[1] ? args->at[1] : jinja_int(0);
    bool done;
    if (sum.type == JINJA_STRING) {
        return jinja_fail(run, JINJA_RUNTIME, "sum() can't sum strings [use ''.join(seq) instead]");
    }
    if (!jinja_iterate(run, self, &each)) { return false; }
    while (jinja_next(run, &each, &item, &done) && !done) {
        if (jinja_has(args, 0) && !jinja_attribute_path(run, item, args->at[0], NULL, &item)) {
            return false;
        }
        if (!jinja_binary(run, JINJA_ADD, sum, item, &sum)) { return false; }
    }
    *out = sum;
    return done;
}
