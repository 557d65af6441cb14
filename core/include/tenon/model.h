/*
 * tenon/model.h - from a file to text: fit, model, session, sampler, stream.
 *
 * Part of libtenon's public interface. The order: tn_fit_run() proves or refuses; tn_model_load() does the
 * same and then places the weights; a session holds a plan and a cache; sequences live in a session.
 */
#ifndef TENON_MODEL_H
#define TENON_MODEL_H

#include "tenon/arch.h"
#include "tenon/backend.h"
#include "tenon/engine.h"
#include "tenon/tokenizer.h"

TN_BEGIN_C

/* ---- fit -------------------------------------------------------------------------------------------- */

/** An adapter: a GGUF file that changes what a model computes. */
enum { TN_ADAPTER_LORA = 1, TN_ADAPTER_CONTROL_VECTOR = 2 };
typedef struct tn_adapter {
    uint32_t kind; /**< TN_ADAPTER_* */
    /** Of a control vector: the layers that get it, counted from 0 (direction.N is for layer N; there is none for 0);
     * both 0: all. */
    uint32_t first, last;
    const char *path;
    double scale; /**< what its sum is multiplied with, finite; 1 as it was made */
} tn_adapter;

/** What a model is to be fitted and loaded for. Zero everywhere is a fine default. */
typedef struct tn_model_options {
    const char *backend;    /**< NULL: "cpu" */
    uint32_t context;       /**< tokens; 0: what the file says */
    const char *cache_type; /**< tensor type of keys and values in the cache, in either case; NULL: "F16" */
    uint32_t purpose;       /**< TN_PURPOSE_*; 0: by the architecture's kind */
    uint32_t no_tokenizer;  /**< 1: a file without one will do (ids are given); one that it has must still be
                               known */
    uint32_t (*progress)(void *context, uint64_t done,
                         uint64_t total); /**< of reading and placing weights; 1 cancels; or NULL */
    void *progress_context;
    const tn_adapter
        *adapters; /**< `adapter_count`, in the order in which they are added; read during the call */
    uint32_t adapter_count;
} tn_model_options;

/** One reason of a refusal. `more` further ones of the same code and wording were left out of the list. */
typedef struct tn_fit_reason {
    int32_t code;
    const char *subject, *found, *wanted, *remedy; /**< "" where there is nothing to say */
    uint64_t more;
} tn_fit_reason;

/** How one node would be served. */
typedef struct tn_fit_node {
    const char *op, *name;
    int32_t layer;
    const char *plugin; /**< id of the backend or kernel plugin */
    tn_choice choice;
    const char *types; /**< names of its weights' formats, "" if none */
} tn_fit_node;

typedef struct tn_fit tn_fit;

/**
 * Proves that the installed plugins fit the file, or collects every reason why not. `file` may be NULL or
 * only partly read, with `opened` the result of tn_gguf_open() (then that is a reason of its own). Reads no
 * weight of the model, and all numbers of adapters. Returns TN_OK whenever it could judge: ask tn_fit_code().
 * The file must outlive the fit.
 */
int32_t tn_fit_run(tn_engine *engine, const tn_gguf *file, const tn_error *opened,
                   const tn_model_options *options, tn_fit **out, tn_error *err);
void tn_fit_free(tn_fit *fit);
/** TN_OK: it loads. Else the code of the first reason. */
int32_t tn_fit_code(const tn_fit *fit);
uint32_t tn_fit_reason_count(const tn_fit *fit);
const tn_fit_reason *tn_fit_reason_at(const tn_fit *fit, uint32_t i);
/** Reasons in all, those left out of the list included. */
uint64_t tn_fit_total(const tn_fit *fit);
/** One reason as a sentence, without newline. Returns its length; at most `capacity` bytes with the NUL. */
uint64_t tn_fit_reason_text(const tn_fit_reason *reason, char *out, uint64_t capacity);

/** What is known of the model; NULL if the architecture could not be configured. */
const tn_facts *tn_fit_facts(const tn_fit *fit);
const char *tn_fit_architecture(const tn_fit *fit); /**< declared name, "" if none */
/** Tensors of the file, and how many of them the architecture reads (the audit). */
void tn_fit_audit(const tn_fit *fit, uint64_t *tensors, uint64_t *read);
/** Tensors that the architecture knows and this graph does not read, as rope factors for another context; NULL after the
 * last. */
const char *tn_fit_unused(const tn_fit *fit, uint32_t i);
/** Bytes of cache that one token takes in all layers; 0 if unknown. */
uint64_t tn_fit_kv_bytes(const tn_fit *fit);
/** The vocabulary; NULL if there is none or it could not be read. */
const tn_vocab *tn_fit_vocab(const tn_fit *fit);
/** The plan: for each node of the graph how it is served. 0 nodes if no graph could be built. */
uint32_t tn_fit_node_count(const tn_fit *fit);
const tn_fit_node *tn_fit_node_at(const tn_fit *fit, uint32_t i);
/** Ids of the plugins that serve this file, NULL after the last. */
const char *tn_fit_plugin(const tn_fit *fit, uint32_t i);

/* ---- model ------------------------------------------------------------------------------------------ */

typedef struct tn_model tn_model;

/**
 * Opens, proves and places a model. On a refusal the code is that of the first reason, err has it in words,
 * and *fit (if `fit` is not NULL) has them all, to be freed by the caller; on success *fit is set too. The
 * file stays open as long as the model; a fit must be freed before its model.
 */
int32_t tn_model_load(tn_engine *engine, const char *path, const tn_model_options *options, tn_model **out,
                      tn_fit **fit, tn_error *err);
/** After its sessions are closed. NULL is fine. */
void tn_model_close(tn_model *model);
const tn_facts *tn_model_facts(const tn_model *model); /**< [any] */
const tn_gguf *tn_model_file(const tn_model *model);   /**< [any] */
uint32_t tn_model_context(const tn_model *model);      /**< [any] configured size */
/** Numbers of one output row: vocabulary for logits, width for hidden states. [any] */
uint32_t tn_model_output_width(const tn_model *model);
uint32_t tn_model_output_kind(const tn_model *model); /**< [any] TN_OUTPUT_* of the first output */
uint32_t tn_model_vocab_size(const tn_model *model);  /**< [any] rows of the token embedding: ids below it */
/** Numbers of a frame, of a model that reads those and no ids; else 0. [any] */
uint32_t tn_model_frame_width(const tn_model *model);
/** Values of the graph, numbered from 1; those of a split follow each other under one name. [any] */
uint32_t tn_model_value_count(const tn_model *model);
/** One of them. */
typedef struct tn_model_value {
    const char *name, *op;
    uint32_t part, parts; /**< 0 of 1, unless it is one of a split */
    uint32_t rows;        /**< TN_ROWS_* */
    uint32_t width;
    uint32_t kind; /**< TN_VALUE_*: only floats can be captured */
} tn_model_value;
/** Texts live as long as the model. TN_E_RANGE: no such number. [any] */
int32_t tn_model_value_at(const tn_model *model, uint32_t number, tn_model_value *out, tn_error *err);
/** What placing took. [any] */
void tn_model_memory(const tn_model *model, tn_memory *out);

/* ---- tokenizer -------------------------------------------------------------------------------------- */

/** A tokenizer of a file, with or without a model around it. */
typedef struct tn_text_codec tn_text_codec;
/** From a file's metadata alone. Faults are in err; each is also handed to `report` if that is not NULL. */
int32_t tn_codec_open(tn_engine *engine, const tn_gguf *file, const tn_report *report, tn_text_codec **out,
                      tn_error *err);
void tn_codec_close(tn_text_codec *codec);
/** The model's own; NULL if it has none. Closed with the model. [any] */
const tn_text_codec *tn_model_codec(const tn_model *model);
void tn_codec_vocab(const tn_text_codec *codec, tn_vocab *out); /**< [any] */

/** A text to encode. Zero everywhere is a fine default. */
typedef struct tn_codec_text {
    const char *text; /**< any bytes, NUL among them */
    uint64_t size;
    uint32_t flags;   /**< TN_ENCODE_* */
    uint32_t threads; /**< most threads for a long text; 0: as many as the engine has. The ids are the same */
    const uint64_t *plain; /**< plain_count ranges without special tokens, as in tn_encode */
    uint64_t plain_count;
    const char *pair; /**< a second text, as in tn_encode; NULL: none */
    uint64_t pair_size;
} tn_codec_text;

/**
 * [any] Text to ids and, unless `types` is NULL, to the number of the text that each is of (0, or 1: the pair), in
 * memory of the caller's to free() (at least one byte each). Texts of more than 256 KiB are cut where the family says
 * that they can be cut, and their parts encoded by several threads; not with plain ranges or a pair. TN_E_INPUT: plain
 * ranges out of order or outside the text, a pair that the family does not take; TN_E_PLUGIN_ABI: the plugin was built
 * before there were plain ranges, pairs or types, and they are asked for.
 */
int32_t tn_codec_encode_text(const tn_text_codec *codec, const tn_codec_text *text, int32_t **ids,
                             uint8_t **types, uint64_t *count, tn_error *err);
/** [any] The same for a text and nothing else. */
int32_t tn_codec_encode(const tn_text_codec *codec, const char *text, uint64_t size, uint32_t flags,
                        int32_t **ids, uint64_t *count, tn_error *err);
/** [any] Ids to bytes, in memory of the caller's to free(), NUL at the end. flags: TN_DECODE_*. */
int32_t tn_codec_decode(const tn_text_codec *codec, const int32_t *ids, uint64_t count, uint32_t flags,
                        char **text, uint64_t *size, tn_error *err);
uint32_t tn_codec_ends(const tn_text_codec *codec, int32_t id); /**< [any] 1: generation ends with it */
uint32_t tn_codec_kind(const tn_text_codec *codec, int32_t id); /**< [any] TN_TOKEN_*, 0: no such id */
/** [any] The bytes of one id inside a text, as tn_tokenizer.piece: at most `capacity` are written; returns how many
 * there are, -1: no such id. */
int64_t tn_codec_piece(const tn_text_codec *codec, int32_t id, uint32_t flags, char *out, uint64_t capacity);
int32_t tn_codec_find(const tn_text_codec *codec, const char *text, uint64_t size); /**< [any] id or -1 */

/**
 * Incremental encoding of a text of any length: bytes in, in pieces cut anywhere, also inside a character or a special
 * token; ids out once no further text can change them. All ids together are those of the whole text. Memory: the last
 * piece with its ids, and the longest stretch in which the family finds no place to cut; of a family that cannot tell,
 * the whole text. One thread at a time.
 */
typedef struct tn_encoder tn_encoder;
/** flags: TN_ENCODE_ADD puts BOS in front of the first ids and EOS or SEP behind the last; TN_ENCODE_SPECIAL. threads
 * as in tn_codec_text. */
int32_t tn_encoder_create(const tn_text_codec *codec, uint32_t flags, uint32_t threads, tn_encoder **out,
                          tn_error *err);
void tn_encoder_free(tn_encoder *encoder); /**< NULL is fine */
/** *ids and *count: what is certain now; valid until the next call. After a failure an encoder can only be freed. */
int32_t tn_encoder_push(tn_encoder *encoder, const char *bytes, uint64_t size, const int32_t **ids,
                        uint64_t *count, tn_error *err);
/** The text ends: the ids that are left. Then the encoder is as new. */
int32_t tn_encoder_finish(tn_encoder *encoder, const int32_t **ids, uint64_t *count, tn_error *err);

/**
 * Incremental decoding: ids in, whole UTF-8 characters out. At most 3 bytes are held back, and only where
 * they begin a well-formed sequence; bytes that cannot become one leave as U+FFFD, one for each maximal
 * prefix.
 */
typedef struct tn_stream tn_stream;
/** A flag of tn_stream_create() beside TN_DECODE_*: bytes as they are, nothing held back, nothing replaced. */
#define TN_STREAM_BYTES (1u << 31)
/** `at_start`: the first id begins a text, so the family's rule for the leading space applies. */
int32_t tn_stream_create(const tn_text_codec *codec, uint32_t flags, uint32_t at_start, tn_stream **out,
                         tn_error *err);
void tn_stream_free(tn_stream *stream);
/** *text and *size: what can be shown now; valid until the next call. */
int32_t tn_stream_push(tn_stream *stream, int32_t id, const char **text, uint64_t *size, tn_error *err);
/** What was still held back, as U+FFFD; the stream is as new but not at the start of a text. */
void tn_stream_flush(tn_stream *stream, const char **text, uint64_t *size);

/**
 * Stop strings: text in, in pieces cut anywhere; out what can be shown. The text ends where a stop string is complete
 * for the first time; of several that are complete there the longest counts. What stands before it is shown, of it
 * nothing. Held back is only what may be the beginning of a stop string, as long as it may. Time in proportion to the
 * text, however many strings there are. One thread at a time.
 */
typedef struct tn_stops tn_stops;
/** `sizes` NULL: the strings end with NUL. Strings are copied. TN_E_INPUT: an empty one. */
int32_t tn_stops_create(const char *const *strings, const uint64_t *sizes, uint64_t count, tn_stops **out,
                        tn_error *err);
void tn_stops_free(tn_stops *stops); /**< NULL is fine */
/** *shown: valid until the next call. Once a stop string was found nothing more comes out. */
int32_t tn_stops_push(tn_stops *stops, const char *text, uint64_t size, const char **shown,
                      uint64_t *shown_size, tn_error *err);
/** The number of the stop string that was found (of equal ones the first), -1: none yet. */
int64_t tn_stops_matched(const tn_stops *stops);
/** No more text comes: what was held back. Then a new text may begin. */
void tn_stops_flush(tn_stops *stops, const char **shown, uint64_t *shown_size);

/* ---- sessions --------------------------------------------------------------------------------------- */

/** A plan of a model and its cache. One thread at a time. */
typedef struct tn_session tn_session;
/** A sequence of tokens in a session's cache. */
typedef struct tn_sequence_state tn_seq;

typedef struct tn_session_options {
    uint32_t step_rows; /**< most tokens of one step; 0: 512 */
    uint32_t sequences; /**< most sequences at once; 0: 1 */
    /** What every step hands out, also the steps of a run that fails later. Copied; struct_size is set here. */
    const tn_capture *captures;
    uint32_t capture_count;
} tn_session_options;

int32_t tn_session_create(tn_model *model, const tn_session_options *options, tn_session **out,
                          tn_error *err);
void tn_session_destroy(tn_session *session); /**< frees its sequences too; NULL is fine */
/**
 * [any] Asks a run() in another thread, or from a signal handler, to stop soon with TN_E_CANCELLED. The
 * request stays until a run has returned that code for it: one that comes just before a run is not lost.
 */
void tn_session_cancel(tn_session *session);
/** Bytes that plan and cache hold now. */
uint64_t tn_session_bytes(const tn_session *session);

int32_t tn_seq_create(tn_session *session, tn_seq **out, tn_error *err);
/** A copy that shares pages until either side writes. */
int32_t tn_seq_fork(tn_seq *sequence, tn_seq **out, tn_error *err);
void tn_seq_free(tn_seq *sequence);
uint32_t tn_seq_length(const tn_seq *sequence);
/** Forgets all tokens from number `length` on. TN_E_RANGE if it has fewer. */
int32_t tn_seq_truncate(tn_seq *sequence, uint32_t length, tn_error *err);

/** Which rows a feed wants outputs of. */
enum { TN_WANT_NONE = 0, TN_WANT_LAST = 1, TN_WANT_ALL = 2 };

/** Tokens for one sequence; of a model that reads frames, frames. */
typedef struct tn_feed {
    tn_seq *sequence;
    const int32_t *ids; /**< NULL with frames */
    uint32_t count;
    uint32_t want; /**< TN_WANT_* */
    float *out; /**< room for 1 or `count` rows of tn_model_output_width() numbers; NULL with TN_WANT_NONE */
    const float *frames; /**< `count` rows of tn_model_frame_width() numbers; NULL with ids */
} tn_feed;

/**
 * Runs tokens of any number of sequences, in as many steps as it takes; a sequence may occur once. Results do
 * not depend on how tokens are cut into steps or mixed. Outputs of feeds that follow each other in memory are written
 * there; where they do not, a step has at most as many as the session has sequences, and they are copied. TN_E_INPUT: an id outside the vocabulary;
 * TN_E_CONTEXT: more tokens than the context holds; TN_E_MEMORY; TN_E_CANCELLED. A failed call counts none of
 * its tokens.
 */
int32_t tn_session_run(tn_session *session, const tn_feed *feeds, uint32_t feed_count, tn_error *err);

/* ---- sampling --------------------------------------------------------------------------------------- */

typedef struct tn_sampler_options {
    uint64_t seed;
    double temperature;    /**< 0: the largest logit, ties to the lower id */
    uint32_t top_k;        /**< 0: all */
    double top_p;          /**< 1: all */
    double min_p;          /**< 0: all */
    double repeat_penalty; /**< 1: none. Logits of recent ids: divided by it if positive, else multiplied */
    int32_t repeat_last_n; /**< how many ids are recent; 0: none, -1: all */
} tn_sampler_options;

/** top_k 40, top_p 0.95, min_p 0.05, temperature 0.8, no repeat penalty over 64 ids, seed 0. */
void tn_sampler_defaults(tn_sampler_options *out);

typedef struct tn_sampler tn_sampler;
/** TN_E_RANGE names the option that is out of range. */
int32_t tn_sampler_create(const tn_sampler_options *options, uint32_t vocab_size, tn_sampler **out,
                          tn_error *err);
void tn_sampler_free(tn_sampler *sampler);
/** Tells it of an id that was fed (prompt or picked), for the repeat penalty. */
void tn_sampler_accept(tn_sampler *sampler, int32_t id);
/** Picks from one row of logits, in this order: repeat penalty, top_k, top_p, min_p, temperature. Same seed
 * and rows: same ids, on every machine. TN_E_FAILED if the row has a NaN, or no finite number. */
int32_t tn_sampler_pick(tn_sampler *sampler, const float *logits, int32_t *id, tn_error *err);

TN_END_C
#endif
