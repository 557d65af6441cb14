/*
 * tenon/tokenizer.h - interface "tenon.tokenizer/1": text to ids and back.
 *
 * A plugin claims values of tokenizer.ggml.model (and, where the family has them, of tokenizer.ggml.pre)
 * in its manifest. create() reads the vocabulary from the metadata; the object is immutable after that,
 * so that any number of threads may use it at once without locks.
 */
#ifndef TENON_TOKENIZER_H
#define TENON_TOKENIZER_H

#include "tenon/host.h"
#include "tenon/meta.h"

TN_BEGIN_C

#define TN_TOKENIZER_1 "tenon.tokenizer/1"

/** Kinds of a token, numbered as tokenizer.ggml.token_type. */
enum {
    TN_TOKEN_NORMAL = 1,
    TN_TOKEN_UNKNOWN = 2,
    TN_TOKEN_CONTROL = 3,
    TN_TOKEN_USER_DEFINED = 4,
    TN_TOKEN_UNUSED = 5,
    TN_TOKEN_BYTE = 6
};

/** Facts about a vocabulary. Ids that it does not have are -1. */
typedef struct tn_vocab {
    uint32_t struct_size;
    uint32_t size; /**< ids are 0 to size - 1 */
    int32_t bos, eos, eot, eom, unknown, separator, padding, mask;
    uint32_t add_bos, add_eos, add_separator; /**< 0 or 1: what encode() adds when asked to add */
    uint32_t exact; /**< 1: decode(encode(x)) = x for every well-formed UTF-8 x; 2: for every byte string
                       (families may exclude one character, see exact_except); 0: no promise */
    const char *exact_except; /**< "" or the exception in words: "U+2581"; static */
} tn_vocab;

/** Flags of encode and decode. */
#define TN_ENCODE_ADD (1u << 0)          /* put BOS in front and EOS or SEP behind, as the file asks */
#define TN_ENCODE_SPECIAL (1u << 1)      /* text of control tokens becomes these tokens */
#define TN_DECODE_SKIP_SPECIAL (1u << 2) /* control and unknown tokens give nothing */
#define TN_ENCODE_CONTINUES (1u << 3)    /* goes on from a text cut by cut(): nothing is put in front */
#define TN_ENCODE_MORE (1u << 4)         /* more text follows, of which this was cut off: nothing behind */

/** One call of encode. */
typedef struct tn_encode {
    uint32_t struct_size;
    uint32_t flags;   /**< TN_ENCODE_* */
    const char *text; /**< any bytes, NUL among them */
    uint64_t text_size;
    int32_t *ids; /**< room for `capacity` ids */
    uint64_t capacity;
    uint64_t count; /**< out: ids that the text has, also when they did not fit */
    /**
     * Where TN_ENCODE_SPECIAL does not hold: text that a user wrote, say, inside a prompt. No control token
     * is read that touches one of these bytes. plain_count ranges in order and disjoint: plain[2 i] is the
     * first byte of range i, plain[2 i + 1] the one behind its last.
     */
    const uint64_t *plain;
    uint64_t plain_count;
    /** A second text for families that join two with a separator (TN_E_INPUT elsewhere); NULL: none. */
    const char *pair;
    uint64_t pair_size;
    uint8_t *types; /**< room for `capacity` segment numbers: 0 first text, 1 second; NULL: not wanted */
} tn_encode;

typedef struct tn_tokenizer {
    uint32_t struct_size;
    uint32_t reserved;
    /**
     * [load] Reads and checks the vocabulary. Every fault is added to `report` (unequal lengths, special
     * ids outside the vocabulary, missing merges or scores, an unknown `pre`, each with its key) and makes
     * the call fail with TN_E_TOKENIZER_INVALID or TN_E_TOKENIZER_PRE. The metadata outlives the object.
     */
    int32_t (*create)(void *self, const tn_meta *meta, const tn_report *report, void **tokenizer,
                      tn_error *err);
    /** [any] Once nobody uses it any more. */
    void (*destroy)(void *self, void *tokenizer);
    /** [any] Fills *out as far as out->struct_size reaches. */
    void (*vocab)(void *self, const void *tokenizer, tn_vocab *out);
    /**
     * [any] Text to ids. TN_E_RANGE if they did not fit: `count` says how many there are (text_size + 2 is
     * nearly always enough room, 3 * text_size + 4 always: a bad byte may become a U+FFFD of three ids);
     * TN_E_MEMORY. Time n log n in the size of the text, stack constant.
     */
    int32_t (*encode)(void *self, const void *tokenizer, tn_encode *call, tn_error *err);
    /**
     * [any] The bytes that one id stands for inside a text, without any rule about the start of a text;
     * flags: TN_DECODE_SKIP_SPECIAL. Writes at most `capacity` bytes and returns how many there are; 0 for
     * ids that stand for nothing; -1 for an id outside the vocabulary.
     */
    int64_t (*piece)(void *self, const void *tokenizer, int32_t id, uint32_t flags, char *out,
                     uint64_t capacity);
    /**
     * [any] Ids to bytes: the pieces one after another and the family's rule for the start of a text
     * (a leading space that the encoder had put there is taken away again). Writes at most `capacity`
     * bytes; *size says how many there are. TN_E_RANGE if they did not fit, TN_E_INPUT for an id outside
     * the vocabulary. Incremental decoding is the host's: pieces, then whole UTF-8 characters.
     */
    int32_t (*decode)(void *self, const void *tokenizer, const int32_t *ids, uint64_t count, uint32_t flags,
                      char *out, uint64_t capacity, uint64_t *size, tn_error *err);
    /** [any] TN_TOKEN_* of an id, 0 if it is outside the vocabulary. */
    uint32_t (*kind)(void *self, const void *tokenizer, int32_t id);
    /** [any] The id of a literal entry of the vocabulary ("<|im_end|>"), -1 if there is none. */
    int32_t (*find)(void *self, const void *tokenizer, const char *text, uint64_t size);
    /**
     * [any] 1 if generation ends with this id: eos, eot, eom and the entries that models end a turn with
     * (`<|im_end|>`, `<end_of_turn>`, ...; the list is the family's).
     */
    uint32_t (*ends)(void *self, const void *tokenizer, int32_t id);
    /** [any] Bytes that decode() would take away at the start of a text: 0 or 1 (the prefix space), for
     * streams that begin with this id. */
    uint32_t (*leading)(void *self, const void *tokenizer, int32_t first_id);
    /**
     * [any] Where a long text can be cut: the largest n <= size such that, whatever follows these bytes, the
     * ids of text[0 .. n) with TN_ENCODE_MORE and of the rest with TN_ENCODE_CONTINUES are together those of
     * the whole. flags: TN_ENCODE_SPECIAL and TN_ENCODE_CONTINUES of that call. 0: nowhere. Looks back from
     * the end no farther than it must. NULL: this family cannot tell.
     */
    uint64_t (*cut)(void *self, const void *tokenizer, const char *text, uint64_t size, uint32_t flags);
} tn_tokenizer;

TN_END_C
#endif
