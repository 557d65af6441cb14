/*
 * jinja_filter.h - the filters, for the table in jinja_filter.c. Each file of them has its own list.
 */
#ifndef TENON_JINJA_FILTER_H
#define TENON_JINJA_FILTER_H

#include "jinja_inside.h"

/* X(C name, name in templates, how many arguments it needs, its parameters) */
/* clang-format off */
#define JINJA_TEXT_FILTERS(X) \
    X(capitalize, "capitalize", 0, NULL) X(center, "center", 0, "width") X(escape, "e", 0, NULL) \
    X(escape, "escape", 0, NULL) X(escape_all, "forceescape", 0, NULL) X(format, "format", 0, "*", "**") \
    X(indent, "indent", 0, "width", "first", "blank") X(lower, "lower", 0, NULL) \
    X(replace, "replace", 2, "old", "new", "count") X(safe, "safe", 0, NULL) X(string, "string", 0, NULL) \
    X(striptags, "striptags", 0, NULL) X(title, "title", 0, NULL) X(trim, "trim", 0, "chars") \
    X(truncate, "truncate", 0, "length", "killwords", "end", "leeway") X(upper, "upper", 0, NULL) \
    X(urlencode, "urlencode", 0, NULL) X(wordcount, "wordcount", 0, NULL) \
    X(wordwrap, "wordwrap", 0, "width", "break_long_words", "wrapstring", "break_on_hyphens") \
    X(xmlattr, "xmlattr", 0, "autospace") X(pprint, "pprint", 0, NULL) \
    X(tojson, "tojson", 0, "ensure_ascii", "indent", "separators", "sort_keys")
#define JINJA_NUMBER_FILTERS(X) \
    X(abs, "abs", 0, NULL) X(filesizeformat, "filesizeformat", 0, "binary") X(float, "float", 0, "default") \
    X(int, "int", 0, "default", "base") X(round, "round", 0, "precision", "method")
#define JINJA_SEQUENCE_FILTERS(X) \
    X(attr, "attr", 1, "name") X(batch, "batch", 1, "linecount", "fill_with") X(length, "count", 0, NULL) \
    X(default, "d", 0, "default_value", "boolean") X(default, "default", 0, "default_value", "boolean") \
    X(dictsort, "dictsort", 0, "case_sensitive", "by", "reverse") X(first, "first", 0, NULL) \
    X(groupby, "groupby", 1, "attribute", "default", "case_sensitive") X(items, "items", 0, NULL) \
    X(join, "join", 0, "d", "attribute") X(last, "last", 0, NULL) X(length, "length", 0, NULL) \
    X(list, "list", 0, NULL) X(map, "map", 0, "*", "**") X(max, "max", 0, "case_sensitive", "attribute") \
    X(min, "min", 0, "case_sensitive", "attribute") X(reject, "reject", 0, "*", "**") \
    X(rejectattr, "rejectattr", 0, "*", "**") X(reverse, "reverse", 0, NULL) X(select, "select", 0, "*", "**") \
    X(selectattr, "selectattr", 0, "*", "**") X(slice, "slice", 1, "slices", "fill_with") \
    X(sort, "sort", 0, "reverse", "case_sensitive", "attribute") X(sum, "sum", 0, "attribute", "start") \
    X(unique, "unique", 0, "case_sensitive", "attribute")
/* clang-format on */

#define JINJA_FILTER_DECLARE(c_name, name, ...)                                                              \
    bool jinja_filter_##c_name(struct jinja_run *run, jinja_value self, const struct jinja_args *args,       \
                               jinja_value *out);
JINJA_TEXT_FILTERS(JINJA_FILTER_DECLARE)
JINJA_NUMBER_FILTERS(JINJA_FILTER_DECLARE)
JINJA_SEQUENCE_FILTERS(JINJA_FILTER_DECLARE)
#undef JINJA_FILTER_DECLARE

#endif
