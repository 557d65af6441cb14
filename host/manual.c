/*
 * manual.c - help and man page, both made from the tables of commands and options.
 */
#include "options.h"

#include "tenon/engine.h"

#include <string.h>

static const char intro[] = "runs language models from GGUF files, with plugins for everything";

/* ---- help -------------------------------------------------------------------------------------------- */

/* Text in lines of at most 76 columns behind an indent; the first line is already indented. */
static void print_wrapped(FILE *out, const char *text, int indent) {
    int column = indent;
    while (*text) {
        size_t word = strcspn(text, " \n");
        if (column > indent && column + 1 + (int)word > 76) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)word, text);
        column += (int)word;
        text += word;
        if (*text == ' ') { text++; }
        if (*text == '\n') {
            fprintf(out, "\n\n%*s", indent, "");
            column = indent;
            text += strspn(text, "\n");
        }
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const struct option_text *option) {
    char left[64];
    int used = option->letter ? snprintf(left, sizeof left, "-%c, ", option->letter)
                              : snprintf(left, sizeof left, "    ");
    used += snprintf(left + used, sizeof left - (size_t)used, "--%s", option->name);
    if (option->argument) { snprintf(left + used, sizeof left - (size_t)used, " %s", option->argument); }
    fprintf(out, "  %-26s ", left);
    if (strlen(left) > 26) { fprintf(out, "\n%*s", 29, ""); }
    print_wrapped(out, option->help, 29);
}

static void print_program_help(FILE *out) {
    fprintf(out, "tenon %s: %s.\n\nUsage: tenon COMMAND [options]\n\n", tn_version(), intro);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fputs("\n  tenon COMMAND --help   options of a command\n"
          "  tenon --version        the version\n"
          "  tenon --man            the whole manual, for man\n",
          out);
}

void print_help(const struct command *command, FILE *out) {
    if (!command) {
        print_program_help(out);
        return;
    }
    fprintf(out, "Usage: tenon %s %s%s[options]\n\n", command->name, command->operands,
            *command->operands ? " " : "");
    print_wrapped(out, command->description, 0);
    fputc('\n', out);
    struct option_text option;
    for (size_t at = 0; option_text_at(command, &at, &option);) { print_option(out, &option); }
}

/* ---- man page ---------------------------------------------------------------------------------------- */

/* Running text for man: "-" as a minus sign, "\" and leading dots made harmless, an empty line as a
 * paragraph. */
static void print_roff(FILE *out, const char *text) {
    for (bool line_start = true; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) { fputs("\\&", out); }
        line_start = *text == '\n';
        if (*text == '-') {
            fputs("\\-", out);
        } else if (*text == '\\') {
            fputs("\\e", out);
        } else if (*text == '\n') {
            fputs("\n.PP\n", out);
            text += strspn(text, "\n") - 1;
        } else {
            fputc(*text, out);
        }
    }
    fputc('\n', out);
}

static void print_roff_option(FILE *out, const struct option_text *option) {
    fputs(".TP\n", out);
    if (option->letter) { fprintf(out, "\\fB\\-%c\\fR, ", option->letter); }
    fputs("\\fB\\-\\-", out);
    for (const char *c = option->name; *c; c++) { fputs(*c == '-' ? "\\-" : (char[]){*c, 0}, out); }
    fputs("\\fR", out);
    if (option->argument) { fprintf(out, " \\fI%s\\fR", option->argument); }
    fputc('\n', out);
    print_roff(out, option->help);
}

static void print_section(FILE *out, const char *title, const char *text) {
    fprintf(out, ".SH %s\n", title);
    print_roff(out, text);
}

void print_manual(FILE *out) {
    fprintf(out, ".TH TENON 1 \"\" \"tenon %s\" \"Tenon\"\n.SH NAME\ntenon \\- %s\n", tn_version(), intro);
    fputs(".SH SYNOPSIS\n", out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "\\fBtenon %s\\fR %s%s[options]\n.br\n", commands[i].name, commands[i].operands,
                *commands[i].operands ? " " : "");
    }
    print_section(
        out, "DESCRIPTION",
        "Tenon runs language models from GGUF files. The program knows no model, no tensor format, no tokenizer "
        "and no kernel: each is a plugin. Before a weight is read, the installed plugins are proved to fit the "
        "file, or it is refused with every reason at once.\n\n"
        "Results go to standard output; progress, statistics, warnings and errors to standard error. Long "
        "options take two dashes, and one as well. Names of types are read in either case.");
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, ".SH \"tenon %s\"\n", commands[i].name);
        print_roff(out, commands[i].description);
        struct option_text option;
        for (size_t at = 0; option_text_at(&commands[i], &at, &option);) { print_roff_option(out, &option); }
    }
    fputs(
        ".SH \"EXIT STATUS\"\n"
        ".TP\n0\ndone\n"
        ".TP\n1\nfailed while working: no such file, read, write, memory, closed pipe\n"
        ".TP\n2\nwrong command line or input: unknown option, number out of range, id outside the vocabulary, prompt "
        "longer than the context\n"
        ".TP\n3\nmodel or plugin refused, which includes any file that is not sound GGUF\n"
        ".TP\n4\na check ran and found faults\n"
        ".TP\n130\ninterrupted by ^C, after printing the statistics\n",
        out);
    fputs(
        ".SH ENVIRONMENT\n"
        ".TP\n.B TENON_ISA\ncaps the instruction sets: \\fBportable\\fR, \\fBavx2\\fR or \\fBavx512vnni\\fR\n"
        ".TP\n.B TENON_PLUGIN_PATH\nmore plugin folders, absolute, separated by colons; ignored in a set-user-id "
        "program\n"
        ".TP\n.B XDG_CONFIG_HOME\\fR, \\fBXDG_CACHE_HOME\nwhere tenon/config.ini and the list of plugins that passed "
        "a trial lie\n",
        out);
    fputs(
        ".SH FILES\n"
        ".TP\n.I ~/.config/tenon/config.ini\nin its section [plugins]: \\fBpath\\fR = a plugin folder, \\fBpin\\fR = "
        "id of a plugin that wins where two claim one name; both may be repeated\n"
        ".SH EXAMPLES\n"
        ".EX\n"
        "tenon info \\-m model.gguf\n"
        "tenon run \\-m model.gguf \\-p \"Once upon a time\" \\-n 64\n"
        "tenon bench \\-m model.gguf \\-p 512 \\-n 128\n"
        ".EE\n",
        out);
}
