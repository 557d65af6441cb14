/*
 * A model of several files that is killed, or fails, while its files take their places: before each step that changes
 * a name in turn. No reader may find a model that is neither the whole old one nor the whole new one.
 *
 * The linker sends the calls that change names through the functions at the top.
 */
#include "quant_rig.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(quant_kill, .fini = rig_end, .timeout = 120);

/* ---- faults ------------------------------------------------------------------------------------------------ */

static int steps_left = -1, killing; /* -1: no fault */

static int fault(void) {
    if (steps_left < 0 || steps_left-- > 0) { return 0; }
    if (killing) { raise(SIGKILL); }
    errno = EIO;
    return 1;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
    return fault() ? -1 : __real_rename(from, to);
}

int __real_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);
int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);
int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    return fault() ? -1 : __real_renameat2(from_folder, from, to_folder, to, flags);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path) {
    return fault() ? -1 : __real_unlink(path);
}

int __real_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    return fault() ? -1 : __real_linkat(from_folder, from, to_folder, to, flags);
}

/* ---- what is written, and what is found ------------------------------------------------------------------------ */

enum { SHARDS = 3, NEW_TYPE = Q8_0, OLD_TYPE = F32 };
static const rig_tensor some[] = {{"blk.0.attn_q.weight", F32, 2, {64, 64}},
                                  {"blk.1.attn_q.weight", F32, 2, {64, 64}},
                                  {"blk.2.attn_q.weight", F32, 2, {64, 64}}};
static const rig_model model = {.tensors = some, .count = 3};

static int32_t write_shards(const char *from, const char *type, const char *to, tn_error *err) {
    const tn_quantize_options options = {.type = type, .pure = 1, .split_tensors = 1};
    tn_gguf *file = rig_open(from);
    tn_quantize_plan *plan = rig_plan(file, &options);
    int32_t code = tn_quantize_write(plan, to, 1, NULL, err);
    steps_left = -1;
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
    return code;
}

/* The type that all tensors have of the model that shard number `shard` belongs to, -1 if it is no model. */
static int64_t found_type(uint32_t shard) {
    char name[32];
    tn_error err = TN_ERROR_INIT;
    tn_gguf *file = NULL;
    int64_t type = -1;
    snprintf(name, sizeof name, "m-%05u-of-%05u.gguf", shard + 1, (unsigned)SHARDS);
    if (tn_gguf_open(rig_path(name), tn_engine_types(rig_engine(1)), &file, &err) == TN_OK) {
        type = tn_gguf_tensor_at(file, 0)->type;
        cr_expect(eq(u64, tn_gguf_tensor_count(file), SHARDS));
        for (uint64_t i = 1; i < tn_gguf_tensor_count(file); i++) {
            cr_expect(eq(i64, tn_gguf_tensor_at(file, i)->type, type), "shards of two models");
        }
    }
    tn_gguf_close(file);
    return type;
}

/* ---- the tests ------------------------------------------------------------------------------------------------- */

static void make_old(const char *from, int old) {
    char name[32];
    for (uint32_t i = 0; i < SHARDS; i++) {
        snprintf(name, sizeof name, "m-%05u-of-%05u.gguf", i + 1, (unsigned)SHARDS);
        unlink(rig_path(name));
    }
    if (old) { cr_assert(eq(i32, write_shards(from, "F32", rig_path("m.gguf"), NULL), TN_OK)); }
}

/* Writes with a fault before step number `step`; 0: that many steps there are not. */
static int write_with_fault(const char *from, int step, int kill) {
    tn_error err = TN_ERROR_INIT;
    int status;
    if (!kill) {
        steps_left = step;
        killing = 0;
        int32_t code = write_shards(from, "Q8_0", rig_path("m.gguf"), &err);
        cr_expect(code == TN_OK || (code == TN_E_IO && strstr(err.text, "m-0000")), "%s", err.text);
        return code != TN_OK;
    }
    pid_t child = fork();
    if (child == 0) {
        steps_left = step;
        killing = 1;
        _exit(write_shards(from, "Q8_0", rig_path("m.gguf"), NULL) == TN_OK ? 0 : 1);
    }
    cr_assert(waitpid(child, &status, 0) == child);
    cr_assert(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL), "status %x",
              (unsigned)status);
    return status != 0;
}

static void with_each_fault(int old, int kill) {
    char *from = strdup(rig_write("a.gguf", &model)); /* the rig forgets old paths */
    int step = 0, faulty = 1;
    rig_engine(1);
    for (; faulty; step++) {
        make_old(from, old);
        faulty = write_with_fault(from, step, kill);
        for (uint32_t shard = 0; shard < SHARDS; shard++) {
            int64_t type = found_type(shard);
            int sound = faulty ? type == -1 || type == NEW_TYPE || (old && step == 0 && type == OLD_TYPE)
                               : type == NEW_TYPE;
            cr_expect(sound, "step %d, shard %u: type %d", step, shard, (int)type);
            if (old && step == 0) { cr_expect(eq(i64, type, OLD_TYPE)); }
        }
    }
    free(from);
    cr_expect(step > SHARDS, "only %d steps: are they all seen?", step);
}

Test(quant_kill, no_half_set_is_a_model) {
    with_each_fault(0, 1);
}

Test(quant_kill, an_old_set_is_replaced_as_one) {
    with_each_fault(1, 1);
}

Test(quant_kill, a_step_that_fails_leaves_no_half_set_either) {
    with_each_fault(0, 0);
    with_each_fault(1, 0);
}
