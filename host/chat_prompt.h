/*
 * chat_prompt.h - a conversation as a prompt: the file's chat template found and compiled, messages rendered by
 * it, the text encoded so that nothing which a message says becomes a control token.
 */
#ifndef TENON_HOST_CHAT_PROMPT_H
#define TENON_HOST_CHAT_PROMPT_H

#include "chat/jinja.h"
#include "commands.h"

/* A compiled template and what it is rendered with. */
struct chat_prompt {
    struct jinja_template *template; /* NULL: the file has none, and the options name none */
    char *source;                    /* the template's text */
    size_t source_size;
    const char *name; /* its file, or its name in the model: "default" */
    json_t *trusted;  /* bos_token and the like */
    json_t *given;    /* tools, documents, what --set says; messages are put in for each rendering */
    int64_t now;
    bool now_fixed; /* --now; else the clock's */
};

/* Finds and compiles the template that the options ask for, or the file's; `codec` may be NULL (then only the file's
 * keys say what its special tokens are). Takes over `tools`, those of the conversation or NULL; --tools comes before
 * them. EXIT_DONE, also where there is none; else the message is printed. */
int chat_prompt_open(const struct options *options, const tn_gguf *file, const tn_text_codec *codec,
                     json_t *tools, struct chat_prompt *out);
void chat_prompt_close(struct chat_prompt *prompt);
/* Goes over to the tools of another conversation, NULL: none, and to the template for them; takes over `tools`. With
 * --tools nothing changes. EXIT_DONE; else the message is printed and the prompt is as it was. */
int chat_prompt_tools(const struct options *options, const tn_gguf *file, json_t *tools,
                      struct chat_prompt *prompt);
/* Sets a variable of the template; takes over `value`. Texts of special tokens (bos_token and its like) count as the
 * template's own. False: the name is no UTF-8. */
bool chat_prompt_set(struct chat_prompt *prompt, const char *name, json_t *value);
/* The same from JSON, as a user gave it with `option` of `command`. EXIT_DONE, or EXIT_USAGE with the message printed. */
int chat_prompt_read(struct chat_prompt *prompt, const char *command, const char *option, const char *name,
                     const char *json);
/* Renders; a fault is in *fault. */
bool chat_prompt_try(struct chat_prompt *prompt, const json_t *messages, struct jinja_output *out,
                     struct jinja_fault *fault);
/* The same with the fault printed: EXIT_DONE, EXIT_FAILED or EXIT_INTERRUPTED, which prints nothing. */
int chat_prompt_render(struct chat_prompt *prompt, const json_t *messages, struct jinja_output *out);
/* Renders and encodes: ids to free(). BOS is put in front if the file asks for it and the template has not. Status as
 * of chat_prompt_render. */
int chat_prompt_encode(struct chat_prompt *prompt, const tn_text_codec *codec, const json_t *messages,
                       int32_t **ids, uint64_t *count);
/* The control token that the template puts behind what the assistant says: -1 if that cannot be told. */
int32_t chat_prompt_end(struct chat_prompt *prompt, const tn_text_codec *codec);

/* ---- chat_files.c: what is given on the command line ------------------------------------------------------ */

/* A file of messages: an array of objects with a role each, or an object with such an array as "messages" and perhaps
 * "tools" (*tools: a new reference, or NULL). EXIT_DONE or a status, message printed. */
int read_messages(const char *path, json_t **messages, json_t **tools);
/* A file with an array of tools. */
int read_tools(const char *path, json_t **tools);
/* 2026-01-15T09:30:00 as seconds of a clock without zone. */
int read_time(const char *command, const char *text, int64_t *seconds);
int64_t local_seconds(void);
/* The text of -p, of -f or, without both, of standard input; to be freed. */
int read_prompt(const struct options *options, char **text, size_t *size);
/* {"role": role, "content": text}; bytes that are no UTF-8 become U+FFFD. */
json_t *make_message(const char *role, const char *text, size_t size);

#endif
