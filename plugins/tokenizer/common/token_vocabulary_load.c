/*
 * token_vocabulary_load.c - reads the keys tokenizer.ggml.* that all families share and builds the tables.
 * (../shared/tokenizer/PRETOKENIZERS.md, sections 0 and 6, says what each key is for.)
 */
#include "token_utf8.h"
#include "token_vocabulary.h"

#define KEY(name) "tokenizer.ggml." name

enum { COUNT_MAX = INT32_MAX };

static const uint32_t special_kinds =
    1u << TN_TOKEN_UNKNOWN | 1u << TN_TOKEN_CONTROL | 1u << TN_TOKEN_USER_DEFINED;

/* Texts that end a turn in published models, whatever the file's keys say. */
static const char *const end_texts[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<eos>",
    "<turn|>",
    "</s>",
    "<end_of_utterance>",
    "<｜end▁of▁sentence｜>",
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<fim-repo>",
    "<reponame>",
    "<|file_sep|>",
};

/* The entries and how many; 0 after a fault. */
static uint32_t read_texts(tn_vocabulary *v, const tn_meta *meta, tn_faults *faults) {
    tn_kv kv;
    if (!tn_key_strings(faults, meta, KEY("tokens"), &kv)) {
        if (faults->code == TN_OK) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY("tokens"), "an array of strings", "nothing");
        }
        return 0;
    }
    if (kv.count == 0 || kv.count > COUNT_MAX) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY("tokens"), "1 to 2147483647 entries", "%llu entries",
                 (unsigned long long)kv.count);
        return 0;
    }
    v->texts = tn_arena_get(&v->arena, kv.count, sizeof *v->texts);
    if (!v->texts) {
        tn_fault_memory(faults);
        return 0;
    }
    const unsigned char *at = kv.data;
    for (uint64_t i = 0; i < kv.count; i++) {
        v->texts[i] = tn_string_next(&at);
        if (v->texts[i].size >= UINT32_MAX) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY("tokens"), "entries of less than 4 GiB",
                     "an entry of %llu bytes", (unsigned long long)v->texts[i].size);
            return 0;
        }
    }
    return (uint32_t)kv.count;
}

/* Fills `kinds`; without the key all are NORMAL. */
static void read_kinds(tn_vocabulary *v, const tn_meta *meta, tn_faults *faults) {
    tn_kv kv;
    memset(v->kinds, TN_TOKEN_NORMAL, v->facts.size);
    if (!tn_key_numbers(faults, meta, KEY("token_type"), 0, &kv)) { return; }
    if (kv.count != v->facts.size) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY("token_type"), "as many entries as " KEY("tokens"),
                 "%llu entries for %u tokens", (unsigned long long)kv.count, v->facts.size);
        return;
    }
    for (uint32_t i = 0; i < v->facts.size; i++) {
        int64_t kind = 0;
        if (!tn_kv_int(&kv, i, &kind) || kind < TN_TOKEN_NORMAL || kind > TN_TOKEN_BYTE) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY("token_type"), "types 1 to 6", "%lld at entry %u",
                     (long long)kind, i);
            return;
        }
        v->kinds[i] = (unsigned char)kind;
    }
}

static void make_pieces(tn_vocabulary *v, const tn_family *family, tn_faults *faults) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < v->facts.size; i++) { total += v->texts[i].size; }
    v->piece_at = tn_arena_get(&v->arena, v->facts.size + 1ull, sizeof *v->piece_at);
    v->pieces = tn_arena_get(&v->arena, total + 1, 1);
    if (!v->piece_at || !v->pieces) {
        tn_fault_memory(faults);
        return;
    }
    uint64_t at = 0;
    for (uint32_t i = 0; i < v->facts.size; i++) {
        tn_text text = v->texts[i];
        int64_t size = (int64_t)text.size;
        if (v->kinds[i] == TN_TOKEN_UNUSED) {
            size = 0;
        } else if (special_kinds >> v->kinds[i] & 1) {
            memcpy(v->pieces + at, text.data, text.size);
        } else {
            size = family->piece(v->kinds[i], text, v->pieces + at);
        }
        if (size < 0) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY("tokens"), family->piece_wanted,
                     "\"%.*s\" at entry %u, which token_type calls a byte",
                     (int)(text.size < 40 ? text.size : 40), text.data, i);
            return;
        }
        v->piece_at[i] = at;
        at += (uint64_t)size;
    }
    v->piece_at[v->facts.size] = at;
}

/* Ascending, so that of equal texts the last counts. */
static void make_tables(tn_vocabulary *v, const tn_family *family, tn_faults *faults) {
    uint64_t merged = 0;
    for (uint32_t i = 0; i < v->facts.size; i++) { merged += family->merged >> v->kinds[i] & 1; }
    if (tn_words_create(&v->words, v->host, merged) != TN_OK ||
        tn_words_create(&v->literals, v->host, v->facts.size - merged) != TN_OK) {
        tn_fault_memory(faults);
        return;
    }
    for (uint32_t i = 0; i < v->facts.size; i++) {
        int is_word = family->merged >> v->kinds[i] & 1;
        tn_text text = v->texts[i];
        if (is_word && family->pieces_are_words) { text = tn_vocabulary_piece(v, (int32_t)i, 0); }
        if (text.size && tn_words_put(is_word ? &v->words : &v->literals, (const unsigned char *)text.data,
                                      (uint32_t)text.size, i) != TN_OK) {
            tn_fault_memory(faults);
            return;
        }
    }
}

static int can_be_cut_out(const tn_vocabulary *v, const tn_family *family, uint32_t i) {
    const unsigned char *text = (const unsigned char *)v->texts[i].data;
    uint64_t size = v->texts[i].size;
    return (special_kinds >> v->kinds[i] & 1) && size &&
           (!family->well_formed || tn_utf8_sound(text, size) == size);
}

static void make_specials(tn_vocabulary *v, const tn_family *family, tn_faults *faults) {
    tn_specials *specials = &v->specials;
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->facts.size; i++) { count += (uint32_t)can_be_cut_out(v, family, i); }
    specials->list = tn_arena_get(&v->arena, count, sizeof *specials->list);
    if (!specials->list) {
        tn_fault_memory(faults);
        return;
    }
    for (uint32_t i = 0; i < v->facts.size; i++) {
        if (!can_be_cut_out(v, family, i)) { continue; }
        tn_text text = v->texts[i];
        if (text.size > TN_SPECIAL_LONGEST) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY("tokens"), "special entries of at most 1024 bytes",
                     "one of %llu bytes at entry %u", (unsigned long long)text.size, i);
            return;
        }
        specials->list[specials->count++] =
            (tn_special){(const unsigned char *)text.data, (uint32_t)text.size,
                         (v->kinds[i] == TN_TOKEN_USER_DEFINED ? TN_SPECIAL_ALWAYS : 0u) |
                             (family->strip ? family->strip(text) : 0u),
                         (int32_t)i};
    }
    if (tn_specials_index(specials, &v->arena) != TN_OK) { tn_fault_memory(faults); }
}

/* A family's own id, where the file has no key for it. */
static int32_t default_id(const tn_vocabulary *v, const tn_meta *meta, const tn_family *family, int32_t id) {
    tn_kv kv;
    if (id < 0 || (uint32_t)id >= v->facts.size) { return -1; }
    int ordinary = v->kinds[id] == TN_TOKEN_NORMAL && tn_key_find(meta, KEY("token_type"), &kv);
    return family->ids_if_special && ordinary ? -1 : id;
}

/* The id under a key; `missing` if it is not there. */
static int32_t read_id(const tn_vocabulary *v, const tn_meta *meta, const char *key, int32_t missing,
                       tn_faults *faults) {
    tn_kv kv;
    int64_t id;
    if (!tn_key_find(meta, key, &kv)) { return missing; }
    if (kv.type == TN_KV_ARRAY || tn_kv_width(kv.type) == 0 || kv.type == TN_KV_F32 || kv.type == TN_KV_F64 ||
        kv.type == TN_KV_BOOL) {
        tn_fault_type(faults, key, &kv, "an integer");
        return -1;
    }
    if (!tn_kv_int(&kv, 0, &id)) { id = INT64_MAX; } /* a uint64 above that */
    if (id < 0 || id >= v->facts.size) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, key, "an id inside the vocabulary",
                 "%lld, the vocabulary has %u", (long long)id, v->facts.size);
        return -1;
    }
    return (int32_t)id;
}

/* Whether an id is added: a family's own wish counts only if there is such an id, the file's must be
 * possible. */
static uint32_t read_add(const tn_meta *meta, const char *key, uint32_t missing, int32_t id,
                         const char *id_key, tn_faults *faults) {
    tn_kv kv;
    uint32_t add = tn_key_bool(faults, meta, key, missing && id >= 0);
    if (add && id < 0 && !tn_key_find(meta, id_key, &kv)) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, id_key, "the id that the file asks to add", "nothing");
    }
    return add;
}

static void read_facts(tn_vocabulary *v, const tn_meta *meta, const tn_family *family, tn_faults *faults) {
    tn_vocab *f = &v->facts;
    int32_t more[3];
    for (int i = 0; i < 3; i++) {
        more[i] = default_id(v, meta, family, family->more ? family->more[i] : -1);
    }
    int32_t bos = default_id(v, meta, family, family->bos);
    if (family->bos_key) { bos = read_id(v, meta, family->bos_key, bos, faults); }
    f->bos = read_id(v, meta, KEY("bos_token_id"), bos, faults);
    f->eos = read_id(v, meta, KEY("eos_token_id"), default_id(v, meta, family, family->eos), faults);
    f->eot = read_id(v, meta, KEY("eot_token_id"), -1, faults);
    f->eom = read_id(v, meta, KEY("eom_token_id"), -1, faults);
    f->unknown =
        read_id(v, meta, KEY("unknown_token_id"), default_id(v, meta, family, family->unknown), faults);
    f->separator = read_id(v, meta, KEY("seperator_token_id"), more[0], faults);
    f->padding = read_id(v, meta, KEY("padding_token_id"), more[1], faults);
    f->mask = read_id(v, meta, KEY("mask_token_id"), more[2], faults);
    f->add_bos = read_add(meta, KEY("add_bos_token"), family->add_bos, f->bos, KEY("bos_token_id"), faults);
    f->add_eos = read_add(meta, KEY("add_eos_token"), 0, f->eos, KEY("eos_token_id"), faults);
    f->add_separator = read_add(meta, KEY("add_sep_token"), family->add_separator, f->separator,
                                KEY("seperator_token_id"), faults);
    f->exact_except = "";
    v->space_prefix = tn_key_bool(faults, meta, KEY("add_space_prefix"), family->space_prefix);
}

static int32_t find_special(const tn_vocabulary *v, const char *text) {
    int32_t id = tn_vocabulary_find(NULL, v, text, strlen(text));
    return id >= 0 && (special_kinds >> (v->kinds[id] & TN_KIND_MASK) & 1) ? id : -1;
}

static void mark_ends(tn_vocabulary *v) {
    const int32_t ids[] = {v->facts.eos, v->facts.eot, v->facts.eom};
    /* In o200k_harmony <|end|> only closes a message of a turn that goes on. */
    int harmony = find_special(v, "<|return|>") >= 0 && find_special(v, "<|call|>") >= 0;
    for (size_t i = 0; i < sizeof end_texts / sizeof *end_texts; i++) {
        int32_t id = find_special(v, end_texts[i]);
        if (id >= 0 && !(harmony && strcmp(end_texts[i], "<|end|>") == 0)) { v->kinds[id] |= TN_KIND_ENDS; }
    }
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (ids[i] >= 0) { v->kinds[ids[i]] |= TN_KIND_ENDS; }
    }
}

void tn_vocabulary_load(tn_vocabulary *v, const tn_host *host, const tn_meta *meta, const tn_family *family,
                        tn_faults *faults) {
    v->host = host;
    v->arena.host = host;
    TN_STAMP(host, &v->facts, tn_vocab);
    v->facts.size = read_texts(v, meta, faults);
    if (!v->facts.size) { return; }
    v->kinds = tn_arena_get(&v->arena, v->facts.size, 1);
    if (!v->kinds) {
        tn_fault_memory(faults);
        return;
    }
    read_kinds(v, meta, faults);
    read_facts(v, meta, family, faults);
    make_pieces(v, family, faults);
    if (faults->code != TN_OK) { return; }
    make_tables(v, family, faults);
    if (faults->code == TN_OK) { make_specials(v, family, faults); }
    if (faults->code == TN_OK) { mark_ends(v); }
}
