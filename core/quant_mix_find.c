/*
 * quant_mix_find.c - the mix files of all plugin folders: every NAME.mix that lies where a manifest might, under
 * the same rules of owners and modes (trust.h).
 */
#include "quant_mix.h"

#include "engine_state.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A folder with more is no plugin folder. */
enum { FILES_MOST = 256 };

static int32_t no_memory(tn_error *err) {
    return tn_fail(err, TN_E_MEMORY, "no memory for the mixes");
}

/* ---- names that are defined twice ---------------------------------------------------------------------- */

const tn_mix *tn_mixes_find(const tn_mixes *mixes, const char *name, uint32_t *file) {
    for (uint32_t m = 0; m < mixes->count; m++) {
        for (*file = 0; *file < mixes->at[m].file_count; ++*file) {
            if (tn_mix_is_called(&mixes->at[m], &mixes->at[m].files[*file], name)) { return &mixes->at[m]; }
        }
    }
    return NULL;
}

static int32_t check_new_name(const tn_mixes *mixes, const tn_mix *mix, const char *name, tn_error *err) {
    uint32_t file;
    const tn_mix *other = tn_mixes_find(mixes, name, &file);
    if (!other) { return TN_OK; }
    TN_FAIL(err, TN_E_PLUGIN_DUPLICATE, "two files define the file type %s: %s and %s; remove one", name,
            other->path, mix->path);
}

static int32_t check_new(const tn_mixes *mixes, const tn_mix *mix, tn_error *err) {
    for (uint32_t i = 0; i < mix->file_count; i++) {
        const tn_mix_file *file = &mix->files[i];
        TN_TRY(check_new_name(mixes, mix, file->name, err));
        for (uint32_t k = 0; k < file->others.count; k++) {
            TN_TRY(check_new_name(mixes, mix, mix->words[file->others.first + k], err));
        }
    }
    return TN_OK;
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* What was read so far, and the texts, so that the same file in two folders is one. */
typedef struct gathering {
    tn_mixes *mixes;
    struct {
        char *data;
        size_t size;
    } * texts;
    uint32_t text_count;
} gathering;

static int is_known(const gathering *all, const char *text, size_t size) {
    for (uint32_t i = 0; i < all->text_count; i++) {
        if (all->texts[i].size == size && memcmp(all->texts[i].data, text, size) == 0) { return 1; }
    }
    return 0;
}

static int32_t make_room(gathering *all, tn_error *err) {
    tn_mix *at = reallocarray(all->mixes->at, all->mixes->count + 1, sizeof *at);
    if (at) { all->mixes->at = at; }
    void *texts = reallocarray(all->texts, all->text_count + 1, sizeof *all->texts);
    if (texts) { all->texts = texts; }
    return at && texts ? TN_OK : no_memory(err);
}

/* Takes over the text if it adds something. */
static int32_t add_text(gathering *all, const char *path, char **text, size_t size, tn_error *err) {
    tn_mix mix;
    if (is_known(all, *text, size)) { return TN_OK; }
    TN_TRY(make_room(all, err));
    TN_TRY(tn_mix_read(path, *text, size, &mix, err));
    int32_t code = check_new(all->mixes, &mix, err);
    if (code != TN_OK) {
        tn_mix_free(&mix);
        return code;
    }
    all->mixes->at[all->mixes->count++] = mix;
    all->texts[all->text_count].data = *text;
    all->texts[all->text_count++].size = size;
    *text = NULL;
    return TN_OK;
}

static int32_t add_file(gathering *all, const tn_folder *folder, const char *name, tn_error *err) {
    char *text = NULL, *path = NULL;
    size_t size;
    int32_t code = tn_file_read(folder, name, TN_MIX_MOST, &text, &size, err);
    if (code == TN_OK && asprintf(&path, "%s/%s", folder->path, name) < 0) {
        path = NULL;
        code = no_memory(err);
    }
    if (code == TN_OK) { code = add_text(all, path, &text, size, err); }
    free(path);
    free(text);
    return code;
}

/* ---- folders ------------------------------------------------------------------------------------------- */

static int is_mix(const struct dirent *entry) {
    size_t size = strlen(entry->d_name);
    return entry->d_name[0] != '.' && size > 4 && strcmp(entry->d_name + size - 4, ".mix") == 0;
}

static int32_t add_folder(gathering *all, const tn_folder *folder, tn_error *err) {
    struct dirent **entries;
    int count = scandirat(folder->fd, ".", &entries, is_mix, alphasort);
    if (count < 0) { TN_FAIL(err, TN_E_IO, "%s: %s", folder->path, strerror(errno)); }
    int32_t code = count > FILES_MOST ? tn_fail(err, TN_E_PLUGIN_UNTRUSTED, "%s: more than %d mix files",
                                                folder->path, FILES_MOST)
                                      : TN_OK;
    for (int i = 0; i < count; i++) {
        if (code == TN_OK) { code = add_file(all, folder, entries[i]->d_name, err); }
        free(entries[i]);
    }
    free(entries);
    return code;
}

int32_t tn_mixes_read(const tn_engine *engine, tn_mixes *out, tn_error *err) {
    gathering all = {.mixes = out};
    int32_t code = TN_OK;
    *out = (tn_mixes){0};
    for (uint32_t i = 0; code == TN_OK && i < engine->place_count; i++) {
        const tn_folder *folder = &engine->places[i].folder;
        if (folder->fd >= 0) { code = add_folder(&all, folder, err); }
    }
    for (uint32_t i = 0; i < all.text_count; i++) { free(all.texts[i].data); }
    free(all.texts);
    if (code != TN_OK) { tn_mixes_free(out); }
    return code;
}

void tn_mixes_free(tn_mixes *mixes) {
    for (uint32_t i = 0; i < mixes->count; i++) { tn_mix_free(&mixes->at[i]); }
    free(mixes->at);
    *mixes = (tn_mixes){0};
}
