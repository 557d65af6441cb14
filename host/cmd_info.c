/*
 * cmd_info.c - tenon info: what a model file is, as far as it can be read, and whether it would load.
 */
#include "commands.h"

#include "tenon/ctc.h"

#include <stdlib.h>
#include <string.h>

struct info {
    const struct options *options;
    tn_engine *engine;
    tn_gguf *file;
    tn_fit *fit;
    json_t *report;
};

/* ---- the program ------------------------------------------------------------------------------------- */

static void add_program(struct info *info) {
    json_t *backends = json_array();
    for (uint32_t i = 0; i < tn_engine_plugin_count(info->engine); i++) {
        const tn_plugin_info *plugin = tn_engine_plugin(info->engine, i);
        if (strcmp(plugin->kind, "backend") == 0 && plugin->fault == TN_OK) {
            json_array_append_new(backends, json_string(plugin->id));
        }
    }
    set_text(info->report, "tenon", tn_version());
    set_text(info->report, "instruction_sets", tn_engine_isa_text(info->engine));
    set_count(info->report, "threads", tn_engine_threads(info->engine));
    set_text(info->report, "backend", info->options->backend);
    json_object_set_new(info->report, "backends_installed", backends);
}

/* ---- metadata ---------------------------------------------------------------------------------------- */

static json_t *element_json(const tn_kv *kv, uint64_t i) {
    uint32_t type = kv->type == TN_KV_ARRAY ? kv->element_type : kv->type;
    int64_t whole;
    double real;
    if (type == TN_KV_BOOL) { return json_boolean(((const unsigned char *)kv->data)[i]); }
    if (tn_kv_int(kv, i, &whole)) { return json_integer(whole); }
    if (tn_kv_float(kv, i, &real)) {
        json_t *number = json_real(real);
        return number ? number : json_string(real != real ? "nan" : real > 0 ? "inf" : "-inf");
    }
    return json_null();
}

/* A value; of a long array or string only the beginning. */
static json_t *value_json(const tn_kv *kv) {
    enum { SHOWN = 8, SHOWN_BYTES = 200 };
    if (kv->type == TN_KV_STRING) {
        return text_json(kv->data, kv->count < SHOWN_BYTES ? (size_t)kv->count : SHOWN_BYTES);
    }
    if (kv->type != TN_KV_ARRAY) { return element_json(kv, 0); }
    json_t *list = json_array();
    const unsigned char *at = kv->data;
    for (uint64_t i = 0; i < kv->count && i < SHOWN; i++) {
        if (kv->element_type == TN_KV_STRING) {
            tn_text text = tn_string_next(&at);
            json_array_append_new(list, text_json(text.data, (size_t)text.size));
        } else {
            json_array_append_new(list, element_json(kv, i));
        }
    }
    return list;
}

static json_t *meta_json(const tn_gguf *file) {
    static const char *const types[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};
    json_t *list = json_array();
    for (uint64_t i = 0; i < tn_gguf_kv_count(file); i++) {
        tn_kv kv = {.struct_size = sizeof kv};
        const char *key = tn_gguf_kv_at(file, i, &kv);
        json_t *row = json_object();
        char type[48];
        if (kv.type == TN_KV_ARRAY) {
            snprintf(type, sizeof type, "%s[%llu]", types[kv.element_type], (unsigned long long)kv.count);
        } else {
            snprintf(type, sizeof type, "%s", types[kv.type]);
        }
        set_text(row, "key", key);
        set_text(row, "type", type);
        json_object_set_new(row, "value", value_json(&kv));
        json_array_append_new(list, row);
    }
    return list;
}

static void add_string(struct info *info, const char *name, const char *key) {
    tn_kv kv = {.struct_size = sizeof kv};
    const tn_meta *meta = tn_gguf_meta(info->file);
    if (meta->find(meta, key, &kv) == TN_OK && kv.type == TN_KV_STRING) {
        json_object_set_new(info->report, name, text_json(kv.data, (size_t)kv.count));
    }
}

/* ---- the file ---------------------------------------------------------------------------------------- */

static const char *type_name(const tn_engine *engine, uint32_t type, char *number, size_t capacity) {
    const char *name = tn_engine_type_name(engine, type);
    if (name) { return name; }
    snprintf(number, capacity, "type %u", type);
    return number;
}

static json_t *tensors_json(const struct info *info) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < tn_gguf_tensor_count(info->file); i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(info->file, i);
        char number[24];
        json_t *row = json_object(), *dims = json_array();
        for (uint32_t d = 0; d < tensor->dim_count; d++) {
            json_array_append_new(dims, json_integer((json_int_t)tensor->dims[d]));
        }
        set_text(row, "name", tensor->name);
        set_text(row, "type", type_name(info->engine, tensor->type, number, sizeof number));
        json_object_set_new(row, "shape", dims);
        set_count(row, "bytes", tensor->size);
        set_count(row, "offset", tensor->offset);
        if (tn_gguf_file_count(info->file) > 1) { set_count(row, "shard", tensor->file + 1); }
        json_array_append_new(list, row);
    }
    return list;
}

/* One row a tensor type, in the order in which they occur. */
static json_t *histogram_json(const struct info *info) {
    json_t *rows = json_array();
    uint64_t tensors = tn_gguf_tensor_count(info->file), total = 0;
    for (uint64_t i = 0; i < tensors; i++) { total += tn_gguf_tensor_at(info->file, i)->size; }
    for (uint64_t i = 0; i < tensors; i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(info->file, i);
        char number[24];
        const char *name = type_name(info->engine, tensor->type, number, sizeof number);
        size_t r;
        json_t *row = NULL, *at;
        json_array_foreach (rows, r, at) {
            if (strcmp(json_string_value(json_object_get(at, "type")), name) == 0) { row = at; }
        }
        if (!row) {
            row = json_object();
            set_text(row, "type", name);
            set_count(row, "tensors", 0);
            set_count(row, "elements", 0);
            set_count(row, "bytes", 0);
            json_array_append_new(rows, row);
        }
        json_integer_set(json_object_get(row, "tensors"),
                         json_integer_value(json_object_get(row, "tensors")) + 1);
        json_integer_set(json_object_get(row, "elements"),
                         json_integer_value(json_object_get(row, "elements")) + (json_int_t)tensor->elements);
        json_integer_set(json_object_get(row, "bytes"),
                         json_integer_value(json_object_get(row, "bytes")) + (json_int_t)tensor->size);
    }
    size_t r;
    json_t *row;
    json_array_foreach (rows, r, row) {
        double bytes = (double)json_integer_value(json_object_get(row, "bytes"));
        double elements = (double)json_integer_value(json_object_get(row, "elements"));
        json_object_set_new(row, "percent_of_bytes", json_real(total ? 100 * bytes / (double)total : 0));
        json_object_set_new(row, "bits_per_weight", json_real(elements > 0 ? 8 * bytes / elements : 0));
    }
    return rows;
}

/* A model that reads frames has an alphabet where others have layers and a vocabulary. */
static void add_recogniser(struct info *info, const tn_facts *facts) {
    const tn_alphabet *alphabet = tn_fit_alphabet(info->fit);
    set_text(info->report, "kind", "recogniser");
    set_count(info->report, "frame_width", facts->width);
    set_count(info->report, "context", facts->context);
    if (!alphabet) { return; }
    set_count(info->report, "alphabet", alphabet->size);
    set_count(info->report, "blank", alphabet->blank);
    json_object_set_new(info->report, "bigrams", json_boolean(alphabet->bigram_weight > 0));
    if (alphabet->bigram_weight > 0) {
        json_object_set_new(info->report, "bigram_weight", json_real(alphabet->bigram_weight));
    }
}

static void add_facts(struct info *info) {
    const tn_facts *facts = tn_fit_facts(info->fit);
    json_t *report = info->report;
    if (!facts) { return; }
    if (facts->kind == TN_ARCH_RECOGNISER) {
        add_recogniser(info, facts);
        return;
    }
    set_text(report, "kind", facts->kind == TN_ARCH_ENCODER ? "encoder" : "decoder");
    set_count(report, "layers", facts->layers);
    set_count(report, "width", facts->width);
    set_count(report, "heads", facts->heads);
    set_count(report, "kv_heads", facts->kv_heads);
    set_count(report, "head_size", facts->key_dim);
    if (facts->value_dim != facts->key_dim) { set_count(report, "value_size", facts->value_dim); }
    set_count(report, "feed_forward", facts->feed_forward);
    if (facts->experts) {
        set_count(report, "experts", facts->experts);
        set_count(report, "experts_used", facts->experts_used);
    }
    set_count(report, "context", facts->context);
    if (facts->rotated) { json_object_set_new(report, "rope_base", json_real(facts->rope_base)); }
    if (tn_fit_kv_bytes(info->fit)) {
        set_count(report, "kv_bytes_per_token", tn_fit_kv_bytes(info->fit));
        set_text(report, "kv_type", info->options->cache);
    }
}

static void add_vocabulary(struct info *info) {
    const tn_vocab *vocab = tn_fit_vocab(info->fit);
    add_string(info, "tokenizer", "tokenizer.ggml.model");
    add_string(info, "pre_tokenizer", "tokenizer.ggml.pre");
    if (!vocab) { return; }
    const struct {
        const char *name;
        int32_t id;
    } special[] = {{"bos", vocab->bos},         {"eos", vocab->eos},         {"eot", vocab->eot},
                   {"eom", vocab->eom},         {"unknown", vocab->unknown}, {"separator", vocab->separator},
                   {"padding", vocab->padding}, {"mask", vocab->mask}};
    json_t *ids = json_object();
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (special[i].id >= 0) { json_object_set_new(ids, special[i].name, json_integer(special[i].id)); }
    }
    set_count(info->report, "vocabulary", vocab->size);
    json_object_set_new(info->report, "special_ids", ids);
    json_object_set_new(info->report, "bos_in_front", json_boolean(vocab->add_bos));
    set_text(info->report, "decodes_exactly",
             vocab->exact == 2   ? "every byte string"
             : vocab->exact == 1 ? "well-formed UTF-8"
                                 : "not promised");
    if (vocab->exact && *vocab->exact_except) { set_text(info->report, "except", vocab->exact_except); }
}

static void add_audit(struct info *info) {
    uint64_t tensors, read;
    char text[96];
    tn_fit_audit(info->fit, &tensors, &read);
    if (tensors == read) {
        snprintf(text, sizeof text, "%llu of %llu tensors read, none unread", (unsigned long long)read,
                 (unsigned long long)tensors);
    } else {
        snprintf(text, sizeof text, "%llu of %llu tensors read, %llu unread", (unsigned long long)read,
                 (unsigned long long)tensors, (unsigned long long)(tensors - read));
    }
    set_text(info->report, "audit", text);
    json_t *unused = json_array();
    for (uint32_t i = 0; tn_fit_unused(info->fit, i); i++) {
        const char *name = tn_fit_unused(info->fit, i);
        json_array_append_new(unused, text_json(name, strlen(name)));
    }
    if (json_array_size(unused)) { json_object_set(info->report, "known_and_unneeded", unused); }
    json_decref(unused);
}

static void add_file(struct info *info) {
    const tn_gguf *file = info->file;
    set_text(info->report, "file", info->options->model);
    if (!file) { return; }
    set_count(info->report, "gguf_version", tn_gguf_version(file));
    if (tn_gguf_file_count(file) > 1) { set_count(info->report, "shards", tn_gguf_file_count(file)); }
    set_count(info->report, "bytes", tn_gguf_size(file));
    set_text(info->report, "architecture", tn_fit_architecture(info->fit));
    add_string(info, "name", "general.name");
    add_facts(info);
    add_vocabulary(info);
    json_object_set_new(info->report, "tensor_types", histogram_json(info));
    add_audit(info);
    if (info->options->tensors) { json_object_set_new(info->report, "tensors", tensors_json(info)); }
    if (info->options->meta) { json_object_set_new(info->report, "metadata", meta_json(file)); }
}

/* ---- --tokenize -------------------------------------------------------------------------------------- */

/* Encodes a text and decodes it again: its tokens, and whether the same bytes came back. */
static int32_t round_trip(const tn_text_codec *codec, const char *text, size_t size, uint64_t *tokens,
                          bool *exact, tn_error *err) {
    int32_t *ids = NULL;
    char *back = NULL;
    uint64_t back_size = 0;
    int32_t code = tn_codec_encode(codec, text, size, 0, &ids, tokens, err);
    if (code == TN_OK) { code = tn_codec_decode(codec, ids, *tokens, 0, &back, &back_size, err); }
    *exact = code == TN_OK && back_size == size && memcmp(back, text, size) == 0;
    free(ids);
    free(back);
    return code;
}

static int32_t tokenize_lines(const tn_text_codec *codec, const char *text, size_t size, json_t *report,
                              tn_error *err) {
    enum { SHOWN = 20 };
    uint64_t lines = 0, exact_lines = 0, tokens;
    json_t *faults = json_array();
    int32_t code = TN_OK;
    for (size_t at = 0; at < size && code == TN_OK; lines++) {
        const char *newline = memchr(text + at, '\n', size - at);
        size_t length = newline ? (size_t)(newline - text) - at : size - at;
        bool exact;
        code = round_trip(codec, text + at, length, &tokens, &exact, err);
        exact_lines += exact;
        if (!exact && json_array_size(faults) < SHOWN) {
            json_array_append_new(faults, json_integer((json_int_t)lines + 1));
        }
        at += length + 1;
    }
    set_count(report, "lines", lines);
    set_count(report, "lines_exact", exact_lines);
    json_object_set_new(report, "lines_not_exact", faults);
    return code;
}

static int add_tokenization(struct info *info) {
    tn_error err = TN_ERROR_INIT;
    tn_text_codec *codec = NULL;
    char *text = NULL;
    size_t size;
    uint64_t tokens = 0;
    bool exact = false;
    int status = read_text(info->options->tokenize, &text, &size);
    if (status != EXIT_DONE) { return status; }
    json_t *report = json_object();
    int32_t code = tn_codec_open(info->engine, info->file, NULL, &codec, &err);
    if (code == TN_OK) { code = round_trip(codec, text, size, &tokens, &exact, &err); }
    set_text(report, "text_file", info->options->tokenize);
    set_count(report, "text_bytes", size);
    set_count(report, "text_tokens", tokens);
    json_object_set_new(report, "bytes_per_token", json_real(tokens ? (double)size / (double)tokens : 0));
    json_object_set_new(report, "text_exact", json_boolean(exact));
    if (code == TN_OK) { code = tokenize_lines(codec, text, size, report, &err); }
    if (code == TN_OK) {
        json_object_update(info->report, report);
    } else if (fit_status(info->fit) == EXIT_DONE) {
        status = report_error(&err);
    } /* else the reasons of the refusal say it */
    json_decref(report);
    tn_codec_close(codec);
    free(text);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------------- */

static int make_report(struct info *info) {
    int status = EXIT_DONE;
    info->report = json_object();
    add_program(info);
    add_file(info);
    if (info->options->tokenize && info->file) { status = add_tokenization(info); }
    if (status != EXIT_DONE) { return status; }
    if (fit_status(info->fit) != EXIT_DONE) {
        json_object_set_new(info->report, "reasons", reasons_json(info->fit));
    }
    if (info->options->json) {
        print_json(info->report, stdout);
    } else {
        json_object_del(info->report, "reasons");
        print_report(info->report, stdout);
    }
    if (fit_status(info->fit) != EXIT_DONE && !info->options->json) {
        fflush(stdout);
        fprintf(stderr, "tenon: %s is refused:\n", info->options->model);
        print_reasons(info->fit, stderr);
    }
    return fit_status(info->fit);
}

int cmd_info(struct options *options) {
    struct info info = {.options = options};
    int status = open_engine(options, &info.engine);
    if (status == EXIT_DONE) { status = open_fit(info.engine, options, &info.file, &info.fit); }
    if (status == EXIT_DONE) { status = make_report(&info); }
    json_decref(info.report);
    tn_fit_free(info.fit);
    tn_gguf_close(info.file);
    tn_engine_destroy(info.engine);
    return status;
}
