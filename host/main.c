/*
 * main.c - the tenon program: finds the command and runs it. It knows no model, format, tokenizer or kernel.
 */
#include "commands.h"

#include <string.h>

int main(int argc, char **argv) {
    install_signals();
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "--version") || !strcmp(name, "-version") || !strcmp(name, "version")) {
        printf("tenon %s\n", tn_version());
        return finish_output(EXIT_DONE);
    }
    if (!strcmp(name, "--man") || !strcmp(name, "-man")) {
        print_manual(stdout);
        return finish_output(EXIT_DONE);
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        const struct command *about = argc > 2 ? command_find(argv[2]) : NULL;
        if (argc > 2 && !about) {
            return usage_error("help", "no command \"%s\" (see tenon --help)", argv[2]);
        }
        print_help(about, stdout);
        return finish_output(EXIT_DONE);
    }
    const struct command *command = command_find(name);
    if (!command) {
        if (*name) {
            fprintf(stderr, "tenon: no command \"%s\" (see tenon --help)\n", name);
        } else {
            print_help(NULL, stderr);
        }
        return EXIT_USAGE;
    }
    struct options options;
    int status = options_parse(command, argc - 1, argv + 1, &options);
    if (status != EXIT_DONE) { return status; }
    if (options.help) {
        print_help(command, stdout);
        return finish_output(EXIT_DONE);
    }
    return finish_output(command->run(&options));
}
