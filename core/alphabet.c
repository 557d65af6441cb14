/*
 * alphabet.c - the alphabet of a ctc output, from the file's keys: what each symbol is written as. Every fault is a
 * reason of the fit.
 */
#include "fit.h"
#include "utf8_hold.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY = 128, WEIGHT_MOST = 1000 };

/* Being read. */
struct reading {
    tn_fit *fit;
    uint32_t width; /* of the output */
    char key[KEY];  /* the one that is looked at */
    tn_alphabet *alphabet;
};

static void fault(const struct reading *r, int32_t code, const char *found, const char *wanted) {
    tn_reasons_add(&r->fit->reasons, code, r->key, found, wanted, NULL);
}

static void look_at(struct reading *r, const char *name) {
    snprintf(r->key, sizeof r->key, "%s.ctc.%s", r->fit->architecture, name);
}

static int find(struct reading *r, const char *name, tn_kv *kv) {
    const tn_meta *meta = tn_gguf_meta(r->fit->match.file);
    *kv = (tn_kv){.struct_size = sizeof *kv};
    look_at(r, name);
    return meta->find(meta, r->key, kv) == TN_OK;
}

/* ---- entries ----------------------------------------------------------------------------------------- */

/* Why an entry cannot be printed in a line of text; NULL: it can. */
static const char *unprintable(const tn_text *entry) {
    const unsigned char *bytes = (const unsigned char *)entry->data;
    for (uint64_t i = 0; i < entry->size;) {
        size_t length = tn_utf8_length(bytes + i, entry->size - i);
        if (!length) { return "is not UTF-8"; }
        if (bytes[i] < 0x20 || bytes[i] == 0x7f || (bytes[i] == 0xc2 && bytes[i + 1] < 0xa0)) {
            return "has a control character";
        }
        i += length;
    }
    return NULL;
}

static void entry_fault(const struct reading *r, uint32_t i, const char *what) {
    char found[96];
    snprintf(found, sizeof found, "entry %" PRIu32 " %s", i, what);
    fault(r, TN_E_PARAM_INVALID, found, "UTF-8 without control characters; only the blank is empty");
}

static void check_entries(const struct reading *r) {
    const tn_alphabet *a = r->alphabet;
    for (uint32_t i = 0; i < a->size; i++) {
        const char *what = unprintable(&a->entries[i]);
        if (i == a->blank && a->entries[i].size) { what = "is the blank and not empty"; }
        if (i != a->blank && !a->entries[i].size) { what = "is empty"; }
        if (what) { entry_fault(r, i, what); }
    }
}

static int compare_texts(const void *a, const void *b) {
    const tn_text *x = *(const tn_text *const *)a, *y = *(const tn_text *const *)b;
    int order = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);
    if (order) { return order; }
    if (x->size != y->size) { return x->size < y->size ? -1 : 1; }
    return x < y ? -1 : x > y;
}

/* Sorted, equal entries are neighbours. */
static void check_distinct(const struct reading *r) {
    const tn_alphabet *a = r->alphabet;
    const tn_text **sorted = malloc(a->size * sizeof *sorted);
    if (!sorted) {
        r->fit->reasons.no_memory = 1;
        return;
    }
    for (uint32_t i = 0; i < a->size; i++) { sorted[i] = &a->entries[i]; }
    qsort(sorted, a->size, sizeof *sorted, compare_texts);
    for (uint32_t i = 1; i < a->size; i++) {
        const tn_text *x = sorted[i - 1], *y = sorted[i];
        if (!x->size || x->size != y->size || memcmp(x->data, y->data, x->size) != 0) { continue; }
        char found[96];
        snprintf(found, sizeof found, "entries %" PRIu32 " and %" PRIu32 " are the same",
                 (uint32_t)(x - a->entries), (uint32_t)(y - a->entries));
        fault(r, TN_E_PARAM_INVALID, found, "each entry once");
    }
    free(sorted);
}

static int read_entries(struct reading *r) {
    tn_kv kv;
    char found[64], wanted[64];
    if (!find(r, "alphabet", &kv)) {
        fault(r, TN_E_PARAM_MISSING, "absent", "an array of strings");
        return 0;
    }
    if (kv.type != TN_KV_ARRAY || kv.element_type != TN_KV_STRING) {
        fault(r, TN_E_PARAM_TYPE, tn_fit_kv_type(&kv), "an array of strings");
        return 0;
    }
    if (kv.count != r->width) {
        snprintf(found, sizeof found, "%" PRIu64 " entries", kv.count);
        snprintf(wanted, sizeof wanted, "%" PRIu32 ", as many as the output has numbers", r->width);
        fault(r, TN_E_PARAM_INVALID, found, wanted);
        return 0;
    }
    tn_text *entries = tn_arena_array(&r->fit->match.arena, kv.count, sizeof *entries);
    if (!entries) {
        r->fit->reasons.no_memory = 1;
        return 0;
    }
    const unsigned char *at = kv.data;
    for (uint32_t i = 0; i < r->width; i++) { entries[i] = tn_string_next(&at); }
    r->alphabet->entries = entries;
    r->alphabet->size = r->width;
    return 1;
}

/* ---- the other keys ---------------------------------------------------------------------------------- */

static int read_blank(struct reading *r) {
    tn_kv kv;
    int64_t blank;
    char found[32], wanted[64];
    if (!find(r, "blank_index", &kv)) {
        fault(r, TN_E_PARAM_MISSING, "absent", "the number of the alphabet's empty entry");
        return 0;
    }
    if (kv.type == TN_KV_ARRAY || !tn_kv_int(&kv, 0, &blank)) {
        fault(r, TN_E_PARAM_TYPE, tn_fit_kv_type(&kv), "an integer");
        return 0;
    }
    if (blank < 0 || blank >= r->alphabet->size) {
        snprintf(found, sizeof found, "%" PRId64, blank);
        snprintf(wanted, sizeof wanted, "an entry of the alphabet, 0 to %" PRIu32, r->alphabet->size - 1);
        fault(r, TN_E_PARAM_INVALID, found, wanted);
        return 0;
    }
    r->alphabet->blank = (uint32_t)blank;
    return 1;
}

static void read_weight(struct reading *r, int bigrams) {
    tn_kv kv;
    double weight = 0;
    char found[32];
    if (!find(r, "bigram_weight", &kv)) {
        if (bigrams) { fault(r, TN_E_PARAM_MISSING, "absent", "a float, for the file has bigrams"); }
        return;
    }
    if (!bigrams) {
        fault(r, TN_E_PARAM_UNSUPPORTED, "a weight", "absent, for the file has no bigrams");
    } else if (kv.type == TN_KV_ARRAY || !tn_kv_float(&kv, 0, &weight)) {
        fault(r, TN_E_PARAM_TYPE, tn_fit_kv_type(&kv), "a float");
    } else if (!(weight > 0 && weight <= WEIGHT_MOST)) {
        snprintf(found, sizeof found, "%g", weight);
        fault(r, TN_E_PARAM_INVALID, found, "a number above 0, at most 1000");
    } else {
        r->alphabet->bigram_weight = weight;
    }
}

void tn_fit_alphabet_read(tn_fit *fit, const tn_node *output) {
    tn_match *m = &fit->match;
    struct reading r = {.fit = fit, .width = m->graph->values[output->inputs[0] - 1]->width};
    uint64_t before = fit->reasons.total;
    r.alphabet = tn_arena_take(&m->arena, sizeof *r.alphabet);
    if (!r.alphabet) {
        fit->reasons.no_memory = 1;
        return;
    }
    if (read_entries(&r) && read_blank(&r)) {
        look_at(&r, "alphabet");
        check_entries(&r);
        check_distinct(&r);
    }
    read_weight(&r, output->weights[0] != 0);
    if (fit->reasons.total != before) { return; }
    m->alphabet = r.alphabet;
    m->bigrams = output->weights[0] ? m->weights[output->weights[0] - 1] : NULL;
}
