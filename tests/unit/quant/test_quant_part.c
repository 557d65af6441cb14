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

/* A file that was not there when the part began. */
static int put(const char *path) {
    FILE *file = fopen(path, "w");
    return file && fputs("other", file) >= 0 && fclose(file) == 0;
}

static int overtaken(void) {
    tn_part *part;
    tn_error err = TN_ERROR_INIT;
    char name[64] = "";
    if (tn_part_create("/x", &part, NULL) != TN_OK || tn_part_write(part, "new", 3, NULL) != TN_OK ||
        !put("/x")) {
        return WRONG;
    }
    snprintf(name, sizeof name, "%s", part->name);
    return tn_part_finish(part, &err) == TN_E_IO && strstr(err.text, name + 1) ? DONE : WRONG;
}

Test(quant_part, neither_of_two_files_is_lost) {
    expect_files(in_a_root(overtaken), "x", "x.part-");
    char *folder = tn_test_folder(), *path = tn_test_path(folder, "x");
    tn_error err = TN_ERROR_INIT;
    tn_part *part;
    cr_assert(eq(i32, tn_part_create(path, &part, &err), TN_OK), "%s", err.text);
    cr_assert(eq(i32, tn_part_write(part, "new", 3, &err), TN_OK));
    cr_assert(put(path));
    cr_assert(eq(i32, tn_part_finish(part, &err), TN_E_IO));
    const char *kept = strstr(err.text, "x.part-");
    cr_assert(kept != NULL, "%s", err.text);
    char *kept_path = tn_test_path(folder, kept);
    char *text = (char *)tn_test_read(path, NULL), *kept_text = (char *)tn_test_read(kept_path, NULL);
    cr_expect(eq(str, text, "other"));
    cr_expect(eq(str, kept_text, "new"));
    free(text);
    free(kept_text);
    free(kept_path);
    free(path);
    expect_files(folder, "x", "x.part-");
}

static void expect_no_place(const char *path, int32_t code, const char *words) {
    tn_error err = TN_ERROR_INIT;
    cr_expect(eq(i32, tn_part_check(path, &err), code), "%s", path);
    cr_expect(strstr(err.text, words) != NULL, "%s", err.text);
}

Test(quant_part, where_no_file_can_be_made) {
    char *folder = tn_test_folder(), *path = tn_test_path(folder, "x"), *link = tn_test_path(folder, "link");
    char *beyond = tn_test_path(folder, "none/x"), longest[300] = "";
    cr_expect(eq(i32, tn_part_check(path, NULL), TN_OK));
    cr_expect(access(path, F_OK) != 0);
    cr_assert(put(path));
    cr_expect(eq(i32, tn_part_check(path, NULL), TN_OK));
    expect_no_place(folder, TN_E_INPUT, "no regular file");
    expect_no_place("/dev/null", TN_E_INPUT, "no regular file");
    expect_no_place(beyond, TN_E_IO, strerror(ENOENT));
    cr_assert(symlink("nowhere", link) == 0);
    expect_no_place(link, TN_E_INPUT, "no regular file");
    memset(longest, 'a', sizeof longest - 1);
    expect_no_place(longest, TN_E_IO, strerror(ENAMETOOLONG));
    longest[244] = 0;
    expect_no_place(longest, TN_E_IO, "a name of 244 bytes, at most 243");
    longest[243] = 0;
    cr_expect(eq(i32, tn_part_check(longest, NULL), TN_OK));
    free(path);
    free(link);
    free(beyond);
    tn_test_folder_remove(folder);
}
