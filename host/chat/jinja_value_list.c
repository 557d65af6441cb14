/*
 * jinja_value_list.c - lists, tuples and dicts. A dict keeps its pairs in the order in which their keys came, and an
 * index of them by hash beside it (open addressing), as Python's does.
 */
#include "jinja_inside.h"

bool jinja_list_make(struct jinja_run *run, enum jinja_type list_or_tuple, size_t room, jinja_value *out) {
    struct jinja_list *list = jinja_alloc(run, 1, sizeof *list);
    if (!list) { return false; }
    *list = (struct jinja_list){.room = room};
    if (room && !(list->items = jinja_alloc(run, room, sizeof *list->items))) { return false; }
    *out = (jinja_value){.type = list_or_tuple, .list = list};
    return true;
}

bool jinja_list_add(struct jinja_run *run, jinja_value value, jinja_value item) {
    struct jinja_list *list = value.list;
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 4;
        jinja_value *items = jinja_alloc(run, room, sizeof *items);
        if (!items) { return false; }
        if (list->count) { memcpy(items, list->items, list->count * sizeof *items); }
        jinja_release(run, list->items, list->room, sizeof *items);
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = item;
    return jinja_spend(run, 1);
}

bool jinja_pair_make(struct jinja_run *run, jinja_value a, jinja_value b, jinja_value *out) {
    return jinja_list_make(run, JINJA_TUPLE, 2, out) && jinja_list_add(run, *out, a) &&
           jinja_list_add(run, *out, b);
}

bool jinja_dict_make(struct jinja_run *run, jinja_value *out) {
    struct jinja_dict *dict = jinja_alloc(run, 1, sizeof *dict);
    if (!dict) { return false; }
    *dict = (struct jinja_dict){0};
    *out = (jinja_value){.type = JINJA_DICT, .dict = dict};
    return true;
}

/* Doubles the room and fills the index anew; at most two thirds of its slots are taken. */
static bool grow(struct jinja_run *run, struct jinja_dict *dict) {
    size_t room = dict->room ? 2 * dict->room : 5, slots = dict->slot_count ? 2 * dict->slot_count : 8;
    if (room >= UINT32_MAX) { return jinja_fail(run, JINJA_LIMIT, "a dict is too large"); }
    struct jinja_pair *pairs = jinja_alloc(run, room, sizeof *pairs);
    uint32_t *index = pairs ? jinja_alloc(run, slots, sizeof *index) : NULL;
    if (!index) { return false; }
    if (dict->count) { memcpy(pairs, dict->pairs, dict->count * sizeof *pairs); }
    memset(index, 0, slots * sizeof *index);
    for (size_t i = 0; i < dict->count; i++) {
        size_t slot = pairs[i].hash & (slots - 1);
        while (index[slot]) { slot = (slot + 1) & (slots - 1); }
        index[slot] = (uint32_t)i + 1;
    }
    jinja_release(run, dict->pairs, dict->room, sizeof *pairs);
    jinja_release(run, dict->slots, dict->slot_count, sizeof *index);
    *dict = (struct jinja_dict){dict->count, room, pairs, index, slots};
    return true;
}

/* The slot of a key: one that holds it or the empty one where it would go. */
static bool find_slot(struct jinja_run *run, const struct jinja_dict *dict, uint64_t hash, jinja_value key,
                      size_t *out) {
    size_t mask = dict->slot_count - 1, slot = hash & mask;
    for (; dict->slots[slot]; slot = (slot + 1) & mask) {
        const struct jinja_pair *pair = &dict->pairs[dict->slots[slot] - 1];
        bool equal = false;
        if (!jinja_spend(run, 1)) { return false; }
        if (pair->hash == hash && !jinja_equal(run, pair->key, key, &equal)) { return false; }
        if (equal) { break; }
    }
    *out = slot;
    return true;
}

bool jinja_dict_get(struct jinja_run *run, const struct jinja_dict *dict, jinja_value key,
                    const jinja_value **item) {
    uint64_t hash;
    size_t slot;
    *item = NULL;
    if (!jinja_hash(run, key, &hash)) { return false; }
    if (dict->count == 0) { return true; }
    if (!find_slot(run, dict, hash, key, &slot)) { return false; }
    if (dict->slots[slot]) { *item = &dict->pairs[dict->slots[slot] - 1].item; }
    return true;
}

bool jinja_dict_set(struct jinja_run *run, jinja_value value, jinja_value key, jinja_value item) {
    struct jinja_dict *dict = value.dict;
    uint64_t hash;
    size_t slot;
    if (!jinja_hash(run, key, &hash) || !jinja_spend(run, 1)) { return false; }
    if (dict->count == dict->room && !grow(run, dict)) { return false; }
    if (!find_slot(run, dict, hash, key, &slot)) { return false; }
    if (dict->slots[slot]) {
        dict->pairs[dict->slots[slot] - 1].item = item;
        return true;
    }
    dict->pairs[dict->count++] = (struct jinja_pair){hash, key, item};
    dict->slots[slot] = (uint32_t)dict->count;
    return true;
}

/* A key's text behind a header as strings have it would need an allocation: this walks the chain by itself. */
bool jinja_dict_find(struct jinja_run *run, jinja_value value, const char *key, size_t size,
                     const jinja_value **item) {
    const struct jinja_dict *dict = value.dict;
    *item = NULL;
    if (dict->count == 0) { return true; }
    if (!jinja_spend_bytes(run, size)) { return false; }
    uint64_t hash = jinja_hash_bytes(key, size);
    size_t mask = dict->slot_count - 1;
    for (size_t slot = hash & mask; dict->slots[slot]; slot = (slot + 1) & mask) {
        const struct jinja_pair *pair = &dict->pairs[dict->slots[slot] - 1];
        if (!jinja_spend(run, 1)) { return false; }
        if (pair->hash == hash && pair->key.type == JINJA_STRING && pair->key.string->size == size &&
            memcmp(pair->key.string->bytes, key, size) == 0) {
            *item = &pair->item;
            return true;
        }
    }
    return true;
}

bool jinja_dict_update(struct jinja_run *run, jinja_value to, jinja_value from) {
    for (size_t i = 0; i < from.dict->count; i++) {
        if (!jinja_dict_set(run, to, from.dict->pairs[i].key, from.dict->pairs[i].item)) { return false; }
    }
    return true;
}

bool jinja_dict_pairs(struct jinja_run *run, jinja_value to, jinja_value from) {
    struct jinja_iterator each;
    jinja_value element, pair;
    bool done;
    if (!jinja_iterate(run, from, &each)) { return false; }
    while (jinja_next(run, &each, &element, &done) && !done) {
        if (!jinja_to_list(run, element, &pair)) { return false; }
        if (pair.list->count != 2) {
            return jinja_fail(run, JINJA_RUNTIME,
                              "dictionary update sequence element has length %zu; 2 is required",
                              pair.list->count);
        }
        if (!jinja_dict_set(run, to, pair.list->items[0], pair.list->items[1])) { return false; }
    }
    return done;
}
