/* Incremental decoding: the pieces of ids one after another, out in whole characters (utf8_hold.c) or as they are. */
#include "checked.h"
#include "codec.h"
#include "utf8_hold.h"

#include <inttypes.h>
#include <stdlib.h>

struct tn_stream {
    const tn_text_codec *codec;
    uint32_t flags;
    uint32_t at_start; /* the next id begins a text */
    uint32_t bytes;    /* 1: out as they are */
    tn_utf8_hold hold;
    char *piece, *text; /* room for `capacity` bytes, and for what may come out of them */
    uint64_t capacity;
};

static int32_t grow(tn_stream *stream, uint64_t capacity, tn_error *err) {
    uint64_t room;
    char *piece = realloc(stream->piece, capacity);
    if (piece) { stream->piece = piece; }
    char *text = tn_mul_u64(capacity + 1, 3, &room) ? realloc(stream->text, room) : NULL;
    if (text) { stream->text = text; }
    if (!piece || !text) { TN_FAIL(err, TN_E_MEMORY, "no memory left for a piece of text"); }
    stream->capacity = capacity;
    return TN_OK;
}

int32_t tn_stream_create(const tn_text_codec *codec, uint32_t flags, uint32_t at_start, tn_stream **out,
                         tn_error *err) {
    *out = NULL;
    tn_stream *stream = calloc(1, sizeof *stream);
    if (!stream) { TN_FAIL(err, TN_E_MEMORY, "no memory left for a stream of text"); }
    *stream = (tn_stream){.codec = codec,
                          .flags = flags & ~TN_STREAM_BYTES,
                          .at_start = at_start,
                          .bytes = (flags & TN_STREAM_BYTES) != 0};
    int32_t code = grow(stream, 256, err);
    if (code != TN_OK) {
        tn_stream_free(stream);
        return code;
    }
    *out = stream;
    return TN_OK;
}

void tn_stream_free(tn_stream *stream) {
    if (!stream) { return; }
    free(stream->piece);
    free(stream->text);
    free(stream);
}

/* The bytes of one id into stream->piece. */
static int32_t read_piece(tn_stream *stream, int32_t id, uint64_t *size, tn_error *err) {
    const tn_text_codec *codec = stream->codec;
    const tn_tokenizer *table = codec->table;
    int64_t n =
        table->piece(codec->self, codec->tokenizer, id, stream->flags, stream->piece, stream->capacity);
    if (n > 0 && (uint64_t)n > stream->capacity) {
        TN_TRY(grow(stream, (uint64_t)n, err));
        n = table->piece(codec->self, codec->tokenizer, id, stream->flags, stream->piece, stream->capacity);
    }
    if (n < 0 || (uint64_t)n > stream->capacity) {
        TN_FAIL(err, TN_E_INPUT, "id %" PRId32 " is not in the vocabulary of %" PRIu32, id,
                codec->vocab.size);
    }
    *size = (uint64_t)n;
    return TN_OK;
}

int32_t tn_stream_push(tn_stream *stream, int32_t id, const char **text, uint64_t *size, tn_error *err) {
    const tn_text_codec *codec = stream->codec;
    uint64_t bytes = 0, skip = 0;
    *text = stream->text;
    *size = 0;
    TN_TRY(read_piece(stream, id, &bytes, err));
    if (stream->at_start) { skip = codec->table->leading(codec->self, codec->tokenizer, id); }
    if (skip > bytes) { skip = bytes; }
    stream->at_start = 0;
    if (stream->bytes) {
        *text = stream->piece + skip;
        *size = bytes - skip;
        return TN_OK;
    }
    *text = stream->text;
    *size = tn_utf8_hold_push(&stream->hold, stream->piece + skip, bytes - skip, stream->text);
    return TN_OK;
}

void tn_stream_flush(tn_stream *stream, const char **text, uint64_t *size) {
    *text = stream->text;
    *size = tn_utf8_hold_flush(&stream->hold, stream->text);
    stream->at_start = 0;
}
