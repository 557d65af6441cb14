/*
 * report.c - reports: each command makes one JSON object; the text form is printed from the same object, so
 * that the two never differ.
 */
#include "commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_WIDTH = 22, MAX_COLUMNS = 12 };

/* ---- values as text ---------------------------------------------------------------------------------- */

void print_clean(const char *text, FILE *out) {
    for (; *text; text++) { fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, out); }
}

void print_word(const char *text, FILE *out) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,@%=";
    if (*text && !text[strspn(text, plain)]) {
        fputs(text, out);
        return;
    }
    fputc('\'', out);
    for (; *text; text++) { fputs(*text == '\'' ? "'\\''" : (char[]){*text, 0}, out); }
    fputc('\'', out);
}

static void print_value(const json_t *value, FILE *out) {
    size_t i;
    const json_t *item;
    switch (json_typeof(value)) {
    case JSON_STRING: print_clean(json_string_value(value), out); break;
    case JSON_INTEGER: fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
    case JSON_REAL: fprintf(out, "%.6g", json_real_value(value)); break;
    case JSON_TRUE: fputs("yes", out); break;
    case JSON_FALSE: fputs("no", out); break;
    case JSON_NULL: fputs("-", out); break;
    case JSON_ARRAY:
        json_array_foreach (value, i, item) {
            if (i) { fputs(", ", out); }
            print_value(item, out);
        }
        break;
    case JSON_OBJECT: {
        const char *key, *between = "";
        json_object_foreach ((json_t *)value, key, item) {
            fprintf(out, "%s%s ", between, key);
            print_value(item, out);
            between = ", ";
        }
        break;
    }
    }
}

static size_t value_width(const json_t *value) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) { return 0; }
    print_value(value, memory);
    fclose(memory);
    free(text);
    return size;
}

/* ---- tables ------------------------------------------------------------------------------------------ */

struct column {
    const char *key;
    size_t width;
};

static size_t find_columns(const json_t *rows, struct column *columns) {
    size_t count = 0, i;
    const json_t *row, *value;
    const char *key;
    json_array_foreach (rows, i, row) {
        json_object_foreach ((json_t *)row, key, value) {
            size_t c = 0;
            while (c < count && strcmp(columns[c].key, key) != 0) { c++; }
            if (c == MAX_COLUMNS) { continue; }
            if (c == count) { columns[count++] = (struct column){key, strlen(key)}; }
            size_t width = value_width(value);
            if (width > columns[c].width && width <= 60) { columns[c].width = width; }
        }
    }
    return count;
}

static void print_row(const json_t *row, const struct column *columns, size_t count, FILE *out) {
    for (size_t c = 0; c < count; c++) {
        const json_t *value = json_object_get(row, columns[c].key);
        size_t width = value ? value_width(value) : 0;
        int pad = c + 1 < count && width < columns[c].width ? (int)(columns[c].width - width) : 0;
        bool number = value && json_is_number(value);
        fprintf(out, "%s%*s", c ? "  " : "  ", number ? pad : 0, "");
        if (value) { print_value(value, out); }
        fprintf(out, "%*s", number ? 0 : pad, "");
    }
    fputc('\n', out);
}

static void print_table(const json_t *rows, FILE *out) {
    struct column columns[MAX_COLUMNS];
    size_t count = find_columns(rows, columns), i;
    const json_t *row;
    for (size_t c = 0; c < count; c++) {
        fprintf(out, "  %-*s", c + 1 < count ? (int)columns[c].width : 0, columns[c].key);
    }
    fputc('\n', out);
    json_array_foreach (rows, i, row) { print_row(row, columns, count, out); }
}

/* ---- reports ----------------------------------------------------------------------------------------- */

/* A key as a label: "kv_bytes" becomes "kv bytes:". Returns its width. */
static int print_label(const char *key, FILE *out) {
    int width = 1;
    for (; *key; key++, width++) { fputc(*key == '_' ? ' ' : *key, out); }
    fputc(':', out);
    return width;
}

void print_report(const json_t *report, FILE *out) {
    const char *key;
    const json_t *value;
    json_object_foreach ((json_t *)report, key, value) {
        if (json_is_array(value) && json_array_size(value) == 0) { continue; }
        if (json_is_array(value) && json_is_object(json_array_get(value, 0))) {
            print_label(key, out);
            fputc('\n', out);
            print_table(value, out);
            continue;
        }
        int used = print_label(key, out);
        fprintf(out, "%*s", used < LABEL_WIDTH ? LABEL_WIDTH - used : 1, "");
        print_value(value, out);
        fputc('\n', out);
    }
}

void print_json(const json_t *value, FILE *out) {
    json_dumpf(value, out, JSON_INDENT(2));
    fputc('\n', out);
}

void finish_report(const struct options *options, json_t *report) {
    if (options->json) {
        print_json(report, stdout);
    } else {
        print_report(report, stdout);
    }
    json_decref(report);
}

json_t *reasons_json(const tn_fit *fit) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < tn_fit_reason_count(fit); i++) {
        const tn_fit_reason *reason = tn_fit_reason_at(fit, i);
        char text[4096];
        tn_fit_reason_text(reason, text, sizeof text);
        json_t *item = json_object();
        json_object_set_new(item, "code", json_string(tn_code_text(reason->code)));
        set_text(item, "subject", reason->subject);
        set_text(item, "found", reason->found);
        set_text(item, "wanted", reason->wanted);
        set_text(item, "remedy", reason->remedy);
        set_count(item, "more", reason->more);
        set_text(item, "text", text);
        json_array_append_new(list, item);
    }
    return list;
}

size_t utf8_length(const unsigned char *text, size_t size) {
    unsigned char lead = text[0];
    size_t length = lead < 0x80   ? 1
                    : lead < 0xc2 ? 0
                    : lead < 0xe0 ? 2
                    : lead < 0xf0 ? 3
                    : lead < 0xf5 ? 4
                                  : 0;
    if (length == 0 || length > size) { return 0; }
    for (size_t i = 1; i < length; i++) {
        unsigned char low = 0x80, high = 0xbf;
        if (i == 1) {
            low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
            high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        }
        if (text[i] < low || text[i] > high) { return 0; }
    }
    return length;
}

json_t *text_json(const char *text, size_t size) {
    char *clean = NULL;
    size_t clean_size = 0;
    FILE *memory = open_memstream(&clean, &clean_size);
    if (!memory) { return NULL; }
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length((const unsigned char *)text + i, size - i);
        if (length) {
            fwrite(text + i, 1, length, memory);
        } else {
            fputs("\xef\xbf\xbd", memory);
        }
        i += length ? length : 1;
    }
    fclose(memory);
    json_t *value = json_stringn(clean, clean_size);
    free(clean);
    return value;
}

void set_text(json_t *object, const char *key, const char *text) {
    json_object_set_new(object, key, text_json(text, strlen(text)));
}

void set_count(json_t *object, const char *key, uint64_t value) {
    json_object_set_new(object, key, json_integer((json_int_t)value));
}
