/*
 * broken_files_test.c - sound plugins in files and folders that are not: modes, owners, links, kinds, hashes,
 * cut and foreign ELF files, duplicates; and what the trial remembers.
 */
#include "broken_rig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A byte of the ELF header that no loader reads: the number of the section with section names. */
enum { UNREAD = 62 };

/* ---- modes and owners ------------------------------------------------------------------------------- */

static void test_mode(const char *name, mode_t mode, const char *words) {
    rig_begin();
    rig_copy("good");
    chmod(rig_path(name), mode);
    rig_refused(name, TN_E_PLUGIN_UNTRUSTED, words);
    rig_end();
}

/* A folder's fault stands in the list as an entry without id; its plugins are not there. */
static void test_folder_mode(mode_t mode, const char *words) {
    tn_entry *entry;
    rig_begin();
    rig_copy("good");
    chmod(rig_folder(), mode);
    tn_engine *engine = rig_engine(NULL, NULL);
    const tn_plugin_info *info = tn_engine_plugin(engine, 0);
    rig_expect(tn_engine_plugin_count(engine) > 0 && info->fault == TN_E_PLUGIN_UNTRUSTED && !*info->id &&
                   strstr(info->fault_text, words) && strcmp(info->origin, "--plugin-dir") == 0,
               "folder of mode %o: \"%s\", expected \"%s\"", (unsigned)mode, info->fault_text, words);
    rig_expect(tn_registry_find(engine, "type", "250", &entry, NULL) == TN_E_NOT_FOUND,
               "a plugin in a folder of mode %o is found", (unsigned)mode);
    tn_engine_destroy(engine);
    rig_end();
}

/* The folder above: safe with the sticky bit, for what lies in it is ours. */
static void test_parent_mode(mode_t mode, int trusted) {
    tn_error err;
    rig_begin();
    rig_copy("good");
    char *parent = strdup(rig_folder());
    *strrchr(parent, '/') = 0;
    chmod(parent, mode);
    setenv("XDG_CACHE_HOME", rig_path("cache"), 1);
    tn_engine *engine = rig_engine(NULL, NULL);
    int32_t code = rig_open(engine, &err);
    rig_expect(code == (trusted ? TN_OK : TN_E_NOT_FOUND), "below a folder of mode %o: %s", (unsigned)mode,
               err.text);
    tn_engine_destroy(engine);
    chmod(parent, 0700);
    free(parent);
    rig_end();
}

static void test_owner(const char *name) {
    rig_begin();
    rig_copy("good");
    if (chown(rig_path(name), 12345, 12345) != 0) {
        printf("skipped: owner of %s (only root can give files away)\n", name);
    } else {
        rig_refused(name, TN_E_PLUGIN_UNTRUSTED, "belongs to user 12345, neither to root nor to user 0");
    }
    rig_end();
}

/* ---- kinds of files --------------------------------------------------------------------------------- */

enum { LINK_OUT, LINK_IN, PIPE, SOCKET, FOLDER, NOTHING };

static void put_instead(const char *path, int what) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int failed = 0, fd = -1;
    switch (what) {
    case LINK_OUT:
    case LINK_IN: failed = symlink(what == LINK_OUT ? "../elsewhere" : "inside", path); break;
    case PIPE: failed = mkfifo(path, 0644); break;
    case SOCKET:
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
        failed = fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0;
        break;
    case FOLDER: failed = mkdir(path, 0755); break;
    default: break;
    }
    if (fd >= 0) { close(fd); }
    rig_expect(!failed, "%s cannot be made", path);
}

static void test_kind(int what, int32_t code, const char *words) {
    rig_begin();
    rig_copy("good");
    if (rename(rig_path("good.so"), rig_path(what == LINK_IN ? "inside" : "../elsewhere")) != 0) { exit(99); }
    put_instead(rig_path("good.so"), what);
    rig_refused(words, code, words);
    rig_end();
}

static void test_manifest_kind(int what, const char *words) {
    rig_begin();
    rig_copy("good");
    unlink(rig_path("good.ini"));
    put_instead(rig_path("good.ini"), what);
    tn_engine *engine = rig_engine(NULL, NULL); /* does not block at a pipe */
    const tn_plugin_info *info = tn_engine_plugin(engine, 0);
    rig_expect(info->fault == TN_E_PLUGIN_UNTRUSTED && strstr(info->fault_text, words),
               "manifest: \"%s\", not \"%s\"", info->fault_text, words);
    tn_engine_destroy(engine);
    rig_end();
}

/* A link to a folder may be named by the user: what counts is the folder. */
static void test_folder_link(void) {
    tn_error err;
    rig_begin();
    rig_copy("good");
    const char *link = rig_path("../link"), *folders[] = {link};
    if (symlink("plugins", link) != 0) { exit(99); }
    tn_engine_options options = {.plugin_dirs = folders, .plugin_dir_count = 1, .threads = 1};
    tn_engine *engine;
    if (tn_engine_create(&options, &engine, &err) != TN_OK) { exit(99); }
    int32_t code = rig_open(engine, &err);
    rig_expect(code == TN_OK, "through a link to its folder: %s", err.text);
    tn_engine_destroy(engine);
    rig_end();
}

/* ---- bytes ------------------------------------------------------------------------------------------ */

static void test_hash(void) {
    rig_begin();
    rig_copy("good");
    FILE *file = fopen(rig_path("good.so"), "ab");
    fputc(0, file);
    fclose(file);
    rig_refused("hash", TN_E_PLUGIN_HASH, "good.so: its sha256 is ");
    rig_refused("hash", TN_E_PLUGIN_HASH, ", its manifest says ");
    rig_end();
}

static void test_bytes(const char *what, size_t at, const void *bytes, size_t count, size_t size,
                       const char *words) {
    rig_begin();
    rig_change("good", at, bytes, count, size);
    rig_refused(what, TN_E_PLUGIN_BROKEN, words);
    rig_end();
}

static void test_cut(void) {
    size_t whole;
    char *path = tn_test_build("tests/broken/good.so");
    free(tn_test_read(path, &whole));
    free(path);
    const size_t sizes[] = {0,  1,   3,         15,        16,        17,           63,         64,
                            65, 200, whole / 8, whole / 4, whole / 2, whole - 4096, whole - 64, whole - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        test_bytes("cut", 0, NULL, 0, sizes[i], sizes[i] < 16 ? "is no ELF file" : "is cut short");
    }
}

static void test_elf(void) {
    test_bytes("no ELF", 0, "#!/bin/sh\n", 10, SIZE_MAX, "good.so is no ELF file");
    test_bytes("32 bits", 4, "\1", 1, SIZE_MAX, "is not a 64-bit little-endian ELF file");
    test_bytes("big-endian", 5, "\2", 1, SIZE_MAX, "is not a 64-bit little-endian ELF file");
    test_bytes("machine", 18, "\xf3\0", 2, SIZE_MAX, "is for machine 243 (riscv), this is ");
    test_bytes("program", 16, "\2\0", 2, SIZE_MAX, "is of ELF type 2, a shared library is of type 3");
    test_bytes("no headers", 56, "\0\0", 2, SIZE_MAX, "has 0 program headers of 56 bytes");
    test_bytes("far headers", 39, "\x7f", 1, SIZE_MAX, "its program headers do not lie in its");
}

/* ---- several ---------------------------------------------------------------------------------------- */

static void test_duplicates(void) {
    tn_error err;
    rig_begin();
    rig_copy("good");
    rig_copy("other_good");
    tn_engine *engine = rig_engine(NULL, NULL);
    int32_t code = rig_open(engine, &err);
    rig_expect(
        code == TN_E_PLUGIN_DUPLICATE && strstr(err.text, "two plugins claim type 250: format.broken (") &&
            strstr(err.text, "/good.so) and format.other (") && strstr(err.text, "/other_good.so); pin one"),
        "two claimants: %s: %s", tn_code_text(code), err.text);
    tn_engine_destroy(engine);
    static const char *const pins[] = {"format.broken", "format.other"};
    for (size_t i = 0; i < 2; i++) {
        tn_entry *entry;
        engine = rig_engine(NULL, pins[i]);
        code = tn_registry_find(engine, "type", "250", &entry, &err);
        rig_expect(code == TN_OK && strcmp(tn_entry_info(entry)->id, pins[i]) == 0 &&
                       tn_entry_info(entry)->pinned,
                   "pinned to %s: %s", pins[i], err.text);
        rig_expect(rig_open(engine, &err) == TN_OK, "pinned to %s: %s", pins[i], err.text);
        tn_engine_destroy(engine);
    }
    rig_end();
}

/* The same bytes in two folders are one plugin; other bytes under the same id are not. */
static void test_twice(int changed) {
    tn_error err;
    tn_entry *entry;
    rig_begin();
    rig_copy("good");
    const char *second = rig_path("../second");
    mkdir(second, 0755);
    if (rename(rig_path("good.so"), rig_path("../second/good.so")) != 0 ||
        rename(rig_path("good.ini"), rig_path("../second/good.ini")) != 0) {
        exit(99);
    }
    if (changed) {
        rig_change("good", UNREAD, "\1", 1, SIZE_MAX);
    } else {
        rig_copy("good");
    }
    tn_engine *engine = rig_engine(second, NULL);
    int32_t code = tn_registry_find(engine, "type", "250", &entry, &err);
    if (changed) {
        rig_expect(code == TN_E_PLUGIN_DUPLICATE && strstr(err.text, "remove one"), "one id, other bytes: %s",
                   err.text);
    } else {
        rig_expect(code == TN_OK && strstr(tn_entry_info(entry)->library, "/plugins/"), "the same bytes: %s",
                   err.text);
    }
    tn_engine_destroy(engine);
    rig_end();
}

/* A list of plugins opens no library. */
static void test_garbage_is_listed(void) {
    rig_begin();
    rig_copy("good");
    tn_test_write(rig_path("good.so"), "garbage", 7);
    chmod(rig_path("good.so"), 0);
    tn_engine *engine = rig_engine(NULL, NULL);
    const tn_plugin_info *info = NULL;
    for (uint32_t i = 0; i < tn_engine_plugin_count(engine); i++) {
        if (strcmp(tn_engine_plugin(engine, i)->id, "format.broken") == 0) {
            info = tn_engine_plugin(engine, i);
        }
    }
    rig_expect(info && info->fault == TN_OK && info->claim_count == 4,
               "a plugin of garbage is not listed as usable: %s",
               info ? info->fault_text : "it is not there");
    rig_expect(tn_engine_type_number(engine, "broken") == 250 &&
                   strcmp(tn_engine_type_name(engine, 250), "BROKEN") == 0,
               "its type is not known by name");
    tn_engine_destroy(engine);
    rig_end();
}

static void test_no_manifest(void) {
    tn_error err;
    rig_begin();
    rig_copy("good");
    unlink(rig_path("good.ini"));
    tn_engine *engine = rig_engine(NULL, NULL);
    rig_expect(rig_open(engine, &err) == TN_E_NOT_FOUND, "a library without a manifest is found: %s",
               err.text);
    tn_engine_destroy(engine);
    rig_end();
}

/* ---- two engines, changed files --------------------------------------------------------------------- */

static void test_two_engines(void) {
    tn_error err;
    rig_begin();
    rig_copy("good");
    tn_engine *first = rig_engine(NULL, NULL), *second = rig_engine(NULL, NULL);
    rig_expect(rig_open(first, &err) == TN_OK, "first engine: %s", err.text);
    rig_expect(rig_open(second, &err) == TN_OK, "second engine: %s", err.text);
    tn_engine_destroy(first);
    rig_expect(rig_open(second, &err) == TN_OK, "second engine after the first is gone: %s", err.text);
    tn_engine_destroy(second);

    /* The same file with other bytes: glibc would hand out the old library. */
    rig_poke("good", UNREAD, 1);
    rig_refused("changed in place", TN_E_PLUGIN_HASH, "good.so has changed since this process loaded it");
    /* A new file under the same name is another library. */
    rig_change("good", UNREAD, "\2", 1, SIZE_MAX);
    tn_engine *third = rig_engine(NULL, NULL);
    rig_expect(rig_open(third, &err) == TN_OK, "a new file of the same name: %s", err.text);
    tn_engine_destroy(third);
    rig_end();
}

/* Without /proc the library is loaded by its path and the inodes are compared. */
static void test_no_proc(void) {
    tn_error err = TN_ERROR_INIT;
    tn_folder folder;
    tn_library library;
    const tn_plugin *plugin = NULL;
    struct stat st;
    int fd;
    rig_begin();
    rig_copy("other_good");
    int32_t code = tn_folder_open(rig_folder(), &folder, &err);
    if (code == TN_OK) { code = tn_file_open(&folder, "other_good.so", &fd, &st, &err); }
    if (code == TN_OK) { code = tn_library_read(rig_path("other_good.so"), fd, &library, &err); }
    if (code == TN_OK) { code = tn_library_load(&library, rig_path("no-proc"), &plugin, &err); }
    rig_expect(code == TN_OK && strcmp(plugin->id, "format.other") == 0, "without /proc: %s", err.text);
    tn_folder_close(&folder);
    rig_end();
}

/* ---- what the trial remembers ----------------------------------------------------------------------- */

/* Whether it opens in an engine that cannot make a trial. */
static int opens_untried(void) {
    tn_error err;
    tn_engine *engine = rig_engine(NULL, NULL);
    free(engine->probe_program);
    engine->probe_program = strdup(rig_path("no-such-program"));
    int32_t code = rig_open(engine, &err);
    if (code != TN_OK) {
        rig_expect(code == TN_E_FAILED && strstr(err.text, "is new here and cannot be tried"),
                   "no trial program: %s", err.text);
    }
    tn_engine_destroy(engine);
    return code == TN_OK;
}

static void test_memory(void) {
    tn_error err;
    rig_begin();
    rig_copy("good");
    rig_expect(!opens_untried(), "an unknown plugin opens without a trial");
    tn_engine *engine = rig_engine(NULL, NULL);
    rig_expect(rig_open(engine, &err) == TN_OK, "trial: %s", err.text);
    tn_engine_destroy(engine);
    rig_expect(opens_untried(), "a plugin that has passed is tried again");
    chmod(rig_path("../cache/tenon/probed"), 0666);
    rig_expect(!opens_untried(), "a cache that all may write is believed");
    chmod(rig_path("../cache/tenon/probed"), 0600);
    rig_change("good", UNREAD, "\1", 1, SIZE_MAX);
    rig_expect(!opens_untried(), "other bytes are believed");
    /* A list beside a plugin that is not the install's own says nothing. */
    char line[256];
    size_t size;
    unsigned char *library = tn_test_read(rig_path("good.so"), &size);
    char sha256[TN_SHA256_TEXT];
    tn_sha256(library, size, sha256);
    free(library);
    int length = snprintf(line, sizeof line, "%s  good.so\n", sha256);
    tn_test_write(rig_path("known.sha256"), line, (size_t)length);
    rig_expect(!opens_untried(), "known.sha256 is believed outside of the install's own folder");
    rig_end();
}

/* No cache can be written: the trial is made each time, and the plugin serves all the same. */
static void test_no_cache(void) {
    tn_error err;
    rig_begin();
    rig_copy("good");
    tn_test_write(rig_path("../cache"), "", 0);
    for (int i = 0; i < 2; i++) {
        tn_engine *engine = rig_engine(NULL, NULL);
        rig_expect(rig_open(engine, &err) == TN_OK, "without a cache: %s", err.text);
        tn_engine_destroy(engine);
    }
    rig_end();
}

int main(void) {
    test_mode("good.so", 0666, "good.so may be written by everybody (mode 0666)");
    test_mode("good.so", 0664, "good.so may be written by its group (mode 0664)");
    test_folder_mode(0777, "plugins may be written by everybody (mode 0777)");
    test_folder_mode(01777, "plugins may be written by everybody (mode 1777)");
    test_folder_mode(0775, "plugins may be written by its group (mode 0775)");
    test_parent_mode(0777, 0);
    test_parent_mode(01777, 1);
    test_parent_mode(0755, 1);
    test_owner("good.so");
    test_kind(LINK_OUT, TN_E_PLUGIN_UNTRUSTED, "good.so is a symbolic link, not a regular file");
    test_kind(LINK_IN, TN_E_PLUGIN_UNTRUSTED, "good.so is a symbolic link, not a regular file");
    test_kind(PIPE, TN_E_PLUGIN_UNTRUSTED, "good.so is a pipe, not a regular file");
    test_kind(SOCKET, TN_E_PLUGIN_UNTRUSTED, "good.so is a socket, not a regular file");
    test_kind(FOLDER, TN_E_PLUGIN_UNTRUSTED, "good.so is a folder, not a regular file");
    test_kind(NOTHING, TN_E_PLUGIN_MISSING, "good.ini: its library good.so is not there");
    test_manifest_kind(PIPE, "good.ini is a pipe, not a regular file");
    test_manifest_kind(LINK_OUT, "good.ini is a symbolic link, not a regular file");
    test_folder_link();
    test_hash();
    test_cut();
    test_elf();
    test_duplicates();
    test_twice(0);
    test_twice(1);
    test_garbage_is_listed();
    test_no_manifest();
    test_two_engines();
    test_no_proc();
    test_memory();
    test_no_cache();
    printf("%d faults\n", rig_faults);
    return rig_faults != 0;
}
