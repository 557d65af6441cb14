/* format_cases.c - see format_cases.h. */
#include "format_cases.h"

#include "format_names.h" /* generated: all formats of the tree */

#include "tenon/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const format_names[] = {FORMAT_NAMES, NULL};

static void give_up(const char *what, const char *name) {
    fprintf(stderr, "%s: %s\n", what, name);
    abort();
}

static const tn_plugin *plugin_open(const char *name) {
    char path[4096];
    const char *build = getenv("TENON_TEST_BUILD");
    snprintf(path, sizeof path, "%s/lib/tenon/plugins/format.%s.so", build ? build : ".", name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) { give_up("cannot open", dlerror()); }
    const tn_plugin *plugin = dlsym(library, TN_PLUGIN_SYMBOL);
    if (!plugin) { give_up("no symbol " TN_PLUGIN_SYMBOL, path); }
    if (!plugin->interface(TN_FORMAT_1) || plugin->interface("tenon.format/2")) {
        give_up("wrong interfaces", path);
    }
    return plugin;
}

const tn_format *format_open(const char *name) {
    return plugin_open(name)->interface(TN_FORMAT_1);
}

void *format_self(const char *name, uint64_t isa) {
    static tn_host hosts[16]; /* one for each combination asked for; they outlive what was opened with them */
    size_t i = 0;
    void *self;
    while (i < 15 && hosts[i].struct_size && hosts[i].isa != isa) { i++; }
    hosts[i] = (tn_host){.struct_size = sizeof(tn_host), .isa = isa};
    if (plugin_open(name)->open(&hosts[i], &self, NULL) != TN_OK) { give_up("does not open", name); }
    return self;
}

static uint8_t *read_file(const char *name) {
    char path[4096];
    const char *data = getenv("TENON_TEST_DATA");
    snprintf(path, sizeof path, "%s/formats/%s", data ? data : "tests/data", name);
    FILE *file = fopen(path, "rb");
    if (!file) { give_up("cannot open", path); }
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(size + 1);
    if (!bytes || fread(bytes, 1, size, file) != size) { give_up("cannot read", path); }
    bytes[size] = 0;
    fclose(file);
    return bytes;
}

format_golden format_golden_open(const tn_format *format) {
    format_golden golden = {0};
    char *text = (char *)read_file("index.json"), name[64];
    golden.index = json_loads(text, 0, NULL);
    golden.type = json_object_get(json_object_get(golden.index, "types"), format->name);
    if (!golden.type) { give_up("not in index.json", format->name); }
    snprintf(name, sizeof name, "%s.bin", format->name);
    golden.data = read_file(name);
    golden.shared = read_file("shared.bin");
    free(text);
    return golden;
}

void format_golden_close(format_golden *golden) {
    json_decref(golden->index);
    free(golden->data);
    free(golden->shared);
}

const void *golden_bytes(const format_golden *golden, const json_t *entry, const char *key) {
    json_t *pair = json_object_get(entry, key);
    if (!pair) { give_up("no such key", key); }
    return golden->data + json_integer_value(json_array_get(pair, 0));
}

const void *golden_shared(const format_golden *golden, const char *name, const char *under) {
    json_t *entry = json_object_get(json_object_get(golden->index, "shared"), name);
    if (under) { entry = json_object_get(entry, under); }
    return golden->shared + json_integer_value(json_array_get(json_object_get(entry, "at"), 0));
}

int golden_each(const format_golden *golden, const char *kind,
                void (*fn)(const tn_format *, const format_golden *, json_t *), const tn_format *format) {
    int count = 0;
    size_t i;
    json_t *entry;
    json_array_foreach (json_object_get(golden->type, "cases"), i, entry) {
        if (strcmp(json_string_value(json_object_get(entry, "kind")), kind) == 0) {
            fn(format, golden, entry);
            count++;
        }
    }
    return count;
}

uint64_t machine_isa(void) {
    uint64_t isa = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
        isa |= TN_ISA_AVX2;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd")) {
        isa |= TN_ISA_AVX512;
    }
    if (__builtin_cpu_supports("avx512vnni")) { isa |= TN_ISA_AVX512_VNNI; }
    if (__builtin_cpu_supports("avx512vbmi")) { isa |= TN_ISA_AVX512_VBMI; }
#endif
    return isa;
}

uint64_t random_bits(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 2685821657736338717ull;
}

float random_float(uint64_t *state) {
    return (float)(int32_t)(random_bits(state) >> 32) * 0x1p-31f;
}

guarded guarded_new(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (bytes + page - 1) / page * page;
    guarded g = {.bytes = bytes, .length = body + page};
    g.map = mmap(NULL, g.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED || mprotect(g.map + body, page, PROT_NONE) != 0) { give_up("mmap", "guarded"); }
    g.at = g.map + body - bytes;
    return g;
}

void guarded_free(guarded *g) {
    munmap(g->map, g->length);
}

int same_float(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static void put_half(uint8_t *at, uint64_t bits) {
    uint16_t half = (uint16_t)(bits & 0x83ff) | (uint16_t)((8 + (bits >> 20) % 10) << 10);
    if ((bits >> 40 & 3) == 0) { half &= 0x83ff; } /* one in four is subnormal */
    memcpy(at, &half, sizeof half);
}

/* Where the binary16 scales of each type lie in its block (FORMATS.md, sections 2 to 5). */
static const struct scale_place {
    uint32_t type, count, at[2];
} scale_places[] = {
    {1, 1, {0}},  {2, 1, {0}},       {3, 2, {0, 2}}, {6, 1, {0}},     {7, 2, {0, 2}},  {8, 1, {0}},
    {9, 1, {0}},  {10, 2, {80, 82}}, {11, 1, {108}}, {12, 2, {0, 2}}, {13, 2, {0, 2}}, {14, 1, {208}},
    {16, 1, {0}}, {17, 1, {0}},      {18, 1, {0}},   {20, 1, {0}},    {21, 1, {0}},    {22, 1, {0}},
    {23, 1, {0}}, {34, 1, {52}},     {35, 1, {64}},  {41, 1, {0}},    {42, 1, {0}},
};

const uint32_t *format_scales(const tn_format *format, uint32_t *count) {
    for (size_t i = 0; i < sizeof scale_places / sizeof *scale_places; i++) {
        if (scale_places[i].type == format->type) {
            *count = scale_places[i].count;
            return scale_places[i].at;
        }
    }
    *count = 0;
    return NULL;
}

static void put_float(const tn_format *format, float value, uint8_t *out) {
    if (format->type == 30) {
        memcpy(out, (uint8_t *)&value + 2, 2);
    } else {
        memcpy(out, &value, sizeof value);
    }
}

void random_blocks(const tn_format *format, uint64_t blocks, uint64_t *state, uint8_t *out) {
    for (uint64_t b = 0; b < blocks; b++, out += format->block_bytes) {
        uint32_t scales;
        const uint32_t *at = format_scales(format, &scales);
        for (uint32_t i = 0; i < format->block_bytes; i++) { out[i] = (uint8_t)(random_bits(state) >> 33); }
        for (uint32_t i = 0; i < scales; i++) { put_half(out + at[i], random_bits(state) >> 8); }
        switch (format->type) {
        case 0:
        case 15: /* Q8_K's scale is a float */
        case 30: put_float(format, random_float(state), out); break;
        case 39: out[0] = (uint8_t)(out[0] % 8 ? 107 + out[0] % 40 : out[0] % 3); break; /* also subnormal */
        default: break;
        }
    }
}

int format_has_minimums(const tn_format *format) {
    for (uint32_t k = 0; k < format->kernel_count; k++) {
        if (format->kernels[k]->minimums) { return 1; }
    }
    return 0;
}
