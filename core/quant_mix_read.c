/*
 * quant_mix_read.c - reads a mix file: one statement a line, words between blanks, "#" starts a comment.
 *
 *     tenon-mix 1                                the first line
 *     convert PATTERN...                         names of tensors that are converted ...
 *     keep PATTERN...                            ... unless they are like these
 *     class NAME ROLE PATTERN...                 a kind of tensors; ROLE: output, embedding, counted, layered
 *     file NUMBER NAME TYPE [OTHER-NAME...]      a file type; NUMBER "-": none in general.file_type
 *     set NAME FILES                             a name for several file types
 *     rule FILES CLASSES TYPE [if CONDITION...]  TYPE may be "base"
 *     then FILES CLASSES TYPE [if CONDITION...]
 *     fallback TYPE TYPE...
 *     needs FILES TYPES
 *
 * FILES, CLASSES and TYPES are lists with commas, "*" for all. CONDITION is importance, no-importance, misfit,
 * more, arch=LIST, chosen=LIST, or one of i, seen, layers, gqa, experts, matrices with <, >= or = and a number
 * or a part of n: n, 7n, n/8, 7n/8. What a statement names must have been defined above it.
 */
#include "quant_mix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINE_MOST = 1000, NAME_MOST = 31, NUMBER_MOST = 1000000 };

typedef struct reader {
    tn_mix *mix;
    struct file_set {
        const char *name;
        uint64_t files;
    } * sets;
    uint32_t set_count;
    unsigned line;
    tn_error *err;
} reader;

TN_PRINTF(2, 3)
static int32_t fault(const reader *r, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return tn_fail(r->err, TN_E_PLUGIN_MANIFEST, "%s:%u: %s", r->mix->path, r->line, text);
}

static int32_t no_memory(const reader *r) {
    return tn_fail(r->err, TN_E_MEMORY, "%s: no memory left to read it", r->mix->path);
}

/* ---- lists that grow ----------------------------------------------------------------------------------- */

/* Room for one more: capacities are powers of two from 8 up, so the count tells them. NULL: no memory. */
static void *with_room(void *array, uint32_t count, size_t size) {
    if (count && (count < 8 || count & (count - 1))) { return array; }
    return reallocarray(array, count ? 2 * (size_t)count : 8, size);
}

#define ADD(r, array, count, value)                                                                          \
    do {                                                                                                     \
        void *more_ = with_room((array), (count), sizeof *(array));                                          \
        if (!more_) { return no_memory(r); }                                                                 \
        (array) = more_;                                                                                     \
        (array)[(count)++] = (value);                                                                        \
    } while (0)

static int32_t add_words(reader *r, char *const *words, uint32_t count, tn_mix_words *out) {
    *out = (tn_mix_words){r->mix->word_count, count};
    for (uint32_t i = 0; i < count; i++) { ADD(r, r->mix->words, r->mix->word_count, words[i]); }
    return TN_OK;
}

/* ---- words --------------------------------------------------------------------------------------------- */

static int32_t check_name(const reader *r, const char *name) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t size = strlen(name);
    if (size == 0 || size > NAME_MOST || strspn(name, letters) != size) {
        return fault(r, "\"%s\" is no name: 1 to %d letters, digits, '_', '.' and '-' were expected", name,
                     NAME_MOST);
    }
    return TN_OK;
}

static int32_t take_type(const reader *r, char *word, const char **out) {
    *out = word;
    return check_name(r, word);
}

static int32_t take_number(const reader *r, const char *text, const char *end, uint64_t *out) {
    *out = 0;
    for (const char *at = text; at < end; at++) {
        if (*at < '0' || *at > '9' || *out > NUMBER_MOST) { end = text; }
        *out = *out * 10 + (uint64_t)(*at - '0');
    }
    if (end == text || *out > NUMBER_MOST) {
        return fault(r, "\"%s\": a whole number up to %d was expected", text, NUMBER_MOST);
    }
    return TN_OK;
}

/* The next part of a list with commas, cut off; NULL after the last. */
static char *next_part(char **list) {
    char *part = *list;
    if (part) {
        *list = strchr(part, ',');
        if (*list) { *(*list)++ = 0; }
    }
    return part;
}

static int32_t take_list(reader *r, char *list, tn_mix_words *out) {
    *out = (tn_mix_words){r->mix->word_count, 0};
    for (char *part; (part = next_part(&list));) {
        TN_TRY(check_name(r, part));
        ADD(r, r->mix->words, r->mix->word_count, part);
        out->count++;
    }
    return TN_OK;
}

/* ---- file types and classes ---------------------------------------------------------------------------- */

int tn_mix_is_called(const tn_mix *mix, const tn_mix_file *file, const char *name) {
    if (strcasecmp(file->name, name) == 0) { return 1; }
    for (uint32_t i = 0; i < file->others.count; i++) {
        if (strcasecmp(mix->words[file->others.first + i], name) == 0) { return 1; }
    }
    return 0;
}

static const struct file_set *find_set(const reader *r, const char *name) {
    for (uint32_t i = 0; i < r->set_count; i++) {
        if (strcasecmp(r->sets[i].name, name) == 0) { return &r->sets[i]; }
    }
    return NULL;
}

/* A name that is to be given: each stands for one thing. "COPY" is no file type: it is what the host does then. */
static int32_t check_new(const reader *r, const char *name) {
    TN_TRY(check_name(r, name));
    if (strcasecmp(name, "COPY") == 0) { return fault(r, "the name %s is taken", name); }
    if (find_set(r, name)) { return fault(r, "%s is a set already", name); }
    for (uint32_t i = 0; i < r->mix->file_count; i++) {
        if (tn_mix_is_called(r->mix, &r->mix->files[i], name)) {
            return fault(r, "%s is a file type already", name);
        }
    }
    return TN_OK;
}

static int32_t take_file_name(const reader *r, const char *name, uint64_t *files) {
    const struct file_set *set = find_set(r, name);
    if (set) {
        *files |= set->files;
        return TN_OK;
    }
    for (uint32_t i = 0; i < r->mix->file_count; i++) {
        if (strcasecmp(r->mix->files[i].name, name) == 0) {
            *files |= 1ull << i;
            return TN_OK;
        }
    }
    return fault(r, "%s is neither a file type nor a set that was defined above", name);
}

static int32_t take_files(const reader *r, char *list, uint64_t *out) {
    *out = 0;
    if (strcmp(list, "*") == 0) {
        *out = UINT64_MAX;
        return TN_OK;
    }
    for (char *part; (part = next_part(&list));) { TN_TRY(take_file_name(r, part, out)); }
    return TN_OK;
}

static int32_t take_class_name(const reader *r, const char *name, uint64_t *classes) {
    for (uint32_t i = 0; i < r->mix->class_count; i++) {
        if (strcmp(r->mix->classes[i].name, name) == 0) {
            *classes |= 1ull << i;
            return TN_OK;
        }
    }
    return fault(r, "%s is no class that was defined above", name);
}

static int32_t take_classes(const reader *r, char *list, uint64_t *out) {
    *out = 0;
    if (strcmp(list, "*") == 0) {
        *out = UINT64_MAX;
        return TN_OK;
    }
    for (char *part; (part = next_part(&list));) { TN_TRY(take_class_name(r, part, out)); }
    return TN_OK;
}

/* ---- conditions ---------------------------------------------------------------------------------------- */

static const struct subject {
    const char *name;
    uint32_t number;
} subjects[] = {
    {"i", TN_MIX_I},
    {"seen", TN_MIX_SEEN},
    {"layers", TN_MIX_LAYERS},
    {"gqa", TN_MIX_GQA},
    {"experts", TN_MIX_EXPERTS},
    {"matrices", TN_MIX_MATRICES},
    {"arch", TN_MIX_ARCH},
    {"chosen", TN_MIX_CHOSEN},
    {"importance", TN_MIX_IMPORTANCE},
    {"no-importance", TN_MIX_NO_IMPORTANCE},
    {"misfit", TN_MIX_MISFIT},
    {"more", TN_MIX_MORE},
};

static int32_t find_subject(const reader *r, const char *word, size_t size, uint32_t *out) {
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        if (strlen(subjects[i].name) == size && memcmp(subjects[i].name, word, size) == 0) {
            *out = subjects[i].number;
            return TN_OK;
        }
    }
    return fault(r, "\"%s\" is no condition", word);
}

/* NUMBER, or [NUMBER]n[/NUMBER] */
static int32_t take_bound(const reader *r, const char *text, tn_mix_condition *out) {
    const char *n = strchr(text, 'n'), *end = text + strlen(text);
    out->factor = out->divisor = 1;
    out->of_n = n != NULL;
    if (!n) { return take_number(r, text, end, &out->factor); }
    if (n > text) { TN_TRY(take_number(r, text, n, &out->factor)); }
    if (n[1] == 0) { return TN_OK; }
    if (n[1] != '/') { return fault(r, "\"%s\": a part of n such as 7n/8 was expected", text); }
    TN_TRY(take_number(r, n + 2, end, &out->divisor));
    return out->divisor ? TN_OK : fault(r, "\"%s\" divides by 0", text);
}

static int32_t take_test(reader *r, const char *word, char *test, tn_mix_condition *out) {
    char *bound = test + (test[0] == '>' ? 2 : 1);
    if (test[0] == '>' && test[1] != '=') { return fault(r, "\"%s\": <, >= or = was expected", word); }
    out->test = test[0];
    return take_bound(r, bound, out);
}

static int32_t take_condition(reader *r, char *word) {
    tn_mix_condition condition = {0};
    size_t size = strcspn(word, "<>=");
    char *test = word + size;
    TN_TRY(find_subject(r, word, size, &condition.subject));
    if (condition.subject >= TN_MIX_LISTS) {
        if (*test) { return fault(r, "\"%s\": nothing was expected behind the name", word); }
    } else if (!*test) {
        return fault(r, "\"%s\": a comparison was expected", word);
    } else if (condition.subject < TN_MIX_NUMBERS) {
        TN_TRY(take_test(r, word, test, &condition));
    } else if (*test != '=') {
        return fault(r, "\"%s\": = and a list were expected", word);
    } else {
        TN_TRY(take_list(r, test + 1, &condition.words));
    }
    ADD(r, r->mix->conditions, r->mix->condition_count, condition);
    return TN_OK;
}

/* ---- statements ---------------------------------------------------------------------------------------- */

/* words[0] is the statement's own name. */
typedef int32_t statement_fn(reader *r, char **words, uint32_t count);

static int32_t add_names(reader *r, char **words, uint32_t count, int keep) {
    for (uint32_t i = 1; i < count; i++) {
        tn_mix_name name = {words[i], keep};
        ADD(r, r->mix->names, r->mix->name_count, name);
    }
    return TN_OK;
}

static int32_t read_convert(reader *r, char **words, uint32_t count) {
    return add_names(r, words, count, 0);
}

static int32_t read_keep(reader *r, char **words, uint32_t count) {
    return add_names(r, words, count, 1);
}

static int32_t read_class(reader *r, char **words, uint32_t count) {
    static const char *const roles[] = {[TN_MIX_OUTPUT] = "output",
                                        [TN_MIX_EMBEDDING] = "embedding",
                                        [TN_MIX_COUNTED] = "counted",
                                        [TN_MIX_LAYERED] = "layered"};
    enum { ROLES = sizeof roles / sizeof *roles };
    tn_mix_class made = {.name = words[1]};
    TN_TRY(check_name(r, words[1]));
    for (uint32_t i = 0; i < r->mix->class_count; i++) {
        if (strcmp(r->mix->classes[i].name, words[1]) == 0) {
            return fault(r, "%s is a class already", words[1]);
        }
    }
    if (r->mix->class_count == TN_MIX_CLASSES_MOST) {
        return fault(r, "more than %d classes", TN_MIX_CLASSES_MOST);
    }
    while (made.role < ROLES && strcmp(roles[made.role], words[2]) != 0) { made.role++; }
    if (made.role == ROLES) {
        return fault(r, "%s: output, embedding, counted or layered was expected", words[2]);
    }
    TN_TRY(add_words(r, words + 3, count - 3, &made.patterns));
    ADD(r, r->mix->classes, r->mix->class_count, made);
    return TN_OK;
}

static int32_t read_file(reader *r, char **words, uint32_t count) {
    tn_mix_file made = {.number = -1, .name = words[2]};
    if (r->mix->file_count == TN_MIX_FILES_MOST) {
        return fault(r, "more than %d file types", TN_MIX_FILES_MOST);
    }
    if (strcmp(words[1], "-") != 0) {
        uint64_t number;
        TN_TRY(take_number(r, words[1], words[1] + strlen(words[1]), &number));
        made.number = (int64_t)number;
    }
    TN_TRY(check_new(r, words[2]));
    TN_TRY(take_type(r, words[3], &made.base));
    for (uint32_t i = 4; i < count; i++) { TN_TRY(check_new(r, words[i])); }
    TN_TRY(add_words(r, words + 4, count - 4, &made.others));
    ADD(r, r->mix->files, r->mix->file_count, made);
    return TN_OK;
}

static int32_t read_set(reader *r, char **words, uint32_t count) {
    struct file_set made = {.name = words[1]};
    (void)count;
    TN_TRY(check_new(r, words[1]));
    TN_TRY(take_files(r, words[2], &made.files));
    ADD(r, r->sets, r->set_count, made);
    return TN_OK;
}

static int32_t take_rule(reader *r, char **words, uint32_t count, tn_mix_rule *out) {
    *out = (tn_mix_rule){.first = r->mix->condition_count, .count = count > 5 ? count - 5 : 0};
    TN_TRY(take_files(r, words[1], &out->files));
    TN_TRY(take_classes(r, words[2], &out->classes));
    if (strcmp(words[3], "base") != 0) { TN_TRY(take_type(r, words[3], &out->type)); }
    if (count > 4 && (strcmp(words[4], "if") != 0 || count == 5)) {
        return fault(r, "\"%s\": nothing, or if and conditions, was expected behind the type", words[4]);
    }
    for (uint32_t i = 5; i < count; i++) { TN_TRY(take_condition(r, words[i])); }
    return TN_OK;
}

static int32_t read_rule(reader *r, char **words, uint32_t count) {
    tn_mix_rule made;
    TN_TRY(take_rule(r, words, count, &made));
    ADD(r, r->mix->rules, r->mix->rule_count, made);
    return TN_OK;
}

static int32_t read_then(reader *r, char **words, uint32_t count) {
    tn_mix_rule made;
    TN_TRY(take_rule(r, words, count, &made));
    ADD(r, r->mix->thens, r->mix->then_count, made);
    return TN_OK;
}

static int32_t read_fallback(reader *r, char **words, uint32_t count) {
    tn_mix_fallback made = {.type = words[1]};
    for (uint32_t i = 1; i < count; i++) { TN_TRY(check_name(r, words[i])); }
    for (uint32_t i = 0; i < r->mix->fallback_count; i++) {
        if (strcmp(r->mix->fallbacks[i].type, words[1]) == 0) {
            return fault(r, "%s has a fallback already", words[1]);
        }
    }
    TN_TRY(add_words(r, words + 2, count - 2, &made.types));
    ADD(r, r->mix->fallbacks, r->mix->fallback_count, made);
    return TN_OK;
}

static int32_t read_needs(reader *r, char **words, uint32_t count) {
    tn_mix_need made;
    (void)count;
    TN_TRY(take_files(r, words[1], &made.files));
    TN_TRY(take_list(r, words[2], &made.types));
    ADD(r, r->mix->needs, r->mix->need_count, made);
    return TN_OK;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

enum { WORDS_MOST = LINE_MOST / 2 + 1 };

static const struct statement {
    const char *name;
    uint32_t least, most; /* words, the name among them */
    statement_fn *read;
} statements[] = {
    {"convert", 2, WORDS_MOST, read_convert},
    {"keep", 2, WORDS_MOST, read_keep},
    {"class", 4, WORDS_MOST, read_class},
    {"file", 4, WORDS_MOST, read_file},
    {"set", 3, 3, read_set},
    {"rule", 4, WORDS_MOST, read_rule},
    {"then", 4, WORDS_MOST, read_then},
    {"fallback", 3, WORDS_MOST, read_fallback},
    {"needs", 3, 3, read_needs},
};

static int32_t read_statement(reader *r, char **words, uint32_t count) {
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        const struct statement *statement = &statements[i];
        if (strcmp(statement->name, words[0]) != 0) { continue; }
        if (count < statement->least) {
            return fault(r, "%s: at least %u words were expected behind it", words[0], statement->least - 1);
        }
        if (count > statement->most) {
            return fault(r, "%s: only %u words were expected behind it", words[0], statement->most - 1);
        }
        return statement->read(r, words, count);
    }
    return fault(r, "\"%.40s\" is no statement", words[0]);
}

static int32_t check_line(const reader *r, const char *line, size_t size) {
    if (size > LINE_MOST) { return fault(r, "a line of %zu bytes, at most %d are read", size, LINE_MOST); }
    for (size_t i = 0; i < size; i++) {
        if ((line[i] < ' ' || line[i] > '~') && line[i] != '\t') {
            return fault(r, "a byte that is no printable ASCII");
        }
    }
    return TN_OK;
}

static uint32_t cut_words(char *line, char **words) {
    uint32_t count = 0;
    line[strcspn(line, "#")] = 0;
    for (char *at = line; *(at += strspn(at, " \t"));) {
        words[count++] = at;
        at += strcspn(at, " \t");
        if (*at) { *at++ = 0; }
    }
    return count;
}

static int32_t read_lines(reader *r, char *text, size_t size) {
    int begun = 0;
    for (char *line = text, *end = text + size; line < end;) {
        char *words[WORDS_MOST], *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        r->line++;
        TN_TRY(check_line(r, line, length));
        line[length] = 0;
        uint32_t count = cut_words(line, words);
        line += length + 1;
        if (count == 0) { continue; }
        if (begun) {
            TN_TRY(read_statement(r, words, count));
        } else if (count != 2 || strcmp(words[0], "tenon-mix") != 0 || strcmp(words[1], "1") != 0) {
            return fault(r, "\"tenon-mix 1\" was expected as the first statement");
        }
        begun = 1;
    }
    return begun ? TN_OK : fault(r, "\"tenon-mix 1\" was expected, there is no statement");
}

int32_t tn_mix_read(const char *path, const char *text, size_t size, tn_mix *out, tn_error *err) {
    reader r = {.mix = out, .err = err};
    *out = (tn_mix){.path = strdup(path), .text = malloc(size + 1)};
    int32_t code = TN_OK;
    if (!out->path || !out->text) {
        code = tn_fail(err, TN_E_MEMORY, "%s: no memory left to read it", path);
    } else if (size > TN_MIX_MOST) {
        code =
            tn_fail(err, TN_E_PLUGIN_MANIFEST, "%s: %zu bytes, at most %u are read", path, size, TN_MIX_MOST);
    } else {
        memcpy(out->text, text, size);
        out->text[size] = 0;
        code = read_lines(&r, out->text, size);
    }
    free(r.sets);
    if (code != TN_OK) { tn_mix_free(out); }
    return code;
}

void tn_mix_free(tn_mix *mix) {
    free(mix->path);
    free(mix->text);
    free(mix->words);
    free(mix->names);
    free(mix->classes);
    free(mix->files);
    free(mix->rules);
    free(mix->thens);
    free(mix->conditions);
    free(mix->fallbacks);
    free(mix->needs);
    *mix = (tn_mix){0};
}
