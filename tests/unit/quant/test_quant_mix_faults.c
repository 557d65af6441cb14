/* Mix files: what is wrong is refused with file and line, and two files must not define one name. */
#include "quant_choose.h"
#include "quant_rig.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(quant_mix_faults, .fini = rig_end, .timeout = 120);

static tn_error error = TN_ERROR_INIT;

#define BEGIN "tenon-mix 1\nclass v counted *v.weight\nfile 2 A Q1 B\nset all A\n"

static void refused(const char *text, unsigned line, const char *words) {
    tn_mix mix;
    char place[32];
    int32_t code = tn_mix_read("x.mix", text, strlen(text), &mix, &error);
    snprintf(place, sizeof place, "x.mix:%u: ", line);
    cr_expect(eq(i32, code, TN_E_PLUGIN_MANIFEST), "%s", text);
    cr_expect(strncmp(error.text, place, strlen(place)) == 0 && strstr(error.text, words) != NULL,
              "\"%s%s\" was expected: %s", place, words, error.text);
}

Test(quant_mix_faults, every_fault_has_its_line) {
    static const struct {
        const char *text, *words;
    } faults[] = {
        {"rulez A v Q2", "\"rulez\" is no statement"},
        {"rule A v", "rule: at least 3 words"},
        {"convert", "convert: at least 1 words"},
        {"set x A B", "set: only 2 words"},
        {"needs A Q1 Q2", "needs: only 2 words"},
        {"rule C v Q2", "C is neither a file type nor a set"},
        {"rule A,C v Q2", "C is neither"},
        {"rule B v Q2", "B is neither"}, /* another name is for people */
        {"rule A w Q2", "w is no class"},
        {"rule A v Q2 more", "nothing, or if and conditions"},
        {"rule A v Q2 if", "nothing, or if and conditions"},
        {"rule A v Q!", "\"Q!\" is no name"},
        {"rule A v Q2 if lots", "\"lots\" is no condition"},
        {"rule A v Q2 if more=1", "nothing was expected behind the name"},
        {"rule A v Q2 if i", "a comparison was expected"},
        {"rule A v Q2 if i<=2", "a whole number"},
        {"rule A v Q2 if i>2", "<, >= or = was expected"},
        {"rule A v Q2 if i<", "a whole number"},
        {"rule A v Q2 if i<-1", "a whole number"},
        {"rule A v Q2 if i<1x", "a whole number"},
        {"rule A v Q2 if i<n*2", "a part of n"},
        {"rule A v Q2 if i<n/0", "divides by 0"},
        {"rule A v Q2 if i<n/", "a whole number"},
        {"rule A v Q2 if i<99999999999999999999n", "a whole number"},
        {"rule A v Q2 if arch<x", "= and a list"},
        {"rule A v Q2 if arch=", "is no name"},
        {"rule A v Q2 if chosen=Q1,,Q2", "is no name"},
        {"class w some *", "some: output, embedding, counted or layered"},
        {"class v counted *", "v is a class already"},
        {"class w counted", "class: at least 3 words"},
        {"file 1 a Q1", "a is a file type already"},
        {"file 1 b Q1", "b is a file type already"},
        {"file 1 all Q1", "all is a set already"},
        {"file 1 C Q1 A", "A is a file type already"},
        {"file 1 Copy Q1", "the name Copy is taken"},
        {"file x C Q1", "\"x\": a whole number"},
        {"file -1 C Q1", "\"-1\": a whole number"},
        {"file 1 C* Q1", "\"C*\" is no name"},
        {"file 1 abcdefghijabcdefghijabcdefghijab Q1", "is no name"},
        {"set A all", "A is a file type already"},
        {"set all A", "all is a set already"},
        {"set x ,", "is neither a file type"},
        {"fallback Q1", "fallback: at least 2 words"},
        {"fallback Q1 Q2\nfallback Q1 Q3", "Q1 has a fallback already"},
        {"needs C Q1", "C is neither"},
        {"rule A v Q\xc3\xa9", "no printable ASCII"},
        {"tenon-mix 1", "\"tenon-mix\" is no statement"},
        {"rule A v Q2\r", "no printable ASCII"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char text[512];
        unsigned line = strchr(faults[i].text, '\n') ? 6 : 5;
        snprintf(text, sizeof text, "%s%s\nthis is not read", BEGIN, faults[i].text);
        refused(text, line, faults[i].words);
    }
    refused("", 0, "there is no statement");
    refused("# only this\n\n", 2, "there is no statement");
    refused("\nkeep *\n", 2, "\"tenon-mix 1\" was expected");
    refused("tenon-mix 2\n", 1, "\"tenon-mix 1\" was expected");
}

Test(quant_mix_faults, too_much_of_anything) {
    tn_mix mix;
    size_t size = TN_MIX_MOST + 1;
    char *text = malloc(size);
    memset(text, '\n', size);
    memcpy(text, "tenon-mix 1\n", 12);
    cr_expect(eq(i32, tn_mix_read("x.mix", text, size, &mix, &error), TN_E_PLUGIN_MANIFEST));
    cr_assert(eq(i32, tn_mix_read("x.mix", text, size - 1, &mix, &error), TN_OK), "%s", error.text);
    tn_mix_free(&mix);
    memset(text + 12, 'a', 1001);
    text[12 + 1001] = 0;
    refused(text, 2, "a line of 1001 bytes");
    size_t at = 12;
    for (int i = 0; i < 65; i++) { at += (size_t)snprintf(text + at, size - at, "file - F%d Q1\n", i); }
    text[at] = 0;
    refused(text, 66, "more than 64 file types");
    at = 12;
    for (int i = 0; i < 64; i++) {
        at += (size_t)snprintf(text + at, size - at, "class c%d layered x%d\n", i, i);
    }
    text[at] = 0;
    refused(text, 65, "more than 63 classes");
    free(text);
}

/* A NUL ends no line. */
Test(quant_mix_faults, bytes_that_are_no_text) {
    tn_mix mix;
    static const char text[] = "tenon-mix 1\0\nkeep *";
    cr_expect(eq(i32, tn_mix_read("x.mix", text, sizeof text - 1, &mix, &error), TN_E_PLUGIN_MANIFEST));
    cr_expect(strstr(error.text, "x.mix:1: a byte") != NULL, "%s", error.text);
}

/* ---- several files --------------------------------------------------------------------------------------- */

/* An engine that looks into two folders of this test before the build's own. */
static tn_engine *engine_with(const char *a, const char *b) {
    tn_engine *engine;
    char *plugins = tn_test_build("lib/tenon/plugins");
    const char *const dirs[] = {a, b, plugins};
    const tn_engine_options options = {.plugin_dirs = dirs, .plugin_dir_count = 3, .threads = 1};
    cr_assert(eq(i32, tn_engine_create(&options, &engine, &error), TN_OK), "%s", error.text);
    free(plugins);
    return engine;
}

static void write_mix(const char *folder, const char *name, const char *text) {
    char path[600];
    mkdir(folder, 0755);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    tn_test_write(path, text, strlen(text));
    chmod(path, 0644);
}

static void expect_mixes(const char *a, const char *b, int32_t code, const char *words) {
    tn_mixes mixes;
    tn_engine *engine = engine_with(a, b);
    int32_t found = tn_mixes_read(engine, &mixes, &error);
    cr_expect(eq(i32, found, code), "%s", error.text);
    if (code == TN_OK) {
        uint32_t file;
        cr_expect(tn_mixes_find(&mixes, words, &file) != NULL, "no file type %s", words);
        cr_expect(tn_mixes_find(&mixes, "Q8_0", &file) != NULL);
        tn_mixes_free(&mixes);
    } else {
        cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
    }
    tn_engine_destroy(engine);
}

#define MINE "tenon-mix 1\nconvert *\nfile - MINE F16\n"

Test(quant_mix_faults, files_of_several_folders_and_names_that_two_define) {
    const char *a = rig_path("a"), *b = rig_path("b");
    write_mix(a, "mine.mix", MINE);
    mkdir(b, 0755);
    expect_mixes(a, b, TN_OK, "mine");
    write_mix(b, "same.mix", MINE); /* the same bytes once more are no other file */
    expect_mixes(a, b, TN_OK, "MINE");
    write_mix(b, "same.mix", MINE "#\n");
    expect_mixes(a, b, TN_E_PLUGIN_DUPLICATE, "a/mine.mix and ");
    expect_mixes(a, b, TN_E_PLUGIN_DUPLICATE, "b/same.mix");
    write_mix(b, "same.mix", "tenon-mix 1\nfile 9 YOURS F16 mine\n"); /* another name is a name */
    expect_mixes(a, b, TN_E_PLUGIN_DUPLICATE, "file type mine");
    write_mix(b, "same.mix", "tenon-mix 1\nfile 9 q4_k F16\n");
    expect_mixes(a, b, TN_E_PLUGIN_DUPLICATE, "published.mix");
    write_mix(b, "same.mix", "tenon-mix 1\nfile 9\n");
    expect_mixes(a, b, TN_E_PLUGIN_MANIFEST, "same.mix:2: file");
}

Test(quant_mix_faults, files_that_others_could_have_written) {
    char path[600];
    const char *a = rig_path("a"), *b = rig_path("b");
    write_mix(a, "mine.mix", MINE);
    mkdir(b, 0755);
    snprintf(path, sizeof path, "%s/mine.mix", a);
    chmod(path, 0664);
    expect_mixes(a, b, TN_E_PLUGIN_UNTRUSTED, "mine.mix may be written by its group");
    unlink(path);
    cr_assert(symlink("/etc/passwd", path) == 0);
    expect_mixes(a, b, TN_E_PLUGIN_UNTRUSTED, "mine.mix is a symbolic link");
    unlink(path);
    cr_assert(mkfifo(path, 0644) == 0);
    expect_mixes(a, b, TN_E_PLUGIN_UNTRUSTED, "mine.mix is a pipe");
}

/* A mix of somebody else, with a file type that has no number. */
Test(quant_mix_faults, a_mix_of_ones_own_is_used) {
    const char *a = rig_path("a"), *b = rig_path("b");
    static const rig_tensor tensors[] = {{"blk.0.attn_q.weight", F32, 2, {256, 8}},
                                         {"blk.1.attn_q.weight", F32, 2, {256, 8}},
                                         {"blk.2.attn_q.bias", F32, 2, {256, 8}}};
    const rig_model model = {.tensors = tensors, .count = 3};
    tn_quantize_plan *plan;
    tn_gguf *file = rig_open(rig_write("a.gguf", &model));
    write_mix(
        a, "mine.mix",
        "tenon-mix 1\nconvert *weight\nclass q counted *attn_q*\nfile - MINE F16\nrule MINE q Q8_0 if i>=1\n");
    mkdir(b, 0755);
    tn_engine *engine = engine_with(a, b);
    const tn_quantize_options options = {.type = "mine"};
    cr_assert(eq(i32, tn_quantize_plan_create(engine, file, &options, &plan, &error), TN_OK), "%s",
              error.text);
    cr_expect(eq(str, (char *)tn_quantize_at(plan, 0)->to, "F16"));
    cr_expect(eq(str, (char *)tn_quantize_at(plan, 1)->to, "Q8_0"));
    cr_expect(eq(u32, tn_quantize_at(plan, 2)->what, TN_QUANTIZE_LEFT));
    const char *path = rig_path("b.gguf");
    cr_assert(eq(i32, tn_quantize_write(plan, path, 0, NULL, &error), TN_OK), "%s", error.text);
    tn_quantize_plan_free(plan);
    tn_engine_destroy(engine);
    tn_gguf_close(file);
    file = rig_open(path);
    tn_kv kv = {.struct_size = sizeof kv};
    const tn_meta *meta = tn_gguf_meta(file);
    cr_expect(eq(i32, meta->find(meta, "general.file_type", &kv), TN_E_NOT_FOUND),
              "the old number would be wrong");
    cr_expect(eq(i32, meta->find(meta, "some.text", &kv), TN_OK));
    tn_gguf_close(file);
}
