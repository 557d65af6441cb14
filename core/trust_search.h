/*
 * trust_search.h - where plugins are looked for, and what the user has pinned.
 */
#ifndef TENON_TRUST_SEARCH_H
#define TENON_TRUST_SEARCH_H

#include "tenon/engine.h"

/** A folder to look in, or a setting that is refused. */
typedef struct tn_search_path {
    char *path;
    const char *origin; /**< "--plugin-dir", "TENON_PLUGIN_PATH", "config", "install" */
    int must;           /**< 1: an error if it is not there */
    int32_t fault;      /**< TN_OK, or why this is not looked at: */
    char *fault_text;
} tn_search_path;

typedef struct tn_search {
    tn_search_path *paths;
    uint32_t path_count;
    char **pins;
    uint32_t pin_count;
    char *own; /**< the install's own plugin folder, also the last of `paths`; NULL: there is none */
} tn_search;

/**
 * In this order: the options' folders; TENON_PLUGIN_PATH, absolute folders separated by colons; `path`
 * entries in [plugins] of tenon/config.ini in the user's configuration folder; the install's own folder,
 * which is found from the file that this code was loaded from. Pins come from the options and from `pin`
 * entries. A set-user-id program sees no environment, so neither the second nor the third.
 */
int32_t tn_search_find(const tn_engine_options *options, tn_search *out, tn_error *err);
void tn_search_free(tn_search *search);

/** $`variable` if it is absolute, else $HOME/`fallback`, then "/tenon"; to be freed. NULL: neither is known.
 */
char *tn_user_folder(const char *variable, const char *fallback);

#endif
