/*
 * byte_input.c - see byte_input.h.
 */
#include "byte_input.h"

#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_READ = 64 * 1024 };

static int fault(const struct byte_input *in) {
    fprintf(stderr, "tenon: %s: %s\n", in->name, strerror(errno));
    return EXIT_FAILED;
}

int byte_input_open(const char *path, struct byte_input *out) {
    *out = (struct byte_input){.fd = STDIN_FILENO, .name = path ? path : "standard input"};
    if (path) { out->fd = open(path, O_RDONLY | O_CLOEXEC); }
    return out->fd >= 0 ? EXIT_DONE : fault(out);
}

void byte_input_close(struct byte_input *in) {
    if (in->fd > STDIN_FILENO) { close(in->fd); }
    free(in->data);
    *in = (struct byte_input){.fd = STDIN_FILENO};
}

static int reserve(struct byte_input *in, size_t capacity) {
    if (capacity <= in->capacity) { return EXIT_DONE; }
    char *data = realloc(in->data, capacity);
    if (!data) {
        fprintf(stderr, "tenon: %s: not enough memory for %zu bytes\n", in->name, capacity);
        return EXIT_FAILED;
    }
    in->data = data;
    in->capacity = capacity;
    return EXIT_DONE;
}

/* Reads once, as much as there is room for. */
static int read_more(struct byte_input *in) {
    if (fflush(stdout) != 0) { return finish_output(EXIT_DONE); }
    for (;;) {
        if (interrupted()) { return EXIT_INTERRUPTED; }
        ssize_t n = read(in->fd, in->data + in->end, in->capacity - in->end);
        if (n < 0 && errno == EINTR) { continue; }
        if (n < 0) { return fault(in); }
        in->ended = n == 0;
        in->end += (size_t)n;
        return EXIT_DONE;
    }
}

static bool is_ready(const struct byte_input *in) {
    struct pollfd wanted = {.fd = in->fd, .events = POLLIN};
    return poll(&wanted, 1, 0) > 0;
}

int byte_input_block(struct byte_input *in, size_t most, const char **bytes, size_t *size) {
    in->begin = in->end = 0;
    int status = reserve(in, most);
    while (status == EXIT_DONE && !in->ended && in->end < most && (in->end == 0 || is_ready(in))) {
        status = read_more(in);
    }
    *bytes = in->data;
    *size = in->end;
    return status;
}

/* What was handed out leaves the buffer; a line that fills it gets twice the room. */
static int make_room(struct byte_input *in) {
    if (in->begin > 0) {
        memmove(in->data, in->data + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->searched -= in->begin;
        in->begin = 0;
    }
    return reserve(in, in->end + LINE_READ > in->capacity ? 2 * in->capacity + LINE_READ : in->capacity);
}

int byte_input_line(struct byte_input *in, const char **line, size_t *size) {
    *line = NULL;
    *size = 0;
    for (;;) {
        char *end =
            in->end > in->searched ? memchr(in->data + in->searched, '\n', in->end - in->searched) : NULL;
        in->searched = end ? (size_t)(end - in->data) + 1 : in->end;
        if (end || (in->ended && in->end > in->begin)) {
            *line = in->data + in->begin;
            *size = in->searched - in->begin - (end != NULL);
            in->begin = in->searched;
            return EXIT_DONE;
        }
        if (in->ended) { return EXIT_DONE; }
        int status = make_room(in);
        if (status == EXIT_DONE) { status = read_more(in); }
        if (status != EXIT_DONE) { return status; }
    }
}

bool byte_input_waits(const struct byte_input *in) {
    bool line = in->end > in->begin && memchr(in->data + in->begin, '\n', in->end - in->begin);
    return !line && !in->ended && !is_ready(in);
}
