/*
 * adapters.c - --lora, --control-vector and --control-vector-layers, as libtenon wants them.
 */
#include "options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* FILE=SCALE. What follows the last = is part of the name unless it is a number. */
static int read_one(const struct command *command, const char *option, const char *text, tn_adapter *out) {
    const char *equals = strrchr(text, '=');
    size_t size = strlen(text);
    char *end = NULL;
    out->scale = 1;
    double scale = equals && equals[1] ? strtod(equals + 1, &end) : 1;
    if (end && !*end) {
        if (!isfinite((float)scale) || equals == text) {
            return usage_error(command->name, "--%s: \"%s\" is no FILE=SCALE with a finite number", option,
                               text);
        }
        out->scale = scale;
        size = (size_t)(equals - text);
    }
    out->path = strndup(text, size);
    if (out->path) { return EXIT_DONE; }
    fprintf(stderr, "tenon: not enough memory\n");
    return EXIT_FAILED;
}

static int read_list(const struct command *command, const char *option, const struct text_list *list,
                     uint32_t kind, struct options *out) {
    for (uint64_t i = 0; i < list->count; i++) {
        tn_adapter *adapter = &out->adapters[out->adapter_count++];
        *adapter = (tn_adapter){.kind = kind};
        int status = read_one(command, option, list->at[i], adapter);
        if (status != EXIT_DONE) { return status; }
    }
    return EXIT_DONE;
}

/* "A-B" of digits, at most six each. */
static bool read_range(const char *text, uint32_t *first, uint32_t *last) {
    size_t a = strspn(text, "0123456789");
    size_t b = text[a] == '-' ? strspn(text + a + 1, "0123456789") : 0;
    if (a < 1 || a > 6 || b < 1 || b > 6 || text[a + 1 + b]) { return false; }
    *first = (uint32_t)strtoul(text, NULL, 10);
    *last = (uint32_t)strtoul(text + a + 1, NULL, 10);
    return *first <= *last && *last > 0;
}

static int read_layers(const struct command *command, struct options *out) {
    uint32_t first, last;
    if (!out->control_layers) { return EXIT_DONE; }
    if (!out->control_vectors.count) {
        return usage_error(command->name, "--control-vector-layers without --control-vector");
    }
    if (!read_range(out->control_layers, &first, &last)) {
        return usage_error(command->name, "--control-vector-layers: \"%s\" is no A-B, as in 10-20",
                           out->control_layers);
    }
    for (uint32_t i = 0; i < out->adapter_count; i++) {
        if (out->adapters[i].kind != TN_ADAPTER_CONTROL_VECTOR) { continue; }
        out->adapters[i].first = first;
        out->adapters[i].last = last;
    }
    return EXIT_DONE;
}

int adapters_read(const struct command *command, struct options *out) {
    int status = read_list(command, "lora", &out->loras, TN_ADAPTER_LORA, out);
    if (status == EXIT_DONE) {
        status = read_list(command, "control-vector", &out->control_vectors, TN_ADAPTER_CONTROL_VECTOR, out);
    }
    return status == EXIT_DONE ? read_layers(command, out) : status;
}

void adapters_free(struct options *options) {
    for (uint32_t i = 0; i < options->adapter_count; i++) { free((char *)options->adapters[i].path); }
    options->adapter_count = 0;
}
