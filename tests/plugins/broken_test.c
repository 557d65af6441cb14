/*
 * broken_test.c - plugins with one fault in their code or tables: each is refused with its code and one
 * precise line, by the trial in a child process, and, where it can be survived, in this process too.
 */
#include "broken_rig.h"

#include <string.h>

static const struct fault {
    const char *name;
    int32_t code;
    const char *words;
    int deadly;        /* it would end this process */
    const char *check; /* the check of tn_engine_check() that fails; NULL: none does */
} faults[] = {
    {"good", TN_OK, "", 0, NULL},
    {"symbol_missing", TN_E_PLUGIN_BROKEN, "symbol_missing.so does not export the symbol tenon_plugin", 0,
     "elf"},
    {"symbol_function", TN_E_PLUGIN_BROKEN, "its symbol tenon_plugin is no data", 0, "elf"},
    {"symbol_second", TN_E_PLUGIN_BROKEN, "symbol_second.so exports the symbol ", 0, "elf"},
    {"symbol_undefined", TN_E_PLUGIN_BROKEN, "symbol_undefined.so: undefined symbol: nobody_has_this", 0,
     "load"},
    {"run_path", TN_E_PLUGIN_BROKEN, "run_path.so has a run path", 0, "elf"},
    {"needs_foreign", TN_E_PLUGIN_BROKEN, "needs_foreign.so needs the library libtenonforeign.so", 0, "elf"},

    {"abi_major", TN_E_PLUGIN_ABI, "abi_major.so was made for abi 2.0, this host has 1.0", 0, "abi version"},
    {"abi_minor", TN_E_PLUGIN_ABI, "abi_minor.so needs abi 1.9, this host has 1.0", 0, "abi version"},
    {"plugin_short", TN_E_PLUGIN_ABI, "its tn_plugin has 16 bytes, that of abi 1.0 has 80", 0, "abi version"},
    {"sizes_few", TN_E_PLUGIN_ABI, "has a table of 3 struct sizes, abi 1.0 has", 0, "abi sizes"},
    {"sizes_null", TN_E_PLUGIN_ABI, "has a table of 0 struct sizes", 0, "abi sizes"},
    {"size_small", TN_E_PLUGIN_ABI, "its tn_error has 8 bytes, that of abi 1.0 has 1024", 0, "abi sizes"},
    {"id_null", TN_E_PLUGIN_BROKEN, "its id is NULL", 0, "identity"},
    {"id_lies", TN_E_PLUGIN_MANIFEST, "its id is format.liar, its manifest says format.broken", 0,
     "identity"},
    {"version_lies", TN_E_PLUGIN_MANIFEST, "its version is 2.0.0, its manifest says 1.0.0", 0, "identity"},
    {"license_lies", TN_E_PLUGIN_MANIFEST, "its license is MIT, its manifest says Apache-2.0", 0, "identity"},
    {"open_null", TN_E_PLUGIN_BROKEN, "its function open is NULL", 0, "identity"},
    {"interface_null", TN_E_PLUGIN_BROKEN, "its function interface is NULL", 0, "identity"},

    {"interface_missing", TN_E_PLUGIN_MANIFEST,
     "lacks the interface tenon.format/1, which its manifest promises", 0, "interfaces"},
    {"interface_promised", TN_E_PLUGIN_MANIFEST,
     "lacks the interface tenon.more/1, which its manifest promises", 0, "interfaces"},
    {"interface_unsaid", TN_E_PLUGIN_MANIFEST,
     "has the interface tenon.tokenizer/1, its manifest does not say so", 0, "interfaces"},
    {"interface_any", TN_E_PLUGIN_BROKEN, "answers to the interface nonsense, which there is not", 0,
     "interfaces"},
    {"interface_prefix", TN_E_PLUGIN_BROKEN, "answers to the interface tenon.format/1x, which there is not",
     0, "interfaces"},
    {"interface_moves", TN_E_PLUGIN_BROKEN, "gives another table of tenon.format/1 each time", 0,
     "interfaces"},
    {"group_torn", TN_E_PLUGIN_BROKEN, "create of tenon.tokenizer/1 is NULL", 0, "interfaces"},

    {"table_short", TN_E_PLUGIN_ABI, "its table of tenon.format/1 has 8 bytes, that of abi 1.0 has", 0,
     "interfaces"},
    {"name_null", TN_E_PLUGIN_BROKEN, "name of tenon.format/1 is NULL", 0, "interfaces"},
    {"decode_null", TN_E_PLUGIN_BROKEN, "decode of tenon.format/1 is NULL", 0, "interfaces"},
    {"check_null", TN_E_PLUGIN_BROKEN, "check of tenon.format/1 is NULL", 0, "interfaces"},
    {"importance", TN_E_PLUGIN_BROKEN, "importance is 3, must be 0 to 2", 0, "interfaces"},
    {"type_lies", TN_E_PLUGIN_MANIFEST, "its type is 251, its manifest says 250", 0, "claims"},
    {"name_lies", TN_E_PLUGIN_MANIFEST, "its name is LIAR, its manifest says BROKEN", 0, "claims"},
    {"block_lies", TN_E_PLUGIN_MANIFEST, "its block is 2, its manifest says 1", 0, "claims"},
    {"bytes_lie", TN_E_PLUGIN_MANIFEST, "its bytes is 5, its manifest says 4", 0, "claims"},
    {"kernels_null", TN_E_PLUGIN_BROKEN, "its list of kernels is NULL", 0, "interfaces"},
    {"kernel_null", TN_E_PLUGIN_BROKEN, "an entry of its kernels is NULL", 0, "interfaces"},
    {"kernel_short", TN_E_PLUGIN_BROKEN, "a kernel has 8 bytes, that of abi 1.0 has", 0, "interfaces"},
    {"kernel_nameless", TN_E_PLUGIN_BROKEN, "a kernel has no name", 0, "interfaces"},
    {"kernel_kind", TN_E_PLUGIN_BROKEN, "kernel broken gemv f32 is of the unknown kind 9", 0, "interfaces"},
    {"kernel_empty", TN_E_PLUGIN_BROKEN, "of kind 1 must have exactly the function of its kind", 0,
     "interfaces"},
    {"kernel_double", TN_E_PLUGIN_BROKEN, "of kind 1 must have exactly the function of its kind", 0,
     "interfaces"},
    {"kernel_other", TN_E_PLUGIN_BROKEN, "of kind 1 must have exactly the function of its kind", 0,
     "interfaces"},
    {"kernel_form", TN_E_PLUGIN_BROKEN, "has the unknown form 77", 0, "interfaces"},
    {"kernel_rows", TN_E_PLUGIN_BROKEN, "takes 9 rows, must be 1 to 8", 0, "interfaces"},
    {"kernel_group", TN_E_PLUGIN_BROKEN, "has groups of 24 columns, which panel form 1 does not", 0,
     "interfaces"},
    {"companion_nameless", TN_E_PLUGIN_BROKEN, "companion 0 is not whole", 0, "interfaces"},
    {"companion_role", TN_E_PLUGIN_BROKEN, "companion .scale has the unknown role 7", 0, "interfaces"},

    {"constructor_crashes", TN_E_PLUGIN_BROKEN, "crashed in its constructor: signal SIGSEGV", 1, "load"},
    {"constructor_aborts", TN_E_PLUGIN_BROKEN, "crashed in its constructor: signal SIGABRT", 1, "load"},
    {"constructor_exits", TN_E_PLUGIN_BROKEN, "ended the process with status 7 in its constructor", 1,
     "load"},
    {"interface_crashes", TN_E_PLUGIN_BROKEN, "crashed in interface: signal SIGSEGV", 1, "interface"},
    {"open_crashes", TN_E_PLUGIN_BROKEN, "crashed in open: signal SIGSEGV", 1, "open"},
    {"open_exits", TN_E_PLUGIN_BROKEN, "ended the process with status 0 in open", 1, "open"},
    {"open_fails", TN_E_PLUGIN_BROKEN, "does not open: the device is on fire (memory)", 0, "open"},
    {"open_fails_silently", TN_E_PLUGIN_BROKEN, "does not open: it gives no reason (failed)", 0, "open"},
    {"close_crashes", TN_E_PLUGIN_BROKEN, "crashed in close: signal SIGSEGV", 1, "close"},
};
enum { FAULTS = sizeof faults / sizeof faults[0] };

/* ---- opening ---------------------------------------------------------------------------------------- */

static void test_accepted(const char *name, int passed_before) {
    tn_error err;
    rig_begin();
    rig_copy(name);
    if (passed_before) { rig_passed(name); }
    tn_engine *engine = rig_engine(NULL, NULL);
    int32_t code = rig_open(engine, &err);
    rig_expect(code == TN_OK, "%s: %s", name, err.text);
    tn_engine_destroy(engine);
    rig_end();
}

static void test_refused(const struct fault *fault, int passed_before) {
    rig_begin();
    rig_copy(fault->name);
    if (passed_before) { rig_passed(fault->name); }
    rig_refused(fault->name, fault->code, fault->words);
    rig_end();
}

/* ---- tn_engine_check() ------------------------------------------------------------------------------ */

typedef struct checks {
    char names[256]; /* of those that passed */
    char failed[32], text[1024];
    int count_failed;
} checks;

static void note(void *context, const char *check, int passed, const char *text) {
    checks *c = context;
    size_t used = strlen(c->names);
    if (passed) {
        snprintf(c->names + used, sizeof c->names - used, "%s,", check);
    } else {
        c->count_failed++;
        snprintf(c->failed, sizeof c->failed, "%s", check);
        snprintf(c->text, sizeof c->text, "%s", text);
    }
}

static const char all_checks[] =
    "folder,file,manifest,needs,hash,elf,load,abi version,abi sizes,identity,interfaces,claims,open,";

static void test_check(const struct fault *fault) {
    checks c = {.count_failed = 0};
    tn_error err = TN_ERROR_INIT;
    char file[64];
    rig_begin();
    rig_copy(fault->name);
    tn_engine *engine = rig_engine(NULL, NULL);
    snprintf(file, sizeof file, "%s.so", fault->name);
    int32_t code = tn_engine_check(engine, rig_path(file), note, &c, &err);
    rig_expect(code == fault->code, "check %s: %s (%s), expected %s", fault->name, tn_code_text(code),
               err.text, tn_code_text(fault->code));
    if (fault->check) {
        rig_expect(c.count_failed == 1 && strcmp(c.failed, fault->check) == 0,
                   "check %s: %d checks failed, the last is \"%s\", expected one: %s", fault->name,
                   c.count_failed, c.failed, fault->check);
        rig_expect(strstr(c.text, fault->words) && strstr(err.text, fault->words),
                   "check %s: \"%s\" and \"%s\"", fault->name, c.text, err.text);
        rig_expect(strncmp(c.names, all_checks, strlen(c.names)) == 0, "check %s: passed %s", fault->name,
                   c.names);
    } else {
        rig_expect(c.count_failed == 0 && strcmp(c.names, all_checks) == 0, "check %s: passed %s failed %s",
                   fault->name, c.names, c.failed);
    }
    tn_engine_destroy(engine);
    rig_end();
}

/* ---- hanging ---------------------------------------------------------------------------------------- */

static void test_hang(void) {
    tn_error err;
    rig_begin();
    rig_copy("open_hangs");
    tn_engine *engine = rig_engine(NULL, NULL);
    engine->probe_limit_ms = 1500;
    double from = tn_test_seconds();
    int32_t code = rig_open(engine, &err);
    double took = tn_test_seconds() - from;
    rig_expect(code == TN_E_PLUGIN_BROKEN && strstr(err.text, "did not come back from open within 1.5 s"),
               "open_hangs: %s: %s", tn_code_text(code), err.text);
    rig_expect(took >= 1.5 && took < 10, "open_hangs: refused after %.1f s, the limit is 1.5", took);
    from = tn_test_seconds();
    rig_open(engine, &err); /* the refusal is remembered: no second trial */
    rig_expect(tn_test_seconds() - from < 0.5, "a refused plugin is tried again");
    tn_engine_destroy(engine);
    rig_end();
}

int main(void) {
    for (size_t i = 0; i < FAULTS; i++) {
        for (int passed = 0; passed <= !faults[i].deadly; passed++) {
            if (faults[i].code == TN_OK) {
                test_accepted(faults[i].name, passed);
            } else {
                test_refused(&faults[i], passed);
            }
        }
        test_check(&faults[i]);
    }
    test_hang();
    printf("%d plugins, %d faults\n", FAULTS, rig_faults);
    return rig_faults != 0;
}
