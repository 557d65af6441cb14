/*
 * encoder.c - a text that comes in pieces of any size, to ids. What lies before the last place where the text can be
 * cut is encoded and leaves; the rest is kept until more of the text is there.
 */
#include "checked.h"
#include "codec.h"

#include <inttypes.h>
#include <stdlib.h>

/* Up to so many bytes without a place to cut every push looks for one. Of more, only when an eighth has come to them:
 * so all looks together take time in proportion to the text. */
enum { LOOK_ALWAYS = 1024, LOOK_PART = 8 };

struct tn_encoder {
    const tn_text_codec *codec;
    tn_codec_text call; /* flags and threads */
    uint32_t begun;     /* 1: ids of the text have left */
    char *text;         /* `size` bytes that have no ids yet */
    uint64_t size, capacity;
    uint64_t looked; /* of these so many were looked at, and nothing found */
    int32_t *ids;    /* what the last call handed out */
};

int32_t tn_encoder_create(const tn_text_codec *codec, uint32_t flags, uint32_t threads, tn_encoder **out,
                          tn_error *err) {
    *out = calloc(1, sizeof **out);
    if (!*out) { TN_FAIL(err, TN_E_MEMORY, "no memory left for an encoder"); }
    (*out)->codec = codec;
    (*out)->call = (tn_codec_text){.flags = flags, .threads = threads};
    return TN_OK;
}

void tn_encoder_free(tn_encoder *encoder) {
    if (!encoder) { return; }
    free(encoder->text);
    free(encoder->ids);
    free(encoder);
}

static int32_t append(tn_encoder *e, const char *bytes, uint64_t size, tn_error *err) {
    uint64_t wanted;
    if (!tn_add_u64(e->size, size, &wanted)) { TN_FAIL(err, TN_E_INPUT, "the text is too long"); }
    if (wanted > e->capacity) {
        uint64_t capacity = wanted + wanted / 2 > wanted ? wanted + wanted / 2 : wanted;
        char *text = realloc(e->text, capacity);
        if (!text) {
            TN_FAIL(err, TN_E_MEMORY, "no memory left for %" PRIu64 " bytes of text that cannot be cut",
                    wanted);
        }
        e->text = text;
        e->capacity = capacity;
    }
    if (size) { memcpy(e->text + e->size, bytes, size); }
    e->size = wanted;
    return TN_OK;
}

/* Encodes the first `size` bytes that are kept, and keeps the others. */
static int32_t encode_front(tn_encoder *e, uint64_t size, uint32_t more, const int32_t **ids, uint64_t *count,
                            tn_error *err) {
    tn_codec_text call = e->call;
    call.text = e->text;
    call.size = size;
    call.flags |= more | (e->begun ? TN_ENCODE_CONTINUES : 0);
    TN_TRY(tn_codec_encode_text(e->codec, &call, &e->ids, NULL, count, err));
    *ids = e->ids;
    e->begun = 1;
    e->size -= size;
    if (e->size) { memmove(e->text, e->text + size, e->size); }
    return TN_OK;
}

static void hand_back(tn_encoder *e, const int32_t **ids, uint64_t *count) {
    free(e->ids);
    e->ids = NULL;
    *ids = NULL;
    *count = 0;
}

int32_t tn_encoder_push(tn_encoder *e, const char *bytes, uint64_t size, const int32_t **ids, uint64_t *count,
                        tn_error *err) {
    uint64_t at;
    hand_back(e, ids, count);
    TN_TRY(append(e, bytes, size, err));
    uint64_t news = e->size - e->looked;
    if (news == 0 || (e->looked > LOOK_ALWAYS && news < e->looked / LOOK_PART)) { return TN_OK; }
    uint32_t flags = e->call.flags | (e->begun ? TN_ENCODE_CONTINUES : 0);
    TN_TRY(tn_codec_cut(e->codec, e->text, e->size, flags, &at, err));
    e->looked = e->size - at;
    return at ? encode_front(e, at, TN_ENCODE_MORE, ids, count, err) : TN_OK;
}

int32_t tn_encoder_finish(tn_encoder *e, const int32_t **ids, uint64_t *count, tn_error *err) {
    hand_back(e, ids, count);
    TN_TRY(encode_front(e, e->size, 0, ids, count, err));
    e->begun = 0;
    e->looked = 0;
    return TN_OK;
}
