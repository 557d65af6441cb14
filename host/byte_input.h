/*
 * byte_input.h - a file or standard input, of any length, in blocks or lines.
 *
 * Before a read that may wait, standard output is flushed: whoever talks to the program through pipes gets each answer
 * before the next question is expected.
 */
#ifndef TENON_HOST_BYTE_INPUT_H
#define TENON_HOST_BYTE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_input {
    int fd;
    const char *name; /* for messages */
    char *data;       /* what was read and not yet handed out: [begin, end) */
    size_t begin, end, capacity;
    size_t searched; /* up to here there is no end of a line */
    bool ended;
};

/* NULL: standard input. EXIT_DONE or a status, message printed. */
int byte_input_open(const char *path, struct byte_input *out);
void byte_input_close(struct byte_input *in);
/* The next bytes, as many as are there now up to `most`, at least one; *size 0: the end. Valid until the next call. */
int byte_input_block(struct byte_input *in, size_t most, const char **bytes, size_t *size);
/* The next line without its end; *line NULL: the end. A last line without one is a line. Valid until the next call. */
int byte_input_line(struct byte_input *in, const char **line, size_t *size);
/* True if the next line, or the end, is not there yet. */
bool byte_input_waits(const struct byte_input *in);

#endif
