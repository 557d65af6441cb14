/*
 * plugin_check.c - the checks of a library in their order. plugin_tables.c knows what each interface's table
 * must hold.
 */
#include "plugin_check.h"

#include "elf_check.h"

#include <string.h>

#define SAY(proof, ...) snprintf((proof)->said, sizeof(proof)->said, __VA_ARGS__)

/* Sizes of ABI 1.0: what every plugin has at least. */
_Static_assert(TN_ABI_MAJOR == 1 && TN_ABI_MINOR == 0, "write the sizes of 1.0 down here as numbers");
static const uint32_t sizes_1_0[] = {TN_STRUCTS(TN_STRUCT_SIZEOF)};
static const char *const struct_names[] = {
#define STRUCT_NAME(name) #name,
    TN_STRUCTS(STRUCT_NAME)
#undef STRUCT_NAME
};
enum { STRUCTS_1_0 = sizeof sizes_1_0 / sizeof sizes_1_0[0], STRUCTS_MOST = 4096 };

static const struct {
    const char *name;
    size_t size;
    uint32_t number;
} interfaces[] = {
    {TN_ARCH_1, sizeof(tn_arch), TN_STRUCT_tn_arch},
    {TN_BACKEND_1, sizeof(tn_backend), TN_STRUCT_tn_backend},
    {TN_TOKENIZER_1, sizeof(tn_tokenizer), TN_STRUCT_tn_tokenizer},
    {TN_FORMAT_1, sizeof(tn_format), TN_STRUCT_tn_format},
    {TN_KERNEL_1, sizeof(tn_kernels), TN_STRUCT_tn_kernels},
};
enum { INTERFACE_COUNT = sizeof interfaces / sizeof interfaces[0] };

size_t tn_interface_size(const char *interface) {
    for (size_t i = 0; i < INTERFACE_COUNT; i++) {
        if (strcmp(interfaces[i].name, interface) == 0) { return interfaces[i].size; }
    }
    return 0;
}

/* ---- the file --------------------------------------------------------------------------------------- */

static int32_t check_hash(tn_proof *proof, tn_error *err) {
    const tn_library *lib = proof->library;
    if (strcmp(lib->sha256, proof->manifest->sha256) != 0) {
        TN_FAIL(err, TN_E_PLUGIN_HASH, "%s: its sha256 is %s, its manifest says %s", lib->path, lib->sha256,
                proof->manifest->sha256);
    }
    SAY(proof, "sha256 %s", lib->sha256);
    return TN_OK;
}

static int32_t check_elf(tn_proof *proof, tn_error *err) {
    char needs[192];
    TN_TRY(tn_elf_check(proof->library->path, proof->library->bytes, (size_t)proof->library->st.st_size,
                        needs, sizeof needs, err));
    SAY(proof, "exports %s, needs%s", TN_PLUGIN_SYMBOL, needs[0] ? needs : " nothing");
    return TN_OK;
}

/* ---- what it exports -------------------------------------------------------------------------------- */

static int32_t load(tn_proof *proof, tn_error *err) {
    TN_TRY(tn_library_load(proof->library, "/proc", &proof->plugin, err));
    SAY(proof, "loaded, no symbol missing");
    return TN_OK;
}

int32_t tn_abi_check(const char *path, uint32_t major, uint32_t min_minor, tn_error *err) {
    if (major != TN_ABI_MAJOR) {
        TN_FAIL(err, TN_E_PLUGIN_ABI, "%s was made for abi %u.%u, this host has %u.%u: majors must be equal",
                path, major, min_minor, TN_ABI_MAJOR, TN_ABI_MINOR);
    }
    if (min_minor > TN_ABI_MINOR) {
        TN_FAIL(err, TN_E_PLUGIN_ABI, "%s needs abi %u.%u, this host has %u.%u", path, major, min_minor,
                TN_ABI_MAJOR, TN_ABI_MINOR);
    }
    return TN_OK;
}

static int32_t check_version(tn_proof *proof, tn_error *err) {
    const tn_plugin *p = proof->plugin;
    const tn_manifest *m = proof->manifest;
    const char *path = proof->library->path;
    if (p->struct_size < sizes_1_0[TN_STRUCT_tn_plugin]) {
        TN_FAIL(err, TN_E_PLUGIN_ABI, "%s: its tn_plugin has %u bytes, that of abi 1.0 has %u", path,
                p->struct_size, sizes_1_0[TN_STRUCT_tn_plugin]);
    }
    TN_TRY(tn_abi_check(path, p->abi_major, p->abi_min_minor, err));
    if (p->abi_major != m->abi_major || p->abi_min_minor != m->abi_min_minor) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s needs abi %u.%u, its manifest says %u.%u", path, p->abi_major,
                p->abi_min_minor, m->abi_major, m->abi_min_minor);
    }
    SAY(proof, "needs abi %u.%u, built with %u.%u, this host has %u.%u", p->abi_major, p->abi_min_minor,
        p->abi_major, p->abi_minor, TN_ABI_MAJOR, TN_ABI_MINOR);
    return TN_OK;
}

static int32_t check_sizes(tn_proof *proof, tn_error *err) {
    const tn_plugin *p = proof->plugin;
    const char *path = proof->library->path;
    if (!p->struct_sizes || p->struct_count < STRUCTS_1_0 || p->struct_count > STRUCTS_MOST) {
        TN_FAIL(err, TN_E_PLUGIN_ABI, "%s has a table of %u struct sizes, abi 1.0 has %d", path,
                p->struct_sizes ? p->struct_count : 0, STRUCTS_1_0);
    }
    for (uint32_t i = 0; i < STRUCTS_1_0; i++) {
        if (p->struct_sizes[i] < sizes_1_0[i]) {
            TN_FAIL(err, TN_E_PLUGIN_ABI, "%s: its %s has %u bytes, that of abi 1.0 has %u", path,
                    struct_names[i], p->struct_sizes[i], sizes_1_0[i]);
        }
    }
    SAY(proof, "%u structs, none smaller than in abi 1.0", p->struct_count);
    return TN_OK;
}

static int32_t same_text(const tn_proof *proof, const char *what, const char *code, const char *manifest,
                         tn_error *err) {
    const char *path = proof->library->path;
    if (!code) { TN_FAIL(err, TN_E_PLUGIN_BROKEN, "%s: its %s is NULL", path, what); }
    if (strcmp(code, manifest) != 0) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: its %s is %.100s, its manifest says %.100s", path, what, code,
                manifest);
    }
    return TN_OK;
}

static int32_t check_identity(tn_proof *proof, tn_error *err) {
    const tn_plugin *p = proof->plugin;
    const tn_manifest *m = proof->manifest;
    TN_TRY(same_text(proof, "id", p->id, m->id, err));
    TN_TRY(same_text(proof, "version", p->version, m->version, err));
    TN_TRY(same_text(proof, "license", p->license, m->license, err));
    if (!p->open || !p->interface) {
        TN_FAIL(err, TN_E_PLUGIN_BROKEN, "%s: its function %s is NULL", proof->library->path,
                p->open ? "interface" : "open");
    }
    SAY(proof, "%s %s, %s", p->id, p->version, p->license);
    return TN_OK;
}

/* ---- interfaces ------------------------------------------------------------------------------------- */

static int says(const tn_manifest *m, const char *interface) {
    for (uint32_t i = 0; i < m->interface_count; i++) {
        if (strcmp(m->interfaces[i], interface) == 0) { return 1; }
    }
    return 0;
}

/* Names that nobody has, those with something behind a good name among them, must give NULL. */
static int32_t check_strangers(const tn_proof *proof, tn_error *err) {
    char name[128];
    for (uint32_t i = 0; i <= proof->manifest->interface_count; i++) {
        snprintf(name, sizeof name, "%.100s%s", i ? proof->manifest->interfaces[i - 1] : "",
                 i ? "x" : "nonsense");
        if (proof->plugin->interface(name)) {
            TN_FAIL(err, TN_E_PLUGIN_BROKEN, "%s answers to the interface %s, which there is not",
                    proof->library->path, name);
        }
    }
    return TN_OK;
}

/* An interface that this host knows is there if, and only if, the manifest says so. */
static int32_t check_known(const tn_proof *proof, size_t i, tn_error *err) {
    const char *name = interfaces[i].name, *path = proof->library->path;
    const void *table = proof->plugin->interface(name);
    uint32_t size;
    if (!says(proof->manifest, name)) {
        if (!table) { return TN_OK; }
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s has the interface %s, its manifest does not say so", path,
                name);
    }
    if (!table) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s lacks the interface %s, which its manifest promises", path,
                name);
    }
    if (proof->plugin->interface(name) != table) {
        TN_FAIL(err, TN_E_PLUGIN_BROKEN, "%s gives another table of %s each time", path, name);
    }
    memcpy(&size, table, sizeof size);
    if (size < sizes_1_0[interfaces[i].number]) {
        TN_FAIL(err, TN_E_PLUGIN_ABI, "%s: its table of %s has %u bytes, that of abi 1.0 has %u", path, name,
                size, sizes_1_0[interfaces[i].number]);
    }
    return tn_table_check(proof, name, table, err);
}

/* Interfaces that only the manifest and later hosts know. */
static int32_t check_promised(const tn_proof *proof, tn_error *err) {
    const tn_manifest *m = proof->manifest;
    for (uint32_t i = 0; i < m->interface_count; i++) {
        if (tn_interface_size(m->interfaces[i]) || proof->plugin->interface(m->interfaces[i])) { continue; }
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s lacks the interface %s, which its manifest promises",
                proof->library->path, m->interfaces[i]);
    }
    return TN_OK;
}

static int32_t check_interfaces(tn_proof *proof, tn_error *err) {
    size_t used = 0;
    TN_TRY(check_strangers(proof, err));
    for (size_t i = 0; i < INTERFACE_COUNT; i++) { TN_TRY(check_known(proof, i, err)); }
    TN_TRY(check_promised(proof, err));
    for (uint32_t i = 0; i < proof->manifest->interface_count && used < sizeof proof->said; i++) {
        used += (size_t)snprintf(proof->said + used, sizeof proof->said - used, "%s%s", i ? ", " : "",
                                 proof->manifest->interfaces[i]);
    }
    return TN_OK;
}

static int32_t check_claims(tn_proof *proof, tn_error *err) {
    TN_TRY(tn_claims_check(proof, err));
    SAY(proof, "as its manifest says");
    return TN_OK;
}

/* ---- open ------------------------------------------------------------------------------------------- */

/* A plugin's text, as it may be shown. */
static void one_line(char *text, size_t size) {
    text[size - 1] = 0;
    for (; *text; text++) {
        if ((unsigned char)*text < ' ') { *text = ' '; }
    }
}

static int32_t open_plugin(tn_proof *proof, tn_error *err) {
    tn_error why = TN_ERROR_INIT;
    tn_plugin_host_init(&proof->host, proof->lent, proof->plugin);
    why.struct_size = proof->host.sizes[TN_STRUCT_tn_error];
    int32_t code = proof->plugin->open(&proof->host.host, &proof->self, &why);
    if (code != TN_OK) {
        one_line(why.text, sizeof why.text);
        TN_FAIL(err, TN_E_PLUGIN_BROKEN, "%s does not open: %.400s (%s)", proof->library->path,
                why.text[0] ? why.text : "it gives no reason", tn_code_text(code));
    }
    SAY(proof, "opened");
    return TN_OK;
}

/* ---- in order --------------------------------------------------------------------------------------- */

typedef struct check {
    const char *name;
    int32_t (*run)(tn_proof *proof, tn_error *err);
} check;

static int32_t run_checks(const check *checks, size_t count, tn_proof *proof, const tn_check_report *report,
                          tn_error *err) {
    tn_error why = TN_ERROR_INIT;
    for (size_t i = 0; i < count; i++) {
        int32_t code = checks[i].run(proof, &why);
        if (report) {
            report->report(report->context, checks[i].name, code == TN_OK,
                           code == TN_OK ? proof->said : why.text);
        }
        if (code != TN_OK) { TN_FAIL(err, code, "%s", why.text); }
    }
    return TN_OK;
}

int32_t tn_proof_file(tn_proof *proof, const tn_check_report *report, tn_error *err) {
    static const check checks[] = {{"hash", check_hash}, {"elf", check_elf}};
    return run_checks(checks, sizeof checks / sizeof checks[0], proof, report, err);
}

int32_t tn_proof_open(tn_proof *proof, const tn_check_report *report, tn_error *err) {
    static const check checks[] = {{"load", load},
                                   {"abi version", check_version},
                                   {"abi sizes", check_sizes},
                                   {"identity", check_identity},
                                   {"interfaces", check_interfaces},
                                   {"claims", check_claims},
                                   {"open", open_plugin}};
    return run_checks(checks, sizeof checks / sizeof checks[0], proof, report, err);
}

void tn_proof_table(const tn_proof *proof, const char *interface, void *out, size_t size) {
    const void *table = proof->plugin->interface(interface);
    uint32_t theirs, ours = (uint32_t)size;
    memcpy(&theirs, table, sizeof theirs);
    memset(out, 0, size);
    memcpy(out, table, theirs < size ? theirs : size);
    memcpy(out, &ours, sizeof ours);
}
