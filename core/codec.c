/* A tokenizer plugin that claims the file's tokenizer.ggml.model: found, opened, asked. codec_encode.c encodes with
 * it. */
#include "codec.h"

#include "checked.h"

#include <inttypes.h>
#include <stdlib.h>

#define MODEL_KEY "tokenizer.ggml.model"

/* ---- faults ----------------------------------------------------------------------------------------- */

/* Passes reasons on, and keeps the first one in words in case that the plugin finds none of its own. */
typedef struct {
    const tn_report *to; /* may be NULL */
    tn_error first;
    uint64_t count;
} faults;

static const char *or_empty(const char *text) {
    return text ? text : "";
}

static void add_fault(const tn_report *report, const tn_reason *reason) {
    faults *all = report->context;
    if (all->count++ == 0) {
        tn_fail(&all->first, reason->code, "%s%s%s%s%s%s%s", or_empty(reason->subject),
                reason->found ? ": " : "", or_empty(reason->found), reason->wanted ? ", expected: " : "",
                or_empty(reason->wanted), reason->remedy ? "; " : "", or_empty(reason->remedy));
    }
    if (all->to) { all->to->add(all->to, reason); }
}

static int32_t add_and_fail(const tn_report *report, const tn_reason *reason, tn_error *err) {
    faults *all = report->context;
    add_fault(report, reason);
    return tn_fail(err, reason->code, "%s", all->first.text);
}

/* ---- finding the plugin ----------------------------------------------------------------------------- */

/* The families that are installed, separated by commas, as far as there is room. */
typedef struct {
    char text[256];
    size_t size;
} family_list;

static void list_family(void *context, const char *value, tn_entry *entry) {
    family_list *list = context;
    (void)entry;
    size_t left = sizeof list->text - list->size;
    int n = snprintf(list->text + list->size, left, "%s%s", list->size ? ", " : "", value);
    if (n > 0 && (size_t)n < left) {
        list->size += (size_t)n;
    } else {
        list->text[list->size] = 0;
    }
}

static int32_t unknown_family(tn_engine *engine, const char *name, const tn_report *report, tn_error *err) {
    family_list list = {.text = ""};
    const char *note = tn_registry_note(engine, "model", name);
    tn_registry_each(engine, "model", list_family, &list);
    const tn_reason reason = {.struct_size = sizeof reason,
                              .code = TN_E_TOKENIZER_UNKNOWN,
                              .subject = MODEL_KEY,
                              .found = name,
                              .wanted = list.size ? list.text : "a tokenizer plugin (none is installed)",
                              .remedy = note ? note : "install a tokenizer plugin that claims this name"};
    return add_and_fail(report, &reason, err);
}

/* The name of the file's tokenizer family, as a string without anything in it that no manifest could claim.
 */
static int32_t read_family(const tn_meta *meta, char *name, size_t capacity, const tn_report *report,
                           tn_error *err) {
    tn_kv kv = {.struct_size = sizeof kv};
    tn_reason reason = {.struct_size = sizeof reason,
                        .code = TN_E_TOKENIZER_UNKNOWN,
                        .subject = MODEL_KEY,
                        .wanted = "the name of a tokenizer family"};
    if (meta->find(meta, MODEL_KEY, &kv) != TN_OK) {
        reason.found = "no such key";
        return add_and_fail(report, &reason, err);
    }
    int printable = kv.type == TN_KV_STRING && kv.size > 0 && kv.size < capacity;
    for (uint64_t i = 0; printable && i < kv.size; i++) {
        unsigned char byte = ((const unsigned char *)kv.data)[i];
        printable = byte > 0x20 && byte < 0x7f;
    }
    if (!printable) {
        reason.found = kv.type == TN_KV_STRING ? "a string that is no name" : "a value that is no string";
        return add_and_fail(report, &reason, err);
    }
    memcpy(name, kv.data, kv.size);
    name[kv.size] = 0;
    return TN_OK;
}

static int32_t find_plugin(tn_engine *engine, const tn_meta *meta, const tn_report *report, tn_entry **entry,
                           tn_error *err) {
    char name[128];
    tn_error why = TN_ERROR_INIT;
    TN_TRY(read_family(meta, name, sizeof name, report, err));
    int32_t code = tn_registry_find(engine, "model", name, entry, &why);
    if (code == TN_OK) { return TN_OK; }
    if (code == TN_E_NOT_FOUND) { return unknown_family(engine, name, report, err); }
    const tn_reason reason = {
        .struct_size = sizeof reason, .code = code, .subject = MODEL_KEY, .found = name, .remedy = why.text};
    return add_and_fail(report, &reason, err);
}

static uint32_t agreed_size(const tn_entry *entry, uint32_t number, size_t mine) {
    uint32_t theirs = tn_entry_struct_size(entry, number);
    return theirs < mine ? theirs : (uint32_t)mine;
}

static int32_t open_plugin(tn_engine *engine, const tn_meta *meta, const tn_report *report,
                           tn_text_codec *codec, tn_error *err) {
    tn_entry *entry;
    tn_error why = TN_ERROR_INIT;
    const void *table;
    TN_TRY(find_plugin(engine, meta, report, &entry, err));
    codec->entry = entry;
    int32_t code = tn_entry_open(engine, entry, TN_TOKENIZER_1, &table, &codec->self, &why);
    if (code == TN_OK) {
        codec->table = table;
        codec->encode_size = agreed_size(entry, TN_STRUCT_tn_encode, sizeof(tn_encode));
        codec->vocab.struct_size = agreed_size(entry, TN_STRUCT_tn_vocab, sizeof codec->vocab);
        return TN_OK;
    }
    const tn_reason reason = {
        .struct_size = sizeof reason, .code = code, .subject = tn_entry_info(entry)->id, .found = why.text};
    return add_and_fail(report, &reason, err);
}

/* ---- open and close --------------------------------------------------------------------------------- */

/* Lets the plugin read the vocabulary. Faults that it reported count even if it then made do with them. */
static int32_t create_tokenizer(tn_text_codec *codec, const tn_meta *meta, const tn_report *report,
                                tn_error *err) {
    tn_error why = TN_ERROR_INIT;
    faults *all = report->context;
    int32_t code = codec->table->create(codec->self, meta, report, &codec->tokenizer, &why);
    if (code == TN_OK && all->count == 0) { return TN_OK; }
    if (code == TN_OK) { codec->table->destroy(codec->self, codec->tokenizer); }
    codec->tokenizer = NULL;
    if (all->count == 0) {
        const tn_reason reason = {.struct_size = sizeof reason,
                                  .code = code,
                                  .subject = "tokenizer",
                                  .found = why.text[0] ? why.text : "refused without a reason"};
        return add_and_fail(report, &reason, err);
    }
    return tn_fail(err, code != TN_OK ? code : all->first.code, "%s",
                   why.text[0] ? why.text : all->first.text);
}

int32_t tn_codec_open(tn_engine *engine, const tn_gguf *file, const tn_report *report, tn_text_codec **out,
                      tn_error *err) {
    faults all = {.to = report, .first = TN_ERROR_INIT};
    const tn_report mine = {.struct_size = sizeof mine, .context = &all, .add = add_fault};
    const tn_meta *meta = tn_gguf_meta(file);
    *out = NULL;
    tn_text_codec *codec = calloc(1, sizeof *codec);
    if (!codec) { TN_FAIL(err, TN_E_MEMORY, "no memory left for a tokenizer"); }
    int32_t code = open_plugin(engine, meta, &mine, codec, err);
    if (code == TN_OK) { code = create_tokenizer(codec, meta, &mine, err); }
    if (code != TN_OK) {
        free(codec);
        return code;
    }
    codec->table->vocab(codec->self, codec->tokenizer, &codec->vocab);
    codec->threads = tn_engine_threads(engine);
    *out = codec;
    return TN_OK;
}

void tn_codec_close(tn_text_codec *codec) {
    if (!codec) { return; }
    codec->table->destroy(codec->self, codec->tokenizer);
    free(codec);
}

/* ---- use -------------------------------------------------------------------------------------------- */

const tn_entry *tn_codec_entry(const tn_text_codec *codec) {
    return codec->entry;
}

static const char *plugin_id(const tn_text_codec *codec) {
    return tn_entry_info(codec->entry)->id;
}

void tn_codec_vocab(const tn_text_codec *codec, tn_vocab *out) {
    *out = codec->vocab;
}

uint32_t tn_codec_ends(const tn_text_codec *codec, int32_t id) {
    return codec->table->ends(codec->self, codec->tokenizer, id);
}

uint32_t tn_codec_kind(const tn_text_codec *codec, int32_t id) {
    return codec->table->kind(codec->self, codec->tokenizer, id);
}

int64_t tn_codec_piece(const tn_text_codec *codec, int32_t id, uint32_t flags, char *out, uint64_t capacity) {
    return codec->table->piece(codec->self, codec->tokenizer, id, flags, out, capacity);
}

int32_t tn_codec_find(const tn_text_codec *codec, const char *text, uint64_t size) {
    return codec->table->find(codec->self, codec->tokenizer, text, size);
}

/* Most ids are short words: one call does it nearly always, the second one always. */
int32_t tn_codec_decode(const tn_text_codec *codec, const int32_t *ids, uint64_t count, uint32_t flags,
                        char **text, uint64_t *size, tn_error *err) {
    uint64_t capacity;
    int32_t code = TN_E_RANGE;
    *text = NULL;
    *size = 0;
    if (!tn_mul_u64(count, 8, &capacity)) { TN_FAIL(err, TN_E_INPUT, "%" PRIu64 " ids are too many", count); }
    for (int attempt = 0; attempt < 2 && code == TN_E_RANGE; attempt++) {
        free(*text);
        *text = malloc(capacity + 1);
        if (!*text) { TN_FAIL(err, TN_E_MEMORY, "no memory left for the text of %" PRIu64 " ids", count); }
        code = codec->table->decode(codec->self, codec->tokenizer, ids, count, flags, *text, capacity, size,
                                    err);
        if (code == TN_E_RANGE) { capacity = *size; }
    }
    if (code == TN_OK && *size > capacity) {
        code = tn_fail(err, TN_E_BUG, "%s decoded more bytes than it had room for", plugin_id(codec));
    }
    if (code != TN_OK) {
        free(*text);
        *text = NULL;
        *size = 0;
        return code;
    }
    (*text)[*size] = 0;
    return TN_OK;
}
