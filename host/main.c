/*
 * main.c - the tenon program: finds the command and runs it. It knows no model, format, tokenizer or kernel.
 */
#include "commands.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

/* Where a standard stream is closed the next file that is opened would take its place. What is put there
 * fails to be read or written, as a closed stream does. */
static void open_streams(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1) { (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); }
    }
}

/* A model in many shards is written with all of them open at once, and the usual soft limit of 1024 files is for
 * programs that use select(), as this one does not. Where it fails the limit stays, and is told when it matters. */
static void allow_open_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) { return; }
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv) {
    open_streams();
    allow_open_files();
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
    if (status == EXIT_DONE && options.help) {
        print_help(command, stdout);
        status = finish_output(EXIT_DONE);
    } else if (status == EXIT_DONE) {
        status = finish_output(command->run(&options));
    }
    adapters_free(&options);
    return status == EXIT_INTERRUPTED ? interrupt_status() : status;
}
