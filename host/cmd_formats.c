/*
 * cmd_formats.c - tenon formats: what each tensor format's plugin can do here; tenon check: are the blocks of a
 * file ones that an encoder writes.
 */
#include "commands.h"

#include "tenon/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- formats ------------------------------------------------------------------------------------------- */

struct format_list {
    tn_engine *engine;
    json_t *rows;
    uint32_t *types;
    size_t count;
    int status;
};

static void collect_type(void *context, uint32_t type) {
    struct format_list *list = context;
    uint32_t *types = realloc(list->types, (list->count + 1) * sizeof *types);
    if (!types) {
        list->status = EXIT_FAILED;
        return;
    }
    list->types = types;
    types[list->count++] = type;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* "avx512_vnni", or "portable"; a plain "avx512" is left out beside what extends it. */
static json_t *isa_json(uint64_t isa) {
#define ISA_ROW(name, bit) {name, bit},
    static const struct {
        const char *name;
        uint64_t bit;
    } names[] = {TN_ISA_NAMES(ISA_ROW)};
    const uint64_t extensions = TN_ISA_AVX512_VNNI | TN_ISA_AVX512_VBMI | TN_ISA_AVX512_BF16;
    char text[128] = "";
    if (isa & extensions) { isa &= ~TN_ISA_AVX512; }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t used = strlen(text);
        if (isa & names[i].bit) {
            snprintf(text + used, sizeof text - used, "%s%s", used ? "+" : "", names[i].name);
        }
    }
    return json_string(*text ? text : "portable");
}

/* The instruction sets that a format has a kernel of this kind for, in the order of its table. */
static json_t *kernels_json(const tn_format *format, uint32_t kind) {
    json_t *list = json_array();
    for (uint32_t k = 0; k < format->kernel_count; k++) {
        if (format->kernels[k]->kind == kind) {
            json_array_append_new(list, isa_json(format->kernels[k]->isa));
        }
    }
    return list;
}

static const char *written(const tn_format *format) {
    if (!format->encode) { return "no"; }
    switch (format->importance) {
    case TN_IMPORTANCE_NEEDED: return "needs importance";
    case TN_IMPORTANCE_USED: return "uses importance";
    default: return "yes";
    }
}

static json_t *format_json(const tn_format_use *use) {
    const tn_format *format = use->format;
    json_t *row = json_object();
    set_count(row, "id", format->type);
    set_text(row, "name", format->name);
    set_count(row, "block", format->block);
    set_count(row, "bytes", format->block_bytes);
    json_object_set_new(row, "bits_per_weight", json_real(8.0 * format->block_bytes / format->block));
    json_object_set_new(row, "read", json_boolean(format->decode != NULL));
    set_text(row, "written", written(format));
    set_text(row, "plugin", use->plugin->id);
    json_object_set_new(row, "gemv", kernels_json(format, TN_KERNEL_GEMV));
    json_object_set_new(row, "unpack", kernels_json(format, TN_KERNEL_UNPACK));
    json_object_set_new(row, "store", kernels_json(format, TN_KERNEL_STORE));
    json_object_set_new(row, "blend", kernels_json(format, TN_KERNEL_BLEND));
    return row;
}

static int list_formats(struct format_list *list) {
    int status = EXIT_DONE;
    tn_engine_each_type(list->engine, collect_type, list);
    if (list->status != EXIT_DONE) {
        fprintf(stderr, "tenon: not enough memory\n");
        return list->status;
    }
    if (list->count) { qsort(list->types, list->count, sizeof *list->types, by_number); }
    for (size_t i = 0; i < list->count; i++) {
        tn_format_use use;
        tn_error err = TN_ERROR_INIT;
        if (tn_engine_format(list->engine, list->types[i], &use, &err) != TN_OK) {
            status = report_error(&err);
            continue;
        }
        json_array_append_new(list->rows, format_json(&use));
    }
    return status;
}

int cmd_formats(struct options *options) {
    struct format_list list = {0};
    int status = open_engine(options, &list.engine);
    if (status == EXIT_DONE) {
        json_t *report = json_object();
        list.rows = json_array();
        json_object_set_new(report, "formats", list.rows);
        status = list_formats(&list);
        finish_report(options, report);
    }
    free(list.types);
    tn_engine_destroy(list.engine);
    return status;
}

/* ---- check --------------------------------------------------------------------------------------------- */

struct check {
    const struct options *options;
    tn_engine *engine;
    json_t *faults;    /* a row a tensor with bad blocks */
    json_t *unchecked; /* a row a tensor whose type nobody can check */
    struct progress progress;
    uint64_t checked, blocks, bad; /* tensors; blocks */
    uint64_t done, total;          /* bytes */
};

static json_t *fault_json(const tn_engine *engine, const tn_gguf_tensor *tensor,
                          const tn_tensor_faults *found) {
    json_t *row = json_object();
    const char *type = tn_engine_type_name(engine, tensor->type);
    set_text(row, "tensor", tensor->name);
    set_text(row, "type", type ? type : "?");
    set_count(row, "first_bad_block", found->first);
    set_count(row, "row", found->first / (found->blocks / (tensor->elements / tensor->dims[0])));
    set_count(row, "bad_blocks", found->bad);
    set_count(row, "of", found->blocks);
    return row;
}

static int check_tensor(struct check *check, const tn_gguf_tensor *tensor) {
    tn_error err = TN_ERROR_INIT;
    tn_tensor_faults found;
    int32_t code = tn_tensor_check(check->engine, tensor, &found, &err);
    if (tn_code_status(code) == EXIT_REFUSED) { /* the others may still be looked at */
        json_t *row = json_object();
        set_text(row, "tensor", tensor->name);
        set_text(row, "why", err.text);
        json_array_append_new(check->unchecked, row);
        return EXIT_DONE;
    }
    if (code != TN_OK) { return report_error(&err); }
    check->checked++;
    check->blocks += found.blocks;
    check->bad += found.bad;
    if (found.bad) { json_array_append_new(check->faults, fault_json(check->engine, tensor, &found)); }
    return EXIT_DONE;
}

static int check_all(struct check *check, const tn_gguf *file) {
    uint64_t count = tn_gguf_tensor_count(file);
    int status = EXIT_DONE;
    for (uint64_t i = 0; i < count; i++) { check->total += tn_gguf_tensor_at(file, i)->size; }
    progress_begin(&check->progress, check->options);
    for (uint64_t i = 0; status == EXIT_DONE && i < count; i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(file, i);
        status = interrupted() ? EXIT_INTERRUPTED : check_tensor(check, tensor);
        check->done += tensor->size;
        progress_show(&check->progress, check->done, check->total, "tensor %" PRIu64 " of %" PRIu64, i + 1,
                      count);
    }
    progress_end(&check->progress);
    return status;
}

static void print_check(struct check *check, const tn_gguf *file) {
    json_t *report = json_object();
    set_text(report, "file", check->options->model);
    set_count(report, "tensors", tn_gguf_tensor_count(file));
    set_count(report, "checked", check->checked);
    set_count(report, "blocks", check->blocks);
    set_count(report, "bad_blocks", check->bad);
    json_object_set(report, "faults", check->faults);
    json_object_set(report, "not_checked", check->unchecked);
    finish_report(check->options, report);
}

int cmd_check(struct options *options) {
    struct check check = {.options = options, .faults = json_array(), .unchecked = json_array()};
    tn_gguf *file = NULL;
    int status = open_engine(options, &check.engine);
    if (status == EXIT_DONE) {
        tn_error err = TN_ERROR_INIT;
        if (tn_gguf_open(options->model, tn_engine_types(check.engine), &file, &err) != TN_OK) {
            status = report_error(&err);
        }
    }
    if (status == EXIT_DONE) { status = check_all(&check, file); }
    if (status == EXIT_DONE) {
        print_check(&check, file);
        status = check.bad ? EXIT_FAULTS : json_array_size(check.unchecked) != 0 ? EXIT_REFUSED : EXIT_DONE;
    }
    json_decref(check.faults);
    json_decref(check.unchecked);
    tn_gguf_close(file);
    tn_engine_destroy(check.engine);
    return status;
}
