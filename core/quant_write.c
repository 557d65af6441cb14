/*
 * quant_write.c - where the new files go: names of shards, what may be overwritten, and that all of them appear
 * together or none.
 */
#include "quant_plan.h"

#include "gguf_file.h"
#include "tenon/part.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- names --------------------------------------------------------------------------------------------- */

char *tn_quantize_path(const tn_quantize_plan *plan, const char *path, uint32_t shard) {
    static const char end[] = ".gguf";
    char *name;
    tn_split_name split;
    size_t size = strlen(path), cut = sizeof end - 1;
    if (plan->shard_count == 1 && !plan->as_shards) { return strdup(path); }
    tn_split_name_read(path, &split);
    if (split.prefix) {
        size = split.prefix;
    } else if (size > cut && strcmp(path + size - cut, end) == 0) {
        size -= cut;
    }
    int written = asprintf(&name, "%.*s-%05" PRIu32 "-of-%05" PRIu32 ".gguf", (int)size, path, shard + 1,
                           plan->shard_count);
    return written < 0 ? NULL : name;
}

/* A reader takes the name for what it says. */
static int32_t check_name(const tn_quantize_plan *plan, const char *path, tn_error *err) {
    tn_split_name split;
    const char *slash = strrchr(path, '/');
    if (slash && !slash[1]) {
        TN_FAIL(err, TN_E_INPUT, "%s is the name of a folder: a file's was expected", path);
    }
    tn_split_name_read(path, &split);
    if (split.prefix == 0 || split.count == plan->shard_count) { return TN_OK; }
    TN_FAIL(err, TN_E_INPUT, "%s: the name is that of one of %" PRIu32 " shards, the new model has %" PRIu32,
            tn_path_tail(path), split.count, plan->shard_count);
}

static int32_t no_memory(tn_error *err) {
    return tn_fail(err, TN_E_MEMORY, "no memory for the new files");
}

/* ---- what is there ------------------------------------------------------------------------------------- */

static int is_file(const char *path, const struct stat *there) {
    struct stat found;
    return stat(path, &found) == 0 && found.st_dev == there->st_dev && found.st_ino == there->st_ino;
}

static int32_t check_source(const tn_quantize_plan *plan, const char *path, const struct stat *there,
                            tn_error *err) {
    for (uint32_t i = 0; i < tn_gguf_file_count(plan->file); i++) {
        if (is_file(tn_gguf_path(plan->file, i), there)) {
            TN_FAIL(err, TN_E_INPUT, "%s is the file that is read: the new one needs another name",
                    tn_path_tail(path));
        }
    }
    if (plan->importance_path && is_file(plan->importance_path, there)) {
        TN_FAIL(err, TN_E_INPUT, "%s is the importance file: the new one needs another name",
                tn_path_tail(path));
    }
    return TN_OK;
}

static int32_t check_there(const tn_quantize_plan *plan, const char *path, uint32_t replace, tn_error *err) {
    struct stat there;
    TN_TRY(tn_part_check(path, err));
    if (stat(path, &there) != 0) { return TN_OK; }
    TN_TRY(check_source(plan, path, &there, err));
    if (!replace) {
        TN_FAIL(err, TN_E_INPUT, "%s is there already (--force replaces it)", tn_path_tail(path));
    }
    return TN_OK;
}

/* All shards are open until all are whole. */
static int32_t check_open_files(const tn_quantize_plan *plan, tn_error *err) {
    enum { OTHERS = 8 }; /* a folder that is synced, and what others open meanwhile */
    struct rlimit limit;
    uint64_t wanted = (uint64_t)plan->shard_count + OTHERS, unused = 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) { return TN_OK; }
    for (int fd = 0; unused < wanted && (rlim_t)fd < limit.rlim_cur; fd++) {
        unused += fcntl(fd, F_GETFD) == -1;
    }
    if (unused == wanted) { return TN_OK; }
    TN_FAIL(err, TN_E_INPUT,
            "there would be %" PRIu32 " shards, all open at once, and only %" PRIu64
            " files may be open beside those that are (ulimit -n: %" PRIu64 "): larger shards are fewer",
            plan->shard_count, unused > OTHERS ? unused - OTHERS : 0, (uint64_t)limit.rlim_cur);
}

int32_t tn_quantize_check(const tn_quantize_plan *plan, const char *path, uint32_t replace, tn_error *err) {
    TN_TRY(check_name(plan, path, err));
    TN_TRY(check_open_files(plan, err));
    int32_t code = TN_OK;
    for (uint32_t i = 0; code == TN_OK && i < plan->shard_count; i++) {
        char *name = tn_quantize_path(plan, path, i);
        code = name ? check_there(plan, name, replace, err) : no_memory(err);
        free(name);
    }
    return code;
}

/* ---- writers ------------------------------------------------------------------------------------------- */

static int32_t create_writer(const tn_quantize_plan *plan, const char *path, uint32_t shard,
                             tn_gguf_writer **out, tn_error *err) {
    char *name = tn_quantize_path(plan, path, shard);
    if (!name) { return no_memory(err); }
    int32_t code = tn_gguf_writer_create(name, out, err);
    free(name);
    return code == TN_OK ? tn_plan_describe(plan, shard, *out, err) : code;
}

static int32_t finish(tn_gguf_writer **writer, tn_error *err) {
    tn_gguf_writer *whole = *writer;
    *writer = NULL;
    return tn_gguf_writer_finish(whole, err);
}

/* What has appeared at the place of one shard stays, and so does what is there of an old set. */
static int32_t keep_all(tn_gguf_writer **writers, uint32_t count, uint32_t blocked, tn_error *err) {
    const char *name = "";
    for (uint32_t i = count; i-- > 0;) { TN_TRY(tn_gguf_writer_keep(writers[i], &name, err)); }
    TN_FAIL(err, TN_E_IO,
            "something has appeared in the place of shard %" PRIu32
            ": no shard was put in its place, all are kept under "
            "names such as %s",
            blocked + 1, tn_path_tail(name));
}

/*
 * The first shard comes last, and an old one goes away before any other shard is replaced: whatever ends the process
 * in between, a set without its first shard is left, which no reader takes for a model, and never shards of both.
 */
static int32_t finish_all(tn_gguf_writer **writers, uint32_t count, tn_error *err) {
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        if (tn_gguf_writer_blocked(writers[i])) { return keep_all(writers, count, i, err); }
    }
    if (count > 1) { TN_TRY(tn_gguf_writer_make_way(writers[0], err)); }
    for (uint32_t i = 1; i < count; i++) { TN_TRY(finish(&writers[i], err)); }
    return finish(&writers[0], err);
}

static int32_t write_all(const tn_quantize_plan *plan, tn_gguf_writer **writers,
                         const tn_quantize_progress *progress, tn_error *err) {
    TN_TRY(tn_plan_run(plan, writers, progress, err));
    for (uint32_t i = 0; i < plan->shard_count; i++) { TN_TRY(tn_gguf_writer_seal(writers[i], err)); }
    return finish_all(writers, plan->shard_count, err);
}

int32_t tn_quantize_write(const tn_quantize_plan *plan, const char *path, uint32_t replace,
                          const tn_quantize_progress *progress, tn_error *err) {
    TN_TRY(tn_quantize_check(plan, path, replace, err));
    tn_gguf_writer **writers = calloc(plan->shard_count, sizeof *writers);
    if (!writers) { return no_memory(err); }
    int32_t code = TN_OK;
    for (uint32_t i = 0; code == TN_OK && i < plan->shard_count; i++) {
        code = create_writer(plan, path, i, &writers[i], err);
    }
    if (code == TN_OK) { code = write_all(plan, writers, progress, err); }
    for (uint32_t i = 0; i < plan->shard_count; i++) { tn_gguf_writer_abandon(writers[i]); }
    free(writers);
    return code;
}
