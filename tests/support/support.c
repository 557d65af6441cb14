/* See support.h. */
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void give_up(const char *what, const char *name) {
    fprintf(stderr, "test support: cannot %s %s: %s\n", what, name, strerror(errno));
    exit(99);
}

char *tn_test_path(const char *folder, const char *name) {
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0) { give_up("make a path of", name); }
    return path;
}

static char *below(const char *variable, const char *name) {
    const char *folder = getenv(variable);
    if (!folder) { give_up("find the variable", variable); }
    return tn_test_path(folder, name);
}

char *tn_test_data(const char *name) {
    return below("TENON_TEST_DATA", name);
}

char *tn_test_shared(const char *name) {
    return below("TENON_TEST_SHARED", name);
}

char *tn_test_build(const char *name) {
    return below("TENON_TEST_BUILD", name);
}

int tn_test_exists(const char *path) {
    return access(path, F_OK) == 0;
}

unsigned char *tn_test_read(const char *path, size_t *size) {
    struct stat st;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &st) != 0) { give_up("open", path); }
    unsigned char *data = malloc((size_t)st.st_size + 1);
    if (!data || fread(data, 1, (size_t)st.st_size, file) != (size_t)st.st_size) { give_up("read", path); }
    fclose(file);
    data[st.st_size] = 0;
    if (size) { *size = (size_t)st.st_size; }
    return data;
}

void tn_test_write(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) { give_up("write", path); }
}

char *tn_test_folder(void) {
    const char *parent = getenv("TMPDIR");
    char *path = tn_test_path(parent ? parent : P_tmpdir, "tenon-test-XXXXXX");
    if (!mkdtemp(path)) { give_up("make the folder", path); }
    return path;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

void tn_test_folder_remove(char *folder) {
    if (nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0) { give_up("remove", folder); }
    free(folder);
}

static int in_order(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **tn_test_names(const char *folder, size_t *count) {
    char **names = NULL;
    DIR *dir = opendir(folder);
    *count = 0;
    if (!dir) { give_up("list", folder); }
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.') { continue; }
        names = reallocarray(names, *count + 1, sizeof *names);
        if (!names || !(names[(*count)++] = strdup(e->d_name))) { give_up("list", folder); }
    }
    closedir(dir);
    if (*count) { qsort(names, *count, sizeof *names, in_order); }
    return names;
}

void tn_test_names_free(char **names, size_t count) {
    for (size_t i = 0; i < count; i++) { free(names[i]); }
    free(names);
}

double tn_test_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
