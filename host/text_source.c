/* text_source.c - see text_source.h. */
#include "text_source.h"

#include <string.h>

int text_source_open(const struct options *options, struct text_source *out) {
    *out = (struct text_source){.options = options};
    if (options->argument_count && options->file) {
        return usage_error(options->command, "texts and -f exclude each other");
    }
    return options->argument_count ? EXIT_DONE : byte_input_open(options->file, &out->in);
}

void text_source_close(struct text_source *source) {
    byte_input_close(&source->in);
}

int text_source_next(struct text_source *source, const char **text, size_t *size) {
    const struct options *options = source->options;
    if (!options->argument_count) {
        int status = byte_input_line(&source->in, text, size);
        source->number += *text != NULL;
        return status;
    }
    bool left = source->number < (uint64_t)options->argument_count;
    *text = left ? options->arguments[source->number++] : NULL;
    *size = left ? strlen(*text) : 0;
    return EXIT_DONE;
}

bool text_source_waits(const struct text_source *source) {
    return !source->options->argument_count && byte_input_waits(&source->in);
}
