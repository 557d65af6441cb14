/*
 * text_source.h - texts for a command that takes many: its arguments, or the lines of -f FILE or of standard input.
 */
#ifndef TENON_HOST_TEXT_SOURCE_H
#define TENON_HOST_TEXT_SOURCE_H

#include "byte_input.h"
#include "options.h"

struct text_source {
    const struct options *options;
    struct byte_input in;
    uint64_t number; /* of the text that was handed out last, from 1: of a file its line */
};

/* EXIT_DONE or a status, message printed; to be closed in either case. */
int text_source_open(const struct options *options, struct text_source *out);
void text_source_close(struct text_source *source);
/* The next text; *text NULL: there is none left. Valid until the next call. */
int text_source_next(struct text_source *source, const char **text, size_t *size);
/* True if the next text has to be waited for: whoever sends it may want to see what came of those before. */
bool text_source_waits(const struct text_source *source);

#endif
