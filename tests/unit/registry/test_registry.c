/*
 * test_registry.c - instruction-set caps; where plugins are looked for and what is refused there; notes,
 * names and lookups over manifests that need no library that works.
 */
#include "engine_state.h"
#include "plain_test.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- instruction sets ------------------------------------------------------------------------------- */

static void test_caps(void) {
    const uint64_t vnni = TN_ISA_AVX2 | TN_ISA_AVX512 | TN_ISA_AVX512_VNNI,
                   all = vnni | TN_ISA_AMX_INT8 | TN_ISA_GFNI;
    static const struct {
        const char *cap;
        uint64_t expected;
    } good[] = {{"portable", 0},
                {"avx2", TN_ISA_AVX2},
                {"avx512vnni", TN_ISA_AVX2 | TN_ISA_AVX512 | TN_ISA_AVX512_VNNI | TN_ISA_GFNI}};
    tn_error err = TN_ERROR_INIT;
    uint64_t isa;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        expect(tn_isa_cap(all, good[i].cap, &isa, &err) == TN_OK && isa == good[i].expected, "%s: %llx",
               good[i].cap, (unsigned long long)isa);
    }
    expect(tn_isa_cap(all, NULL, &isa, &err) == TN_OK && isa == all, "no cap: %llx", (unsigned long long)isa);
    expect(tn_isa_cap(0, "portable", &isa, &err) == TN_OK && isa == 0, "portable is everywhere");
    expect_error("avx512", tn_isa_cap(TN_ISA_AVX2, "avx512vnni", &isa, &err), &err, TN_E_INPUT,
                 "TENON_ISA=avx512vnni: this machine has no avx512vnni (it has: avx2)");
    expect_error("avx2", tn_isa_cap(0, "avx2", &isa, &err), &err, TN_E_INPUT, "this machine has no avx2");
    static const char *const bad[] = {"", "AVX2", "avx", "avx512", "avx2 ", "sse"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_error(bad[i], tn_isa_cap(all, bad[i], &isa, &err), &err, TN_E_INPUT,
                     "not one of portable, avx2, avx512vnni");
    }
    char text[TN_ISA_TEXT_SIZE];
    tn_isa_text(UINT64_MAX, text);
    expect(strstr(text, "neon_i8mm") != NULL, "names of all bits: %s", text);
    tn_isa_text(0, text);
    expect(strcmp(text, "portable") == 0, "no bits: %s", text);
}

/* ---- folders made for the test ---------------------------------------------------------------------- */

static char *base;

static const char *in(const char *name) {
    static char paths[16][512];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", base, name);
    return path;
}

static void put(const char *name, const char *text) {
    tn_test_write(in(name), text, strlen(text));
}

static void begin(void) {
    base = tn_test_folder();
    umask(022);
    setenv("XDG_CONFIG_HOME", in("config"), 1);
    unsetenv("TENON_PLUGIN_PATH");
    unsetenv("TENON_ISA");
    mkdir(in("a"), 0755);
    mkdir(in("b"), 0755);
    mkdir(in("config"), 0755);
    mkdir(in("config/tenon"), 0755);
}

static void end(void) {
    tn_test_folder_remove(base);
}

/* A format's manifest and a library that is none. */
static void put_format(const char *folder, const char *id, const char *type, const char *hash_digit,
                       const char *more) {
    char text[1024], name[64], digits[65] = "";
    for (int i = 0; i < 64; i++) { digits[i] = *hash_digit; }
    snprintf(name, sizeof name, "%s/%s.so", folder, id);
    put(name, "no library");
    snprintf(
        text, sizeof text,
        "[plugin]\nmanifest = 1\nid = format.%s\nkind = format\nversion = 1.0.0\nlicense = MIT\nabi = 1.0\n"
        "interface = tenon.format/1\nlibrary = %s.so\nsha256 = %s\n%s[claims]\ntype = %s\nname = T%s\nblock = 4\n"
        "bytes = 2\n",
        id, id, digits, more, type, type);
    snprintf(name, sizeof name, "%s/%s.ini", folder, id);
    put(name, text);
}

static char said[4096];

static void hear(void *context, int32_t level, const char *text) {
    (void)context;
    if (level >= TN_LOG_WARN) { snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", text); }
}

static tn_engine *make(const char *folder, const char *pin) {
    tn_engine_options options = {.plugin_dirs = &folder,
                                 .plugin_dir_count = folder != NULL,
                                 .threads = 1,
                                 .pins = &pin,
                                 .pin_count = pin != NULL,
                                 .log = hear};
    tn_error err = TN_ERROR_INIT;
    tn_engine *engine;
    said[0] = 0;
    if (tn_engine_create(&options, &engine, &err) != TN_OK) {
        fprintf(stderr, "FAILED: tn_engine_create: %s\n", err.text);
        exit(1);
    }
    return engine;
}

/* The entry of an id, or of a path if the id could not be read. */
static const tn_plugin_info *find(const tn_engine *engine, const char *id) {
    static const tn_plugin_info none = {.id = "", .fault_text = "(not there)", .origin = "", .fault = -1};
    for (uint32_t i = 0; i < tn_engine_plugin_count(engine); i++) {
        const tn_plugin_info *info = tn_engine_plugin(engine, i);
        if (strcmp(info->id, id) == 0 || (*id == '/' && strcmp(info->manifest, id) == 0)) { return info; }
    }
    return &none;
}

static void expect_entry(const tn_engine *engine, const char *id, const char *origin, int32_t fault,
                         const char *words) {
    const tn_plugin_info *info = find(engine, id);
    expect(info->fault == fault && strcmp(info->origin, origin) == 0 && strstr(info->fault_text, words),
           "%s: from \"%s\", %s: %s; expected %s: %s", id, info->origin, tn_code_text(info->fault),
           info->fault_text, tn_code_text(fault), words);
}

/* ---- the search path -------------------------------------------------------------------------------- */

static void test_path(void) {
    char path[1200], config[600];
    begin();
    put_format("a", "one", "201", "1", "");
    put_format("b", "two", "202", "2", "");
    snprintf(path, sizeof path, "%s::relative/folder:%s:%s", in("b"), in("missing"), in("a"));
    setenv("TENON_PLUGIN_PATH", path, 1);
    tn_engine *engine = make(in("a"), NULL);
    expect_entry(engine, "format.one", "--plugin-dir", TN_OK, ""); /* named twice, there once */
    expect_entry(engine, "format.two", "TENON_PLUGIN_PATH", TN_OK, "");
    expect(strstr(said, "TENON_PLUGIN_PATH: relative/folder is no absolute path") != NULL, "warned of: %s",
           said);
    tn_engine_destroy(engine);
    unsetenv("TENON_PLUGIN_PATH");

    snprintf(config, sizeof config, "# mine\n[plugins]\npath = %s\npath = %s\npin = format.two\n", in("a"),
             in("b"));
    put("config/tenon/config.ini", config);
    engine = make(NULL, NULL);
    expect_entry(engine, "format.one", "config", TN_OK, "");
    expect(find(engine, "format.two")->pinned && !find(engine, "format.one")->pinned,
           "pins of the configuration");
    tn_engine_destroy(engine);
    end();
}

static void test_config(void) {
    static const struct {
        const char *text, *words;
    } bad[] = {{"[plugins]\npath = relative\n", "config.ini:2: path = relative: must be absolute"},
               {"[plugins]\npaths = /x\n", "config.ini:2: [plugins] paths: the only keys are path and pin"},
               {"[other]\npath = /x\n", "the only keys are path and pin in [plugins]"},
               {"path\n", "config.ini:1: neither [section]"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        begin();
        put("config/tenon/config.ini", bad[i].text);
        tn_engine *engine = make(NULL, NULL);
        expect_entry(engine, in("config/tenon"), "config", TN_E_PLUGIN_MANIFEST, bad[i].words);
        tn_engine_destroy(engine);
        end();
    }
    begin();
    put("config/tenon/config.ini", "[plugins]\n");
    chmod(in("config/tenon/config.ini"), 0666);
    tn_engine *engine = make(NULL, NULL);
    expect_entry(engine, in("config/tenon"), "config", TN_E_PLUGIN_UNTRUSTED,
                 "config.ini may be written by everybody");
    tn_engine_destroy(engine);
    end();
}

static void test_missing_folder(void) {
    tn_error err = TN_ERROR_INIT;
    tn_engine *engine;
    begin();
    const char *folders[] = {in("missing"), in("file")};
    put("file", "");
    for (int i = 0; i < 2; i++) {
        tn_engine_options options = {.plugin_dirs = &folders[i], .plugin_dir_count = 1, .threads = 1};
        int32_t code = tn_engine_create(&options, &engine, &err);
        expect_error(folders[i], code, &err, TN_E_NOT_FOUND, folders[i]);
        expect(!engine, "an engine without its --plugin-dir");
    }
    end();
}

static void test_environment(void) {
    tn_error err = TN_ERROR_INIT;
    tn_engine_options options = {.threads = 1};
    tn_engine *engine;
    begin();
    setenv("TENON_ISA", "mmx", 1);
    int32_t code = tn_engine_create(&options, &engine, &err);
    expect_error("TENON_ISA", code, &err, TN_E_INPUT, "TENON_ISA=mmx: not one of");
    setenv("TENON_ISA", "portable", 1);
    put_format("a", "one", "201", "1", "isa = avx2 gfni\n");
    engine = make(in("a"), NULL);
    expect(tn_engine_isa(engine) == 0 && strcmp(tn_engine_isa_text(engine), "portable") == 0, "capped to: %s",
           tn_engine_isa_text(engine));
    expect_entry(engine, "format.one", "--plugin-dir", TN_E_PLUGIN_ISA,
                 "needs avx2 gfni, this process may use: portable");
    expect(tn_engine_threads(engine) == 1, "%u threads", tn_engine_threads(engine));
    tn_engine_destroy(engine);
    end();
}

/* ---- manifests in folders --------------------------------------------------------------------------- */

static void replace_in(const char *name, const char *old, const char *new) {
    char text[1024];
    unsigned char *was = tn_test_read(in(name), NULL);
    char *at = strstr((char *)was, old);
    if (!at) { exit(99); }
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - (char *)was), (char *)was, new, at + strlen(old));
    free(was);
    put(name, text);
}

static void test_faults(void) {
    tn_entry *entry;
    tn_error err = TN_ERROR_INIT;
    begin();
    put_format("a", "one", "201", "1", "");
    put_format("a", "two", "202", "2", "");
    put_format("a", "three", "203", "3", "");
    put_format("a", "four", "204", "4", "");
    replace_in("a/one.ini", "abi = 1.0", "abi = 2.0");
    replace_in("a/two.ini", "abi = 1.0", "abi = 1.7");
    replace_in("a/three.ini", "kind", "kin");
    put("a/.hidden.ini", "nonsense");
    put("a/readme.txt", "nonsense");
    tn_engine *engine = make(in("a"), NULL);
    expect_entry(engine, "format.one", "--plugin-dir", TN_E_PLUGIN_ABI,
                 "made for abi 2.0, this host has 1.0");
    expect_entry(engine, "format.two", "--plugin-dir", TN_E_PLUGIN_ABI, "needs abi 1.7, this host has 1.0");
    expect_entry(engine, "format.three", "--plugin-dir", TN_E_PLUGIN_MANIFEST,
                 "three.ini:4: [plugin] has no key kin");
    expect_entry(engine, in("a/.hidden.ini"), "", -1, "not there");
    expect_error("a refused one", tn_registry_find(engine, "type", "201", &entry, &err), &err,
                 TN_E_PLUGIN_ABI, "one.ini");
    expect_error("nobody", tn_registry_find(engine, "type", "9999", &entry, &err), &err, TN_E_NOT_FOUND,
                 "no plugin claims type 9999");
    uint32_t block = 0, bytes = 0;
    const tn_gguf_types *types = tn_engine_types(engine);
    expect(types->find(types->context, 204, &block, &bytes) == 1 && block == 4 && bytes == 2,
           "type 204: %u, %u", block, bytes);
    expect(types->find(types->context, 201, &block, &bytes) == 0, "a refused plugin's type has a size");
    expect(strcmp(tn_engine_type_name(engine, 201), "T201") == 0, "a refused plugin's type has no name");
    tn_engine_destroy(engine);
    end();
}

static void test_shared_names(void) {
    begin();
    put_format("a", "one", "201", "1", "");
    put_format("a", "two", "202", "2", "");
    put_format("b", "three", "203", "3", "");
    replace_in("b/three.ini", "name = T203", "name = t201");
    setenv("TENON_PLUGIN_PATH", in("b"), 1);
    tn_engine *engine = make(in("a"), NULL);
    expect_entry(engine, "format.three", "TENON_PLUGIN_PATH", TN_E_PLUGIN_DUPLICATE,
                 "format t201 is type 203 here and type 201 in ");
    expect_entry(engine, "format.one", "--plugin-dir", TN_OK, "");
    expect(tn_engine_type_number(engine, "T201") == 201, "another type by that name");
    tn_engine_destroy(engine);
    end();
}

static void test_notes(void) {
    begin();
    put("a/n.ini", "[plugin]\nmanifest = 1\nid = notes.n\nkind = notes\nversion = 1.0.0\nlicense = MIT\n"
                   "[notes.architecture]\nold = too old: really\n[notes.type]\n231 = Q_OLD: gone\n");
    tn_engine *engine = make(in("a"), NULL);
    const char *note = tn_registry_note(engine, "architecture", "old");
    expect(note && strcmp(note, "too old: really") == 0, "note: %s", note ? note : "none");
    expect(!tn_registry_note(engine, "architecture", "new"), "a note about nothing");
    expect(!tn_registry_note(engine, "model", "old"), "a note under another key");
    expect(tn_engine_type_number(engine, "q_old") == 231, "number %lld",
           (long long)tn_engine_type_number(engine, "q_old"));
    expect(strcmp(tn_engine_type_name(engine, 231), "Q_OLD") == 0, "name %s",
           tn_engine_type_name(engine, 231));
    expect(tn_engine_type_number(engine, "q_new") == -1 && !tn_engine_type_name(engine, 232),
           "an unknown type");
    tn_engine_destroy(engine);
    end();
}

/* ---- lookups ---------------------------------------------------------------------------------------- */

static void collect(void *context, const char *value, tn_entry *entry) {
    char *list = context;
    snprintf(list + strlen(list), 4096 - strlen(list), "%s=%s ", value, tn_entry_info(entry)->id);
}

static void expect_each(tn_engine *engine, const char *key, const char *wanted) {
    char list[4096] = "";
    tn_registry_each(engine, key, collect, list);
    const char *at = strstr(list, wanted);
    expect(at != NULL, "each %s: \"%s\", expected \"%s\"", key, list, wanted);
}

static void test_each(void) {
    tn_entry *entry;
    tn_error err = TN_ERROR_INIT;
    begin();
    put_format("a", "xa", "201", "1", "");
    put_format("a", "xb", "201", "2", "");
    put_format("a", "xc", "202", "3", "");
    put_format("b", "xc", "202", "3", "");
    setenv("TENON_PLUGIN_PATH", in("b"), 1);
    tn_engine *engine = make(in("a"), NULL);
    expect_each(engine, "type", "202=format.xc ");
    expect(tn_registry_find(engine, "type", "202", &entry, &err) == TN_OK &&
               strstr(tn_entry_info(entry)->library, "/a/xc.so"),
           "the same hash twice: %s", err.text);
    expect_error("two", tn_registry_find(engine, "type", "201", &entry, &err), &err, TN_E_PLUGIN_DUPLICATE,
                 "two plugins claim type 201: format.xa (");
    expect_error("bad key", tn_registry_find(engine, "colour", "red", &entry, &err), &err, TN_E_BUG,
                 "colour");
    tn_engine_destroy(engine);
    engine = make(in("a"), "format.xb");
    expect_each(engine, "type", "201=format.xb 202=format.xc ");
    tn_engine_destroy(engine);
    end();
}

int main(void) {
    test_caps();
    test_path();
    test_config();
    test_missing_folder();
    test_environment();
    test_faults();
    test_shared_names();
    test_notes();
    test_each();
    return expect_none("registry");
}
