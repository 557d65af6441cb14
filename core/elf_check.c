/*
 * elf_check.c - reads the ELF header, program headers, dynamic section, dynamic symbols.
 *
 * Nothing here trusts an offset: every table is proved to lie in the file before it is read. Section headers
 * are not needed (they may be stripped); the number of symbols comes from the hash table, as it does for the
 * dynamic linker.
 */
#include "elf_check.h"

#include "tenon/plugin.h"

#include <elf.h>
#include <string.h>

#if defined(__x86_64__)
enum { HOST_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { HOST_MACHINE = EM_AARCH64 };
#else
#error "name this machine's EM_ number"
#endif

typedef struct image {
    const char *path;
    const uint8_t *bytes;
    size_t size;
    Elf64_Ehdr header;
    tn_error *err;
} image;

/* What is used of the dynamic section; addresses and counts as they stand there. */
typedef struct dynamic {
    uint64_t strings, strings_size, symbols, symbol_size, hash, gnu_hash, flags;
    int has_path;
} dynamic;

#define BROKEN(elf, ...) return tn_fail((elf)->err, TN_E_PLUGIN_BROKEN, __VA_ARGS__)

static int inside(const image *elf, uint64_t offset, uint64_t size) {
    return offset <= elf->size && size <= elf->size - offset;
}

/* ---- headers ---------------------------------------------------------------------------------------- */

static const char *machine_name(unsigned machine) {
    switch (machine) {
    case EM_386: return "i386";
    case EM_ARM: return "arm";
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "aarch64";
    case EM_RISCV: return "riscv";
    default: return "another machine";
    }
}

static int32_t check_header(image *elf) {
    const Elf64_Ehdr *h = &elf->header;
    if (elf->size < EI_NIDENT || memcmp(elf->bytes, ELFMAG, SELFMAG) != 0) {
        BROKEN(elf, "%s is no ELF file", elf->path);
    }
    if (elf->bytes[EI_CLASS] != ELFCLASS64 || elf->bytes[EI_DATA] != ELFDATA2LSB) {
        BROKEN(elf, "%s is not a 64-bit little-endian ELF file", elf->path);
    }
    if (elf->size < sizeof *h) {
        BROKEN(elf, "%s is cut short: %zu bytes, its header takes %zu", elf->path, elf->size, sizeof *h);
    }
    memcpy(&elf->header, elf->bytes, sizeof *h);
    if (h->e_machine != HOST_MACHINE) {
        BROKEN(elf, "%s is for machine %u (%s), this is %u (%s)", elf->path, h->e_machine,
               machine_name(h->e_machine), HOST_MACHINE, machine_name(HOST_MACHINE));
    }
    if (h->e_type != ET_DYN) {
        BROKEN(elf, "%s is of ELF type %u, a shared library is of type %u", elf->path, h->e_type, ET_DYN);
    }
    if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum == 0) {
        BROKEN(elf, "%s has %u program headers of %u bytes", elf->path, h->e_phnum, h->e_phentsize);
    }
    if (!inside(elf, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr))) {
        BROKEN(elf, "%s is cut short: its program headers do not lie in its %zu bytes", elf->path, elf->size);
    }
    return TN_OK;
}

static Elf64_Phdr segment(const image *elf, unsigned i) {
    Elf64_Phdr out;
    memcpy(&out, elf->bytes + elf->header.e_phoff + (size_t)i * sizeof out, sizeof out);
    return out;
}

/* Every segment in the file, one dynamic section, no interpreter (which makes it a program). */
static int32_t check_segments(const image *elf, Elf64_Phdr *found) {
    *found = (Elf64_Phdr){0};
    for (unsigned i = 0; i < elf->header.e_phnum; i++) {
        Elf64_Phdr p = segment(elf, i);
        if ((p.p_type == PT_LOAD || p.p_type == PT_DYNAMIC) && !inside(elf, p.p_offset, p.p_filesz)) {
            BROKEN(elf, "%s is cut short: a segment takes %llu bytes from %llu, the file has %zu", elf->path,
                   (unsigned long long)p.p_filesz, (unsigned long long)p.p_offset, elf->size);
        }
        if (p.p_type == PT_INTERP) { BROKEN(elf, "%s is a program, not a library", elf->path); }
        if (p.p_type == PT_DYNAMIC) { *found = p; }
    }
    if (!found->p_filesz) { BROKEN(elf, "%s has no dynamic section", elf->path); }
    return TN_OK;
}

/* The section headers close a file as linkers write it: a file cut behind its last segment is noticed. */
static int32_t check_sections(const image *elf) {
    const Elf64_Ehdr *h = &elf->header;
    if (h->e_shnum && !inside(elf, h->e_shoff, (uint64_t)h->e_shnum * h->e_shentsize)) {
        BROKEN(elf, "%s is cut short: its section headers do not lie in its %zu bytes", elf->path, elf->size);
    }
    return TN_OK;
}

/* Finds `size` bytes at a virtual address in the file. */
static int32_t locate(const image *elf, const char *what, uint64_t address, uint64_t size, uint64_t *offset) {
    for (unsigned i = 0; i < elf->header.e_phnum; i++) {
        Elf64_Phdr p = segment(elf, i);
        if (p.p_type != PT_LOAD || address < p.p_vaddr || address - p.p_vaddr > p.p_filesz) { continue; }
        uint64_t into = address - p.p_vaddr;
        if (size > p.p_filesz - into) { continue; }
        *offset = p.p_offset + into;
        return TN_OK;
    }
    BROKEN(elf, "%s: its %s (%llu bytes at address %#llx) lies in no segment", elf->path, what,
           (unsigned long long)size, (unsigned long long)address);
}

static int32_t read_u32(const image *elf, const char *what, uint64_t address, uint32_t *out) {
    uint64_t offset;
    TN_TRY(locate(elf, what, address, sizeof *out, &offset));
    memcpy(out, elf->bytes + offset, sizeof *out);
    return TN_OK;
}

/* ---- dynamic section -------------------------------------------------------------------------------- */

static Elf64_Dyn dynamic_at(const image *elf, const Elf64_Phdr *section, uint64_t i) {
    Elf64_Dyn out = {.d_tag = DT_NULL};
    if ((i + 1) * sizeof out <= section->p_filesz) {
        memcpy(&out, elf->bytes + section->p_offset + i * sizeof out, sizeof out);
    }
    return out;
}

static int32_t read_dynamic(const image *elf, const Elf64_Phdr *section, dynamic *out) {
    *out = (dynamic){0};
    for (uint64_t i = 0;; i++) {
        Elf64_Dyn entry = dynamic_at(elf, section, i);
        uint64_t value = entry.d_un.d_val;
        switch (entry.d_tag) {
        case DT_NULL:
            if (out->strings && out->symbols && (out->hash || out->gnu_hash) &&
                out->symbol_size == sizeof(Elf64_Sym)) {
                return TN_OK;
            }
            BROKEN(elf, "%s: its dynamic section lacks symbols, strings or a hash table", elf->path);
        case DT_STRTAB: out->strings = value; break;
        case DT_STRSZ: out->strings_size = value; break;
        case DT_SYMTAB: out->symbols = value; break;
        case DT_SYMENT: out->symbol_size = value; break;
        case DT_HASH: out->hash = value; break;
        case DT_GNU_HASH: out->gnu_hash = value; break;
        case DT_FLAGS_1: out->flags = value; break;
        case DT_RPATH:
        case DT_RUNPATH: out->has_path = 1; break;
        default: break;
        }
    }
}

/* A string of the dynamic string table, which has been located. */
static int32_t read_string(const image *elf, const dynamic *dyn, uint64_t table, uint64_t at,
                           const char **out) {
    const char *text = (const char *)elf->bytes + table;
    if (at >= dyn->strings_size || !memchr(text + at, 0, dyn->strings_size - at)) {
        BROKEN(elf, "%s: a name at %llu lies outside its string table of %llu bytes", elf->path,
               (unsigned long long)at, (unsigned long long)dyn->strings_size);
    }
    *out = text + at;
    return TN_OK;
}

static int may_need(const char *library) {
    static const char *const whole[] = {"libc.so.6", "libm.so.6", "libgcc_s.so.1"};
    static const char *const starts[] = {
        "ld-linux",
#ifdef TENON_SANITIZED
        "libasan.so", "libubsan.so", "libtsan.so", "liblsan.so", "libclang_rt.",
#endif
    };
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        if (strcmp(library, whole[i]) == 0) { return 1; }
    }
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (strncmp(library, starts[i], strlen(starts[i])) == 0) { return 1; }
    }
    return 0;
}

static int32_t check_needs(const image *elf, const Elf64_Phdr *section, const dynamic *dyn, uint64_t table,
                           char *needs, size_t room) {
    size_t used = 0;
    needs[0] = 0;
    for (uint64_t i = 0;; i++) {
        Elf64_Dyn entry = dynamic_at(elf, section, i);
        const char *name = NULL;
        if (entry.d_tag == DT_NULL) { return TN_OK; }
        if (entry.d_tag != DT_NEEDED) { continue; }
        TN_TRY(read_string(elf, dyn, table, entry.d_un.d_val, &name));
        if (!may_need(name)) {
            BROKEN(elf,
                   "%s needs the library %s; a plugin may need only the C library (libc, libm, libgcc_s)",
                   elf->path, name);
        }
        if (used < room) { used += (size_t)snprintf(needs + used, room - used, " %s", name); }
    }
}

/* ---- symbols ---------------------------------------------------------------------------------------- */

/* The symbols that a GNU hash table lists come last; the chain of the highest bucket ends at the last one. */
static int32_t count_gnu(const image *elf, uint64_t address, uint64_t *count) {
    static const char what[] = "symbol hash table";
    uint32_t buckets, first, bloom, last = 0, word = 0;
    TN_TRY(read_u32(elf, what, address, &buckets));
    TN_TRY(read_u32(elf, what, address + 4, &first));
    TN_TRY(read_u32(elf, what, address + 8, &bloom));
    uint64_t bucket = address + 16 + 8 * (uint64_t)bloom;
    uint64_t chain = bucket + 4 * (uint64_t)buckets;
    for (uint32_t i = 0; i < buckets; i++) {
        TN_TRY(read_u32(elf, what, bucket + 4 * (uint64_t)i, &word));
        if (word > last) { last = word; }
    }
    if (last < first) { /* all buckets are empty */
        *count = first;
        return TN_OK;
    }
    for (word = 0; !(word & 1); last++) {
        TN_TRY(read_u32(elf, what, chain + 4 * (uint64_t)(last - first), &word));
    }
    *count = last;
    return TN_OK;
}

static int32_t count_symbols(const image *elf, const dynamic *dyn, uint64_t *count) {
    uint32_t chains;
    if (dyn->gnu_hash) { return count_gnu(elf, dyn->gnu_hash, count); }
    TN_TRY(read_u32(elf, "symbol hash table", dyn->hash + 4, &chains));
    *count = chains;
    return TN_OK;
}

static int exported(const Elf64_Sym *symbol) {
    unsigned visible = ELF64_ST_VISIBILITY(symbol->st_other);
    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
           (visible == STV_DEFAULT || visible == STV_PROTECTED);
}

static int32_t check_exports(const image *elf, const dynamic *dyn, uint64_t table) {
    uint64_t count, symbols;
    int found = 0;
    TN_TRY(count_symbols(elf, dyn, &count));
    if (count > elf->size / sizeof(Elf64_Sym)) {
        BROKEN(elf, "%s: %llu symbols do not fit into its %zu bytes", elf->path, (unsigned long long)count,
               elf->size);
    }
    TN_TRY(locate(elf, "symbol table", dyn->symbols, count * sizeof(Elf64_Sym), &symbols));
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Sym symbol;
        const char *name = NULL;
        memcpy(&symbol, elf->bytes + symbols + i * sizeof symbol, sizeof symbol);
        if (!exported(&symbol)) { continue; }
        TN_TRY(read_string(elf, dyn, table, symbol.st_name, &name));
        if (strcmp(name, TN_PLUGIN_SYMBOL) != 0) {
            BROKEN(elf, "%s exports the symbol %s; a plugin exports %s only", elf->path, name,
                   TN_PLUGIN_SYMBOL);
        }
        if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) {
            BROKEN(elf, "%s: its symbol %s is no data", elf->path, name);
        }
        found++;
    }
    if (found != 1) { BROKEN(elf, "%s does not export the symbol %s", elf->path, TN_PLUGIN_SYMBOL); }
    return TN_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

int32_t tn_elf_check(const char *path, const void *bytes, size_t size, char *needs, size_t needs_size,
                     tn_error *err) {
    image elf = {.path = path, .bytes = bytes, .size = size, .err = err};
    Elf64_Phdr section;
    dynamic dyn;
    uint64_t strings;
    TN_TRY(check_header(&elf));
    TN_TRY(check_segments(&elf, &section));
    TN_TRY(check_sections(&elf));
    TN_TRY(read_dynamic(&elf, &section, &dyn));
    if (dyn.has_path) { BROKEN(&elf, "%s has a run path (RPATH or RUNPATH)", path); }
    if (dyn.flags & DF_1_PIE) { BROKEN(&elf, "%s is a program, not a library", path); }
    TN_TRY(locate(&elf, "string table", dyn.strings, dyn.strings_size, &strings));
    TN_TRY(check_needs(&elf, &section, &dyn, strings, needs, needs_size));
    return check_exports(&elf, &dyn, strings);
}
