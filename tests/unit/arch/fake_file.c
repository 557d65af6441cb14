/* fake_file.c - see fake_file.h. Setting a key again replaces it. */
#include "fake_file.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* ---- memory */

static void *fake_alloc(const tn_host *host, uint64_t size, uint64_t align) {
    fake_file *f = (fake_file *)host; /* the host is its first member */
    void *memory = NULL;
    if (posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size ? size : 1)) {
        return NULL;
    }
    f->live++;
    return memory;
}

static void fake_free(const tn_host *host, void *memory) {
    fake_file *f = (fake_file *)host;
    f->live -= memory != NULL;
    free(memory);
}

/* ---- metadata */

static int32_t fake_find(const tn_meta *meta, const char *key, tn_kv *out) {
    const fake_file *f = meta->context;
    for (uint32_t i = 0; i < f->key_count; i++) {
        if (strcmp(f->keys[i].name, key) == 0) {
            *out = f->keys[i].kv;
            return TN_OK;
        }
    }
    return TN_E_NOT_FOUND;
}

static tn_kv *set(fake_file *f, const char *key, uint32_t type, const void *data, size_t size) {
    uint32_t i = 0;
    while (i < f->key_count && strcmp(f->keys[i].name, key) != 0) { i++; }
    cr_assert(i < FAKE_KEYS && size < sizeof f->keys[i].data);
    f->key_count += i == f->key_count;
    snprintf(f->keys[i].name, sizeof f->keys[i].name, "%s", key);
    memcpy(f->keys[i].data + 1, data, size); /* numbers of a file are not aligned */
    f->keys[i].kv = (tn_kv){
        .struct_size = sizeof(tn_kv), .type = type, .count = 1, .size = size, .data = f->keys[i].data + 1};
    return &f->keys[i].kv;
}

void fake_u32(fake_file *f, const char *key, uint32_t value) {
    set(f, key, TN_KV_U32, &value, sizeof value);
}
void fake_u64(fake_file *f, const char *key, uint64_t value) {
    set(f, key, TN_KV_U64, &value, sizeof value);
}
void fake_f32(fake_file *f, const char *key, float value) {
    set(f, key, TN_KV_F32, &value, sizeof value);
}
void fake_text(fake_file *f, const char *key, const char *value) {
    set(f, key, TN_KV_STRING, value, strlen(value))->count = strlen(value);
}
void fake_bool(fake_file *f, const char *key, int value) {
    unsigned char byte = value != 0;
    set(f, key, TN_KV_BOOL, &byte, 1);
}
void fake_list(fake_file *f, const char *key, const uint32_t *values, uint32_t count) {
    tn_kv *kv = set(f, key, TN_KV_ARRAY, values, count * sizeof *values);
    kv->element_type = TN_KV_U32;
    kv->count = count;
}

void fake_remove(fake_file *f, const char *key) {
    for (uint32_t i = 0; i < f->key_count; i++) {
        if (strcmp(f->keys[i].name, key) == 0) { f->keys[i].name[0] = 0; }
    }
}

static void fake_add_reason(const tn_report *report, const tn_reason *reason) {
    fake_file *f = report->context;
    size_t used = strlen(f->reasons);
    f->reason_count++;
    snprintf(f->reasons + used, sizeof f->reasons - used, "%s %s: found %s, wanted %s\n",
             tn_code_text(reason->code), reason->subject, reason->found, reason->wanted);
}

/* ---- tensors */

void fake_tensor(fake_file *f, const char *name, uint64_t cols, uint64_t rows) {
    uint32_t i = 0;
    while (i < f->tensor_count && strcmp(f->tensors[i].name, name) != 0) { i++; }
    cr_assert(i < FAKE_TENSORS);
    f->tensor_count += i == f->tensor_count;
    snprintf(f->tensors[i].name, sizeof f->tensors[i].name, "%s", name);
    f->tensors[i].dims[0] = cols;
    f->tensors[i].dims[1] = rows;
}

void fake_drop(fake_file *f, const char *name) {
    for (uint32_t i = 0; i < f->tensor_count; i++) {
        if (strcmp(f->tensors[i].name, name) == 0) { f->tensors[i].name[0] = 0; }
    }
}

static const uint64_t *find_tensor(const fake_file *f, const char *name) {
    for (uint32_t i = 0; i < f->tensor_count; i++) {
        if (strcmp(f->tensors[i].name, name) == 0) { return f->tensors[i].dims; }
    }
    return NULL;
}

static uint32_t fake_has(const tn_claims *claims, const char *name) {
    return find_tensor(claims->context, name) != NULL;
}

static uint32_t claim_fault(fake_file *f, int32_t code, const tn_claim *claim) {
    tn_reason reason = {.code = code, .subject = claim->name, .found = "it", .wanted = claim->why};
    fake_add_reason(&f->report, &reason);
    return 0;
}

static uint32_t fake_claim(const tn_claims *claims, const tn_claim *claim) {
    fake_file *f = claims->context;
    const uint64_t *dims = find_tensor(f, claim->name);
    if (!dims) { return claim->flags & TN_CLAIM_OPTIONAL ? 0 : claim_fault(f, TN_E_TENSOR_MISSING, claim); }
    uint32_t n = f->claimed_count++;
    snprintf(f->claimed[n], sizeof f->claimed[n], "%s", claim->name);
    f->flags[n] = claim->flags;
    if (memcmp(dims, claim->dims, sizeof claim->dims) != 0 ||
        claim->dim_count != (claim->dims[1] ? 2u : 1u)) {
        return claim_fault(f, TN_E_TENSOR_SHAPE, claim);
    }
    f->weights[n] = (tn_weight){.struct_size = sizeof(tn_weight),
                                .id = n + 1,
                                .name = f->claimed[n],
                                .cols = dims[0],
                                .rows = dims[1] ? dims[1] : 1,
                                .count = 1};
    f->weight_list[n] = &f->weights[n];
    return n + 1;
}

void fake_unread(const fake_file *f, char *out, size_t capacity) {
    out[0] = 0;
    for (uint32_t i = 0; i < f->tensor_count; i++) {
        int claimed = f->tensors[i].name[0] == 0;
        for (uint32_t k = 0; k < f->claimed_count; k++) {
            claimed |= strcmp(f->claimed[k], f->tensors[i].name) == 0;
        }
        if (!claimed) { snprintf(out + strlen(out), capacity - strlen(out), "%s ", f->tensors[i].name); }
    }
}

void fake_begin(fake_file *f) {
    memset(f, 0, sizeof *f);
    f->host = (tn_host){.struct_size = sizeof f->host,
                        .abi_major = TN_ABI_MAJOR,
                        .abi_minor = TN_ABI_MINOR,
                        .alloc = fake_alloc,
                        .free = fake_free};
    f->meta = (tn_meta){.struct_size = sizeof f->meta, .context = f, .find = fake_find};
    f->report = (tn_report){.struct_size = sizeof f->report, .context = f, .add = fake_add_reason};
    f->claims =
        (tn_claims){.struct_size = sizeof f->claims, .context = f, .claim = fake_claim, .has = fake_has};
}

uint32_t fake_count(const tn_graph *graph, int32_t op) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) { count += graph->nodes[n]->op == op; }
    return count;
}

const tn_node *fake_first(const tn_graph *graph, int32_t op) {
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n]->op == op) { return graph->nodes[n]; }
    }
    cr_assert_fail("the graph has no op %d", op);
    return NULL;
}
