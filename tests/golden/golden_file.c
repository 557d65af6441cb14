/* golden_file.c - see golden_file.h. */
#include "golden_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_data(const char *name, char path[512]) {
    const char *data = getenv("TENON_TEST_DATA");
    cr_assert(data, "TENON_TEST_DATA is not set: run this through ctest");
    snprintf(path, 512, "%s/%s", data, name);
    FILE *f = fopen(path, "rb");
    cr_assert(f, "cannot open %s", path);
    return f;
}

static uint32_t read_ids(FILE *f, int32_t ids[GOLDEN_IDS]) {
    uint32_t count = 0;
    cr_assert(fscanf(f, "%u", &count) == 1 && count <= GOLDEN_IDS);
    for (uint32_t i = 0; i < count; i++) { cr_assert(fscanf(f, "%d", &ids[i]) == 1); }
    return count;
}

static float *read_rows(const char *name, uint32_t rows, uint32_t width) {
    char path[512];
    FILE *f = open_data(name, path);
    size_t count = (size_t)rows * width;
    float *data = malloc(count * sizeof *data);
    cr_assert(data && fread(data, sizeof *data, count, f) == count, "%s is too short", path);
    fclose(f);
    return data;
}

/* "lora FILE SCALE", "control_vector FILE SCALE FIRST LAST" */
static void read_adapter(golden *g, FILE *f, uint32_t kind) {
    char file[128];
    cr_assert(g->adapter_count < GOLDEN_ADAPTERS);
    char *path = g->adapter_paths[g->adapter_count];
    tn_adapter *adapter = &g->adapters[g->adapter_count++];
    *adapter = (tn_adapter){.kind = kind, .path = path};
    cr_assert(fscanf(f, "%127s %lf", file, &adapter->scale) == 2);
    if (kind == TN_ADAPTER_CONTROL_VECTOR) {
        cr_assert(fscanf(f, "%u %u", &adapter->first, &adapter->last) == 2);
    }
    fclose(open_data(file, path));
}

void golden_open(golden *g, const char *name) {
    char path[512], word[64], file[128];
    double tolerance;
    memset(g, 0, sizeof *g);
    snprintf(file, sizeof file, "golden/%s.txt", name);
    FILE *f = open_data(file, path);
    while (fscanf(f, "%63s", word) == 1) {
        if (strcmp(word, "model") == 0) {
            cr_assert(fscanf(f, "%127s", file) == 1);
            fclose(open_data(file, g->model));
        } else if (strcmp(word, "n_ctx") == 0) {
            cr_assert(fscanf(f, "%u", &g->context) == 1);
        } else if (strcmp(word, "prompt") == 0) {
            g->prompt_count = read_ids(f, g->prompt);
        } else if (strcmp(word, "greedy") == 0) {
            g->greedy_count = read_ids(f, g->greedy);
        } else if (strcmp(word, "logits") == 0 || strcmp(word, "hidden") == 0) {
            cr_assert(fscanf(f, "%63s %u %u", word, &g->rows, &g->width) == 3);
            snprintf(file, sizeof file, "golden/%.100s", word);
            g->logits = read_rows(file, g->rows, g->width);
        } else if (strcmp(word, "pooled") == 0) {
            cr_assert(fscanf(f, "%63s %u", word, &g->pooled_width) == 2);
            snprintf(file, sizeof file, "golden/%.100s", word);
            g->pooled = read_rows(file, 1, g->pooled_width);
        } else if (strcmp(word, "lora") == 0) {
            read_adapter(g, f, TN_ADAPTER_LORA);
        } else if (strcmp(word, "control_vector") == 0) {
            read_adapter(g, f, TN_ADAPTER_CONTROL_VECTOR);
        } else if (strcmp(word, "tolerance") == 0) {
            cr_assert(fscanf(f, "%63s %lf", word, &tolerance) == 2);
            if (strcmp(word, "float32") == 0) { g->tolerance_f32 = tolerance; }
            if (strcmp(word, "float16") == 0) { g->tolerance_f16 = tolerance; }
            if (strcmp(word, "q8_activation_rms") == 0) { g->tolerance_q8_rms = tolerance; }
        }
        cr_assert(fscanf(f, "%*[^\n]") != EOF || feof(f)); /* the rest of the line */
    }
    fclose(f);
    cr_assert(g->logits && g->prompt_count == g->rows && (g->greedy_count || g->pooled) &&
                  g->tolerance_f32 > 0,
              "%s", path);
}

void golden_close(golden *g) {
    free(g->logits);
    free(g->pooled);
}
