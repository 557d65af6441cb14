/*
 * cmd_chat.h - a conversation on the terminal: what cmd_chat.c (the turns) and chat_commands.c (/help and its like) share.
 */
#ifndef TENON_HOST_CMD_CHAT_H
#define TENON_HOST_CMD_CHAT_H

#include "chat_input.h"
#include "chat_prompt.h"
#include "generation.h"

struct chat {
    struct options *options;
    struct generation g;
    struct chat_prompt prompt;
    struct chat_input *input;
    json_t *messages;
    json_t *files; /* the paths that this conversation was read from or written to */
    json_t *texts; /* what /set gave: the options point to it */
    char *answer;  /* what the model has said of the present turn */
    size_t answer_size, answer_room;
    bool done;
};

/* Has the model answer the conversation, which ends with a message to it, and adds the answer. */
int chat_answer(struct chat *chat);
/* Remembers a file as one that the conversation may be written over. */
void chat_own_file(struct chat *chat, const char *path);
/* Carries out "/NAME ARGUMENT". EXIT_DONE, or a status, message printed: the conversation is as it was. */
int chat_command(struct chat *chat, const char *line);
/* Takes the last message of the user and all behind it away; false if there is none. */
bool chat_undo(struct chat *chat);
/* The number of the last message with that role, -1 if there is none. */
int64_t chat_last(const struct chat *chat, const char *role);
/* Keeps the first `count` messages. */
void chat_cut(struct chat *chat, size_t count);
/* The system message, NULL if there is none; and sets its text, NULL or "": none. */
json_t *chat_system(const struct chat *chat);
void chat_set_system(struct chat *chat, const char *text);

#endif
