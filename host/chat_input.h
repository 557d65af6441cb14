/*
 * chat_input.h - what a user types: lines with editing and recall on a terminal, plain lines from a pipe; several lines
 * as one message.
 */
#ifndef TENON_HOST_CHAT_INPUT_H
#define TENON_HOST_CHAT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct chat_input;

struct chat_input *chat_input_open(void); /* NULL: no memory */
void chat_input_close(struct chat_input *input);
bool chat_input_is_terminal(const struct chat_input *input);
/* The next message or command, without the newline at its end, NUL behind it; valid until the next call. NULL: the
 * input has ended (or a signal other than ^C came). A line that ends in a backslash goes on in the next one; one that
 * begins with """ goes on until one that ends so. ^C clears what is being typed. */
const char *chat_input_next(struct chat_input *input, size_t *size);
/* EXIT_FAILED if the input ended because it could not be read; the message is printed. */
int chat_input_status(const struct chat_input *input);

#endif
