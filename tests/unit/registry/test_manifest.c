/*
 * test_manifest.c - manifests: what a good one says, and every fault by line and words.
 */
#include "manifest.h"
#include "plain_test.h"

#include <stdlib.h>
#include <string.h>

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD                                                                                                 \
    "[plugin]\nmanifest = 1\nid = format.x\nkind = format\nversion = 1.0.0\nlicense = Apache-2.0\n"          \
    "abi = 1.0\ninterface = tenon.format/1\nlibrary = x.so\nsha256 = " HASH "\n"
#define CLAIMS "[claims]\ntype = 2\nname = X\nblock = 32\nbytes = 18\n"
#define ARCH                                                                                                 \
    "[plugin]\nmanifest = 1\nid = arch.x\nkind = arch\nversion = 1.0.0\nlicense = Apache-2.0\nabi = 1.0\n"   \
    "interface = tenon.arch/1\nlibrary = x.so\nsha256 = " HASH "\n"
#define KERNEL                                                                                                 \
    "[plugin]\nmanifest = 1\nid = kernel.x\nkind = kernel\nversion = 1.0.0\nlicense = Apache-2.0\nabi = 1.0\n" \
    "interface = tenon.kernel/1-draft\nlibrary = x.so\nsha256 = " HASH "\n"
#define NOTES "[plugin]\nmanifest = 1\nid = notes.x\nkind = notes\nversion = 1.0.0\nlicense = Apache-2.0\n"

static int32_t parse(const char *text, size_t size, tn_manifest *out, tn_error *err) {
    *err = (tn_error)TN_ERROR_INIT;
    return tn_manifest_parse("m.ini", text, size, out, err);
}

static void refused(const char *what, const char *text, const char *words) {
    tn_manifest m;
    tn_error err;
    int32_t code = parse(text, strlen(text), &m, &err);
    expect_error(what, code, &err, TN_E_PLUGIN_MANIFEST, words);
    tn_manifest_free(&m);
}

static void accepted(const char *what, const char *text) {
    tn_manifest m;
    tn_error err;
    int32_t code = parse(text, strlen(text), &m, &err);
    expect(code == TN_OK, "%s: %s", what, err.text);
    tn_manifest_free(&m);
}

/* ---- what a good one says --------------------------------------------------------------------------- */

static void same(const char *what, const char *found, const char *wanted) {
    expect(strcmp(found, wanted) == 0, "%s: \"%s\", expected \"%s\"", what, found, wanted);
}

static void test_good(void) {
    static const char text[] =
        "# a comment\n; another\n\n" HEAD
        "interface = tenon.more/2-draft ; with a comment\nisa = avx2  avx512_vnni\r\n" CLAIMS
        "[notes.architecture]\nold one = gone: for good\n[notes.type]\n19 = IQ: reason: two\n";
    tn_manifest m;
    tn_error err;
    int32_t code = parse(text, sizeof text - 1, &m, &err);
    expect(code == TN_OK, "a good manifest: %s", err.text);
    same("id", m.id, "format.x");
    same("kind", m.kind, "format");
    same("version", m.version, "1.0.0");
    same("license", m.license, "Apache-2.0");
    same("library", m.library, "x.so");
    same("sha256", m.sha256, HASH);
    same("isa", m.isa, "avx2  avx512_vnni");
    expect(m.isa_bits == (TN_ISA_AVX2 | TN_ISA_AVX512_VNNI), "isa bits %llx", (unsigned long long)m.isa_bits);
    expect(m.abi_major == 1 && m.abi_min_minor == 0, "abi %u.%u", m.abi_major, m.abi_min_minor);
    expect(m.interface_count == 2, "%u interfaces", m.interface_count);
    same("second interface", m.interfaces[1], "tenon.more/2-draft");
    expect(m.type == 2 && m.block == 32 && m.block_bytes == 18, "type %u block %u bytes %u", m.type, m.block,
           m.block_bytes);
    same("name", m.type_name, "X");
    expect(m.claim_count == 4, "%u claims", m.claim_count);
    same("first claim", m.claims[0].key, "type");
    same("its value", m.claims[0].value, "2");
    expect(m.note_count == 2, "%u notes", m.note_count);
    same("a note's name", m.notes[0].value, "old one");
    same("a note's text", m.notes[0].text, "gone: for good");
    same("a type's name", m.notes[1].name, "IQ");
    same("a type's text", m.notes[1].text, "IQ: reason: two");
    tn_manifest_free(&m);
    accepted("an architecture", ARCH "[claims]\narchitecture = a\narchitecture = b\nop = norm\nop = x.y/1\n");
    accepted("kernels", KERNEL "[claims]\nbackend = cpu\ntype = 2\ntype = 3\ncustom = a.b/1\n");
    accepted("notes", NOTES "[notes.model]\nx = y\n");
    accepted("no newline at the end", HEAD "[claims]\ntype = 2\nname = X\nblock = 32\nbytes = 18");
}

/* What could be read before a fault is shown. */
static void test_partial(void) {
    tn_manifest m;
    tn_error err;
    const char *text = "[plugin]\nmanifest = 1\nid = format.x\nkind = format\nnonsense = 1\n";
    int32_t code = parse(text, strlen(text), &m, &err);
    expect_error("partial", code, &err, TN_E_PLUGIN_MANIFEST, "m.ini:5: [plugin] has no key nonsense");
    same("partial id", m.id, "format.x");
    same("partial version", m.version, "");
    tn_manifest_free(&m);
}

/* ---- faults ------------------------------------------------------------------------------------------ */

static void test_lines(void) {
    char text[1024] = HEAD CLAIMS "# ";
    size_t used = strlen(text);
    memset(text + used, 'x', 250);
    refused("a long line", text, "m.ini:16: a line of 252 bytes, at most 198 are read");
    refused("an indented line", HEAD "  version = 2\n", "m.ini:11: an indented line");
    refused("no equals sign", HEAD "version\n", "m.ini:11: neither [section], name = value, nor a comment");
    refused("no end of a section", "[plugin\n", "m.ini:1: neither [section]");
    refused("no value", HEAD "isa =\n", "m.ini:11: an entry needs a name, '=' and a value");
    refused("no name", HEAD "= 3\n", "m.ini:11: an entry needs a name, '=' and a value");
    refused("a byte beyond ASCII", HEAD "isa = \xc3\xa9\n", "m.ini:11: a byte that is no printable ASCII");
    refused("a control character", HEAD "isa = a\x1b\n", "m.ini:11: a byte that is no printable ASCII");
    refused("a long section", "[pluginxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]\na = b\n",
            "m.ini:1: a section name of more than 48 bytes");
    tn_manifest m;
    tn_error err;
    static const char nul[] = HEAD "isa = avx2\0x\n" CLAIMS;
    expect_error("a NUL", parse(nul, sizeof nul - 1, &m, &err), &err, TN_E_PLUGIN_MANIFEST,
                 "m.ini:11: a NUL byte");
    tn_manifest_free(&m);
}

static void test_keys(void) {
    refused("unknown section", HEAD "[other]\na = b\n", "m.ini:12: a = ... in section [other]");
    refused("no section", "a = b\n", "m.ini:1: a = ... in section []");
    refused("unknown key", HEAD "libary = x\n", "m.ini:11: [plugin] has no key libary");
    refused("unknown claim", HEAD "[claims]\nop2 = x\n", "m.ini:12: [claims] has no key op2");
    refused("twice", HEAD "version = 2.0.0\n", "m.ini:11: version: said twice");
    refused("claim twice", ARCH "[claims]\narchitecture = a\narchitecture = a\n",
            "m.ini:13: architecture = a: said twice");
    refused("interface twice", HEAD "interface = tenon.format/1\n",
            "m.ini:11: interface = tenon.format/1: said twice");
    refused("note twice", NOTES "[notes.model]\na = b\na = c\n", "m.ini:9: a: said twice");
    refused("type twice", HEAD CLAIMS "type = 3\n", "[claims] has the key type 2 times");
    refused("another kind's key", HEAD CLAIMS "pre = x\n",
            "[claims] has the key pre, which a plugin of kind format does not");
    refused("notes with a library", NOTES "library = x.so\n",
            "[plugin] has the key library, which a plugin of kind notes does not");
    refused("nothing", "", "m.ini: [plugin] lacks the key kind");
    refused("no claims", HEAD, "m.ini: [claims] lacks the key type");
    refused("no architecture", ARCH "[claims]\nop = add\n", "m.ini: [claims] lacks the key architecture");
    refused("two names in a line", ARCH "[claims]\narchitecture = a, b\n",
            "architecture = a, b: one name a line");
    refused("two words", ARCH "[claims]\narchitecture = a b\n", "architecture = a b: one name a line");
    refused("no such op", ARCH "[claims]\narchitecture = a\nop = embde\n", "op = embde: there is no such op");
    refused("kernels of nothing", KERNEL "[claims]\nbackend = cpu\n",
            "m.ini: [claims] lacks a key type or custom");
}

/* The head without one of its lines. */
static void test_missing(void) {
    static const char *const keys[] = {"manifest", "id",        "kind",    "version", "license",
                                       "abi",      "interface", "library", "sha256"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char text[1024], line[32], words[64];
        snprintf(line, sizeof line, "\n%s = ", keys[i]);
        const char *at = strstr(HEAD, line), *end = strchr(at + 1, '\n');
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - HEAD), HEAD, end, CLAIMS);
        snprintf(words, sizeof words, "m.ini: [plugin] lacks the key %s", keys[i]);
        refused(keys[i], text, words);
    }
}

/* The head, or the claims, with one value exchanged. */
static void bad_value(const char *key, const char *value, const char *words) {
    char text[1024], line[32];
    snprintf(line, sizeof line, "\n%s = ", key);
    const char *at = strstr(HEAD CLAIMS, line), *end = strchr(at + 1, '\n');
    snprintf(text, sizeof text, "%.*s%s%s%s", (int)(at - (HEAD CLAIMS)), HEAD CLAIMS, line, value, end);
    refused(value, text, words);
}

static void test_values(void) {
    bad_value("manifest", "2", "manifest = 2: this host reads version 1");
    bad_value("id", "formatx", "id = formatx: must be kind.name");
    bad_value("id", "format.", "must be kind.name");
    bad_value("id", ".x", "must be kind.name");
    bad_value("id", "format.x y", "must be kind.name");
    bad_value("id", "format../x", "must be kind.name");
    bad_value("id", "format.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "at most 64");
    bad_value("id", "arch.x", "id = arch.x does not begin with its kind, format.");
    bad_value("kind", "formats", "kind = formats: not one of arch");
    bad_value("version", "v1", "version = v1: must be like 1.0.0");
    bad_value("license", "<none>", "must be an SPDX expression");
    bad_value("abi", "1", "abi = 1: must be major.minor");
    bad_value("abi", "1.0.0", "must be major.minor");
    bad_value("abi", "01.0", "must be major.minor");
    bad_value("abi", "1.-1", "must be major.minor");
    bad_value("abi", "1.99999999999999999999", "must be major.minor");
    bad_value("interface", "tenon.format", "must be name/major");
    bad_value("interface", "tenon.format/x", "must be name/major");
    bad_value("library", "../x.so", "without a slash");
    bad_value("library", "/x.so", "without a slash");
    bad_value("library", "..", "without a slash");
    bad_value("sha256", "0123", "must be 64 digits of lower-case hex, has 4 characters");
    bad_value("sha256", "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
              "must be 64 digits");
    bad_value("type", "-1", "type = -1: must be a whole number from 0 to 2147483647");
    bad_value("type", "4294967296", "must be a whole number");
    bad_value("type", "0x2", "must be a whole number");
    bad_value("block", "0", "block = 0: must be a whole number from 1 to 1048576");
    bad_value("bytes", "1048577", "must be a whole number from 1 to 1048576");
    bad_value("bytes", "18 bytes", "must be a whole number");
    bad_value("name", "Q 4", "name = Q 4: must be letters, digits and _");
    refused("isa", HEAD "isa = avx2 mmx\n", "m.ini:11: isa = avx2 mmx: no instruction set is called mmx");
    refused("a type's note", NOTES "[notes.type]\n19 = IQ1_S\n", "must be the type's number = NAME: reason");
    refused("a type's note", NOTES "[notes.type]\nIQ1_S = x: y\n",
            "must be the type's number = NAME: reason");
    tn_manifest m;
    tn_error err;
    const char *text =
        "[plugin]\nmanifest = 1\nid = format.x\nkind = format\nversion = 1.0.0\nlicense = MIT\nabi = 1.0\n"
        "interface = tenon.format/2\nlibrary = x.so\nsha256 = " HASH "\n" CLAIMS;
    expect_error("another interface", parse(text, strlen(text), &m, &err), &err, TN_E_PLUGIN_ABI,
                 "a plugin of kind format needs interface tenon.format/1, this one has tenon.format/2");
    tn_manifest_free(&m);
}

/* Sizes that only an attacker makes: refused at once. */
static void test_large(void) {
    tn_manifest m;
    tn_error err;
    size_t size = TN_MANIFEST_MOST + 1;
    char *text = malloc(size + 1);
    memset(text, '#', size);
    text[size] = 0;
    expect_error("long", parse(text, size, &m, &err), &err, TN_E_PLUGIN_MANIFEST,
                 "262145 bytes, a manifest has at most");
    tn_manifest_free(&m);
    size_t used = (size_t)snprintf(text, size, "%s[notes.model]\n", NOTES);
    for (int i = 0; used + 16 < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "n%d = x\n", i);
    }
    expect_error("many notes", parse(text, used, &m, &err), &err, TN_E_PLUGIN_MANIFEST,
                 "more than 2000 notes");
    tn_manifest_free(&m);
    free(text);
}

int main(void) {
    test_good();
    test_partial();
    test_lines();
    test_keys();
    test_missing();
    test_values();
    test_large();
    return expect_none("manifest");
}
