/*
 * Files that take their place when they are whole, where no nameless file can be had: in a root without /proc one
 * could not be given a name later, so it has one from the start.
 */
#include "part_file.h"
#include "support.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DONE = 0, NO_ROOT = 2, WRONG = 3 };

/* In a child whose root is a new folder. Returns the folder, for a look at what is left. */
static char *in_a_root(int (*run)(void)) {
    char *folder = tn_test_folder();
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (chroot(folder) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(folder) != 0)) { _exit(NO_ROOT); }
        _exit(chdir("/") == 0 ? run() : WRONG);
    }
    cr_assert(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_ROOT) {
        tn_test_folder_remove(folder);
        cr_skip_test("no other root can be had here: %s", strerror(EPERM));
    }
    cr_assert(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL), "status %x",
              (unsigned)status);
    return folder;
}

static void expect_files(char *folder, const char *first, const char *second) {
    size_t count, wanted = (first != NULL) + (second != NULL);
    char **names = tn_test_names(folder, &count);
    cr_assert(eq(sz, count, wanted));
    if (first) { cr_expect(strncmp(names[0], first, strlen(first)) == 0, "%s", names[0]); }
    if (second) { cr_expect(strncmp(names[1], second, strlen(second)) == 0, "%s", names[1]); }
    tn_test_names_free(names, count);
    tn_test_folder_remove(folder);
}

static int finish(void) {
    tn_part *part;
    if (tn_part_create("/x", &part, NULL) != TN_OK || !part->name || access(part->name, F_OK) != 0) {
        return WRONG;
    }
    if (strncmp(part->name, "/x.part-", 8) != 0 || access("/x", F_OK) == 0) { return WRONG; }
    if (tn_part_write(part, "new", 3, NULL) != TN_OK || tn_part_finish(part, NULL) != TN_OK) { return WRONG; }
    return access("/x", F_OK) == 0 ? DONE : WRONG;
}

Test(quant_part, a_named_file_is_renamed) {
    expect_files(in_a_root(finish), "x", NULL);
}

static int abandon(void) {
    tn_part *part;
    if (tn_part_create("/x", &part, NULL) != TN_OK || !part->name) { return WRONG; }
    if (tn_part_unfinished(part) != part->name) { return WRONG; }
    tn_part_abandon(part);
    tn_part_abandon(NULL);
    return DONE;
}

Test(quant_part, an_abandoned_one_is_removed) {
    expect_files(in_a_root(abandon), NULL, NULL);
}

static int full_disk(void) {
    const struct rlimit limit = {2, 2};
    tn_part *part;
    tn_error err = TN_ERROR_INIT;
    signal(SIGXFSZ, SIG_IGN);
    if (tn_part_create("/x", &part, NULL) != TN_OK || setrlimit(RLIMIT_FSIZE, &limit) != 0) { return WRONG; }
    if (tn_part_write(part, "new", 3, NULL) != TN_OK || tn_part_seal(part, &err) != TN_E_IO) { return WRONG; }
    return tn_part_finish(part, &err) == TN_E_IO && strstr(err.text, strerror(EFBIG)) ? DONE : WRONG;
}

Test(quant_part, one_that_cannot_be_written_is_removed) {
    expect_files(in_a_root(full_disk), NULL, NULL);
}

static int killed(void) {
    tn_part *part;
    if (tn_part_create("/x", &part, NULL) != TN_OK) { return WRONG; }
    raise(SIGKILL);
    return WRONG;
}

Test(quant_part, one_whose_process_was_killed_is_not_the_target) {
    expect_files(in_a_root(killed), "x.part-", NULL);
}

/* With a nameless file: over an old one, in place of none, and where the target cannot be replaced. */
Test(quant_part, a_nameless_file_takes_its_place) {
    char *folder = tn_test_folder(), *path = tn_test_path(folder, "x");
    tn_error err = TN_ERROR_INIT;
    for (int old = 0; old < 2; old++) {
        tn_part *part;
        cr_assert(eq(i32, tn_part_create(path, &part, &err), TN_OK), "%s", err.text);
        if (part->name) {
            tn_part_abandon(part);
            cr_skip_test("the temporary folder's file system knows no nameless files");
        }
        cr_assert(eq(i32, tn_part_write(part, old ? "two" : "one", 3, &err), TN_OK));
        cr_assert(eq(i32, tn_part_seal(part, &err), TN_OK));
        cr_assert(eq(i32, tn_part_seal(part, &err), TN_OK));
        cr_assert(eq(i32, tn_part_finish(part, &err), TN_OK), "%s", err.text);
        char *text = (char *)tn_test_read(path, NULL);
        cr_expect(eq(str, text, old ? "two" : "one"));
        free(text);
    }
    free(path);
    expect_files(folder, "x", NULL);
}
