/*
 * codec_encode.c - text to ids: in one call of the plugin, or, a long text, cut where the plugin says that it can be
 * cut and its parts encoded by several threads. Both give the same ids.
 */
#include "checked.h"
#include "codec.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    LONG_TEXT = 256 * 1024, /* bytes; shorter ones are done before a thread has begun */
    PART_LEAST = 64 * 1024,
    PARTS_A_THREAD = 4, /* parts take unequal time */
};

/* ---- what the plugin can do ------------------------------------------------------------------------- */

#define KNOWS(codec, member)                                                                                 \
    ((codec)->encode_size >= offsetof(tn_encode, member) + sizeof(((tn_encode *)0)->member))

static const char *plugin_id(const tn_text_codec *codec) {
    return tn_entry_info(codec->entry)->id;
}

static int can_cut(const tn_text_codec *codec) {
    return TN_HAS(codec->table, cut) && codec->table->cut != NULL;
}

/* What is asked for and the plugin cannot see would be left out without a word. */
static int32_t check_known(const tn_text_codec *codec, const tn_codec_text *text, int types, tn_error *err) {
    const char *lacks = NULL;
    if (text->plain_count && !KNOWS(codec, plain_count)) { lacks = "text without special tokens inside it"; }
    if (text->pair && !KNOWS(codec, pair_size)) { lacks = "pairs of texts"; }
    if (types && !KNOWS(codec, types)) { lacks = "segment numbers"; }
    if (text->flags & (TN_ENCODE_CONTINUES | TN_ENCODE_MORE) && !can_cut(codec)) {
        lacks = "parts of a text";
    }
    if (!lacks) { return TN_OK; }
    TN_FAIL(err, TN_E_PLUGIN_ABI, "%s was built for an interface that had no %s yet", plugin_id(codec),
            lacks);
}

static int32_t check_plain(const tn_codec_text *text, tn_error *err) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < text->plain_count; i++) {
        uint64_t begin = text->plain[2 * i], end = text->plain[2 * i + 1];
        if (begin < at || end < begin || end > text->size) {
            TN_FAIL(err, TN_E_INPUT,
                    "plain range %" PRIu64 " is %" PRIu64 " to %" PRIu64
                    ", expected: in order, apart, inside %" PRIu64 " bytes",
                    i, begin, end, text->size);
        }
        at = end;
    }
    return TN_OK;
}

int32_t tn_codec_cut(const tn_text_codec *codec, const char *text, uint64_t size, uint32_t flags,
                     uint64_t *at, tn_error *err) {
    *at = can_cut(codec) ? codec->table->cut(codec->self, codec->tokenizer, text, size, flags) : 0;
    if (*at <= size) { return TN_OK; }
    TN_FAIL(err, TN_E_BUG, "%s cuts %" PRIu64 " bytes at %" PRIu64, plugin_id(codec), size, *at);
}

/* ---- one call --------------------------------------------------------------------------------------- */

typedef struct {
    int32_t *ids;
    uint8_t *types; /* NULL: not wanted */
    uint64_t count;
} id_list;

static void list_free(id_list *list) {
    free(list->ids);
    free(list->types);
    *list = (id_list){0};
}

#define NO_TYPE 0xff

/* Room for `capacity` ids, at least one byte; what was there is lost. */
static int32_t list_make(id_list *list, uint64_t capacity, int types, uint64_t size, tn_error *err) {
    uint64_t room;
    list_free(list);
    if (tn_mul_u64(capacity, sizeof *list->ids, &room)) { list->ids = malloc(room ? room : 1); }
    if (types && list->ids) { list->types = malloc(capacity ? capacity : 1); }
    if (list->types) { memset(list->types, NO_TYPE, capacity); }
    if (list->ids && (list->types || !types)) { return TN_OK; }
    list_free(list);
    TN_FAIL(err, TN_E_MEMORY, "no memory left for the ids of %" PRIu64 " bytes", size);
}

/* Gives back what was too much. */
static void list_fit(id_list *list) {
    int32_t *ids = realloc(list->ids, list->count ? list->count * sizeof *ids : 1);
    if (ids) { list->ids = ids; }
    uint8_t *types = list->types ? realloc(list->types, list->count ? list->count : 1) : NULL;
    if (types) { list->types = types; }
}

/* A text rarely has more ids than bytes; where it has, the first call says how many, and the second one fits. */
static int32_t encode_whole(const tn_text_codec *codec, const tn_codec_text *text, int types, id_list *out,
                            tn_error *err) {
    tn_encode call = {.struct_size = codec->encode_size,
                      .flags = text->flags,
                      .text = text->text ? text->text : "",
                      .text_size = text->size,
                      .plain = text->plain,
                      .plain_count = text->plain_count,
                      .pair = text->pair,
                      .pair_size = text->pair ? text->pair_size : 0};
    int32_t code = TN_E_RANGE;
    if (!tn_add_u64(text->size, call.pair_size, &call.count) || !tn_add_u64(call.count, 4, &call.count)) {
        TN_FAIL(err, TN_E_INPUT, "a text of %" PRIu64 " bytes is too long", text->size);
    }
    for (int attempt = 0; attempt < 2 && code == TN_E_RANGE; attempt++) {
        call.capacity = call.count;
        TN_TRY(list_make(out, call.capacity, types, text->size, err));
        call.ids = out->ids;
        call.types = out->types;
        code = codec->table->encode(codec->self, codec->tokenizer, &call, err);
    }
    if (code == TN_OK && call.count > call.capacity) {
        code = tn_fail(err, TN_E_BUG, "%s made %" PRIu64 " ids of %" PRIu64 " bytes", plugin_id(codec),
                       call.count, text->size);
    }
    if (code == TN_OK && types && memchr(out->types, NO_TYPE, call.count)) {
        code = tn_fail(err, TN_E_BUG, "%s gave no segment numbers", plugin_id(codec));
    }
    if (code != TN_OK) {
        list_free(out);
        return code;
    }
    out->count = call.count;
    list_fit(out);
    return TN_OK;
}

/* ---- parts ------------------------------------------------------------------------------------------ */

typedef struct {
    uint64_t begin, end;
    id_list list;
} part;

typedef struct {
    const tn_text_codec *codec;
    const tn_codec_text *text;
    int types;
    part *parts;
    uint64_t count, capacity;
    atomic_ullong next;
    pthread_mutex_t lock; /* of what follows; taken on failure only */
    atomic_ullong failed; /* the first part that failed; `count` and more: none */
    int32_t code;
    tn_error err;
} job;

/* Cuts the text about every `step` bytes. Where there is no place to cut the next look goes twice as far, so that all
 * looks together pass over a text a few times at most. */
static int32_t plan_parts(job *j, uint64_t step, tn_error *err) {
    const tn_codec_text *text = j->text;
    uint64_t begin = 0, reach = step;
    while (reach < text->size - begin && j->count + 1 < j->capacity) {
        uint64_t at;
        uint32_t flags = text->flags | (begin ? TN_ENCODE_CONTINUES : 0);
        TN_TRY(tn_codec_cut(j->codec, text->text + begin, reach, flags, &at, err));
        if (at) {
            j->parts[j->count++] = (part){.begin = begin, .end = begin + at};
            begin += at;
            reach = step;
        } else {
            reach *= 2;
        }
    }
    j->parts[j->count++] = (part){.begin = begin, .end = text->size};
    return TN_OK;
}

static void note_failure(job *j, uint64_t i, int32_t code, const tn_error *err) {
    pthread_mutex_lock(&j->lock);
    if (i < atomic_load(&j->failed)) {
        atomic_store(&j->failed, i);
        j->code = code;
        j->err = *err;
    }
    pthread_mutex_unlock(&j->lock);
}

/* Parts are taken in their order: once one has failed, those behind it need not be done. */
static void *encode_parts(void *context) {
    job *j = context;
    for (;;) {
        uint64_t i = atomic_fetch_add(&j->next, 1);
        if (i >= j->count || i > atomic_load(&j->failed)) { return NULL; }
        part *p = &j->parts[i];
        tn_codec_text text = {.text = j->text->text + p->begin,
                              .size = p->end - p->begin,
                              .flags = j->text->flags | (i ? TN_ENCODE_CONTINUES : 0) |
                                       (i + 1 < j->count ? TN_ENCODE_MORE : 0)};
        tn_error err = TN_ERROR_INIT;
        int32_t code = encode_whole(j->codec, &text, j->types, &p->list, &err);
        if (code != TN_OK) { note_failure(j, i, code, &err); }
    }
}

/* Whatever threads cannot be had, the caller does their work. */
static int32_t run_parts(job *j, uint32_t threads, tn_error *err) {
    pthread_t *helpers = calloc(threads, sizeof *helpers);
    uint32_t started = 0;
    while (helpers && started + 1 < threads &&
           pthread_create(&helpers[started], NULL, encode_parts, j) == 0) {
        started++;
    }
    encode_parts(j);
    while (started) { pthread_join(helpers[--started], NULL); }
    free(helpers);
    if (j->code != TN_OK) { TN_FAIL(err, j->code, "%s", j->err.text); }
    return TN_OK;
}

/* Parts leave as soon as they are copied. */
static int32_t join_parts(job *j, id_list *out, tn_error *err) {
    uint64_t total = 0;
    for (uint64_t i = 0; i < j->count; i++) { total += j->parts[i].list.count; }
    TN_TRY(list_make(out, total, j->types, j->text->size, err));
    for (uint64_t i = 0; i < j->count; i++) {
        id_list *list = &j->parts[i].list;
        memcpy(out->ids + out->count, list->ids, list->count * sizeof *list->ids);
        if (j->types) { memcpy(out->types + out->count, list->types, list->count); }
        out->count += list->count;
        list_free(list);
    }
    return TN_OK;
}

static int32_t encode_long(const tn_text_codec *codec, const tn_codec_text *text, uint32_t threads, int types,
                           id_list *out, tn_error *err) {
    uint64_t step = text->size / ((uint64_t)threads * PARTS_A_THREAD);
    if (step < PART_LEAST) { step = PART_LEAST; }
    job j = {.codec = codec,
             .text = text,
             .types = types,
             .capacity = 2 * (text->size / step) + 2,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .failed = UINT64_MAX,
             .err = TN_ERROR_INIT};
    j.parts = calloc(j.capacity, sizeof *j.parts);
    if (!j.parts) { TN_FAIL(err, TN_E_MEMORY, "no memory left for %" PRIu64 " parts", j.capacity); }
    int32_t code = plan_parts(&j, step, err);
    if (code == TN_OK && j.count == 1) {
        code = encode_whole(codec, text, types, out, err);
    } else if (code == TN_OK) {
        code = run_parts(&j, threads < j.count ? threads : (uint32_t)j.count, err);
        if (code == TN_OK) { code = join_parts(&j, out, err); }
    }
    for (uint64_t i = 0; i < j.count; i++) { list_free(&j.parts[i].list); }
    free(j.parts);
    return code;
}

/* ---- what is public --------------------------------------------------------------------------------- */

/* cut() knows nothing of plain ranges or pairs: such texts are one part. */
int32_t tn_codec_encode_text(const tn_text_codec *codec, const tn_codec_text *text, int32_t **ids,
                             uint8_t **types, uint64_t *count, tn_error *err) {
    uint32_t threads = text->threads ? text->threads : codec->threads;
    id_list list = {0};
    *ids = NULL;
    *count = 0;
    if (types) { *types = NULL; }
    TN_TRY(check_known(codec, text, types != NULL, err));
    TN_TRY(check_plain(text, err));
    if (text->size > LONG_TEXT && threads > 1 && !text->plain_count && !text->pair && can_cut(codec)) {
        TN_TRY(encode_long(codec, text, threads, types != NULL, &list, err));
    } else {
        TN_TRY(encode_whole(codec, text, types != NULL, &list, err));
    }
    *ids = list.ids;
    *count = list.count;
    if (types) { *types = list.types; }
    return TN_OK;
}

int32_t tn_codec_encode(const tn_text_codec *codec, const char *text, uint64_t size, uint32_t flags,
                        int32_t **ids, uint64_t *count, tn_error *err) {
    const tn_codec_text whole = {.text = text, .size = size, .flags = flags};
    return tn_codec_encode_text(codec, &whole, ids, NULL, count, err);
}
