/*
 * quant_mix.h - mixes: which type each tensor of a model gets in a file of a given type. All names of types,
 * tensors and architectures are data, in files NAME.mix of the plugin folders; quant_mix_read.c reads one,
 * quant_mix_find.c all of them, quant_choose.c chooses. A file stands by itself: its rules are about the file
 * types that it defines, and a file type is defined once.
 */
#ifndef TENON_QUANT_MIX_H
#define TENON_QUANT_MIX_H

#include "tenon/engine.h"

/** A longer file is no mix file. */
#define TN_MIX_MOST (256u << 10)

/** File types and classes of one file are bits of a word; the last class is that of all tensors in no other. */
enum { TN_MIX_FILES_MOST = 64, TN_MIX_CLASSES_MOST = 63, TN_MIX_OTHER = 63 };

/** `count` words from tn_mix.words[first] on. */
typedef struct tn_mix_words {
    uint32_t first, count;
} tn_mix_words;

/** A pattern (of glob(7)) for names of tensors that are converted, or kept. */
typedef struct tn_mix_name {
    const char *pattern;
    int keep;
} tn_mix_name;

/** What a class is apart from its names. */
enum {
    TN_MIX_OUTPUT,    /**< what --output-type means */
    TN_MIX_EMBEDDING, /**< what --embedding-type means; stands in for an output that is not there */
    TN_MIX_COUNTED,   /**< i: how many of the class came before, n: how many there are */
    TN_MIX_LAYERED    /**< n: layers; i: the layer in models with experts, else as above */
};

typedef struct tn_mix_class {
    const char *name;
    uint32_t role; /**< TN_MIX_* */
    tn_mix_words patterns;
} tn_mix_class;

typedef struct tn_mix_file {
    int64_t number; /**< for general.file_type; -1: none */
    const char *name, *base;
    tn_mix_words others; /**< other names */
} tn_mix_file;

/** What a condition looks at. */
enum {
    TN_MIX_I,
    TN_MIX_SEEN, /**< how many of the class came before */
    TN_MIX_LAYERS,
    TN_MIX_GQA, /**< query heads for each key/value head */
    TN_MIX_EXPERTS,
    TN_MIX_MATRICES, /**< of the tensor: its third dimension */
    TN_MIX_NUMBERS,  /**< those above are numbers: */
    TN_MIX_ARCH = TN_MIX_NUMBERS,
    TN_MIX_CHOSEN, /**< the type that the rules before chose */
    TN_MIX_LISTS,  /**< those two are one of a list of words: */
    TN_MIX_IMPORTANCE = TN_MIX_LISTS,
    TN_MIX_NO_IMPORTANCE,
    TN_MIX_MISFIT, /**< a row is no whole number of blocks of the base type */
    TN_MIX_MORE,   /**< i is in the first or last eighth of n, or the third of three between */
};

typedef struct tn_mix_condition {
    uint32_t subject;
    char test; /**< '<', '>' (at least) or '='; 0 for the others */
    int of_n;  /**< compared with factor * n / divisor, else with factor */
    uint64_t factor, divisor;
    tn_mix_words words; /**< of a list */
} tn_mix_condition;

typedef struct tn_mix_rule {
    uint64_t files, classes; /**< bits */
    const char *type;        /**< NULL: the base type */
    uint32_t first, count;   /**< conditions, all of which must hold */
} tn_mix_rule;

/** What stands in for a type whose blocks do not fit: the first of `types` whose blocks do. */
typedef struct tn_mix_fallback {
    const char *type;
    tn_mix_words types;
} tn_mix_fallback;

/** Types that may not be made without importance data. */
typedef struct tn_mix_need {
    uint64_t files;
    tn_mix_words types;
} tn_mix_need;

typedef struct tn_mix {
    char *path;
    char *text; /**< the words lie in it */
    const char **words;
    tn_mix_name *names;
    tn_mix_class *classes;
    tn_mix_file *files;
    tn_mix_rule *rules, *thens;
    tn_mix_condition *conditions;
    tn_mix_fallback *fallbacks;
    tn_mix_need *needs;
    uint32_t word_count, name_count, class_count, file_count, rule_count, then_count, condition_count,
        fallback_count, need_count;
} tn_mix;

/** Reads a file's text. TN_E_PLUGIN_MANIFEST names file and line. *out is freed by tn_mix_free() on success. */
int32_t tn_mix_read(const char *path, const char *text, size_t size, tn_mix *out, tn_error *err);
void tn_mix_free(tn_mix *mix);
/** 1 if a file type has that name, in either case. */
int tn_mix_is_called(const tn_mix *mix, const tn_mix_file *file, const char *name);

/** All mixes of an engine's plugin folders. */
typedef struct tn_mixes {
    tn_mix *at;
    uint32_t count;
} tn_mixes;

/** A file that is wrong or not to be trusted fails it, as do two that define one name. */
int32_t tn_mixes_read(const tn_engine *engine, tn_mixes *out, tn_error *err);
void tn_mixes_free(tn_mixes *mixes);
/** The file type of that name, in either case; its number in the mix, NULL: there is none. */
const tn_mix *tn_mixes_find(const tn_mixes *mixes, const char *name, uint32_t *file);

#endif
