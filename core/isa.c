/*
 * isa.c - finds the instruction sets by trying to get them: the processor has them (CPUID), the operating
 * system saves their registers (XGETBV), and for AMX the kernel grants the tile state to the process.
 */
#include "isa.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bits of CPUID leaves as Intel's manual (volume 2A, CPUID) and AMD's number them. */
enum { L1C_FMA = 12, L1C_OSXSAVE = 27, L1C_AVX = 28, L1C_F16C = 29 };
enum { L7B_BMI1 = 3, L7B_AVX2 = 5, L7B_BMI2 = 8 };
enum { L7B_AVX512F = 16, L7B_AVX512DQ = 17, L7B_AVX512CD = 28, L7B_AVX512BW = 30, L7B_AVX512VL = 31 };
enum { L7C_AVX512_VBMI = 1, L7C_GFNI = 8, L7C_AVX512_VNNI = 11 };
enum { L7D_AMX_BF16 = 22, L7D_AMX_TILE = 24, L7D_AMX_INT8 = 25 };
enum { L71A_AVX_VNNI = 4, L71A_AVX512_BF16 = 5 };
/* State components of XCR0: SSE and AVX; opmask and the two halves of ZMM; tile configuration and data. */
enum { XCR0_AVX = 0x6, XCR0_AVX512 = 0xe6, XCR0_AMX = 0x60000 };
/* arch_prctl(2): the tile data may only be touched after the process has asked for it. */
enum { REQUEST_XSTATE_PERMISSION = 0x1023, XSTATE_TILE_DATA = 18 };

static int has(uint32_t word, int bit) {
    return (int)(word >> bit & 1);
}

static uint64_t saved_states(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static int tiles_granted(void) {
    return syscall(SYS_arch_prctl, REQUEST_XSTATE_PERMISSION, XSTATE_TILE_DATA) == 0;
}

static uint64_t avx512_found(uint32_t b, uint32_t c, uint32_t leaf71a) {
    uint64_t isa = TN_ISA_AVX512;
    if (!has(b, L7B_AVX512F) || !has(b, L7B_AVX512DQ) || !has(b, L7B_AVX512CD) || !has(b, L7B_AVX512BW) ||
        !has(b, L7B_AVX512VL)) {
        return 0;
    }
    if (has(c, L7C_AVX512_VNNI)) { isa |= TN_ISA_AVX512_VNNI; }
    if (has(c, L7C_AVX512_VBMI)) { isa |= TN_ISA_AVX512_VBMI; }
    if (has(leaf71a, L71A_AVX512_BF16)) { isa |= TN_ISA_AVX512_BF16; }
    return isa;
}

static uint64_t amx_found(uint32_t d) {
    uint64_t isa = 0;
    if (!has(d, L7D_AMX_TILE) || !tiles_granted()) { return 0; }
    if (has(d, L7D_AMX_INT8)) { isa |= TN_ISA_AMX_INT8; }
    if (has(d, L7D_AMX_BF16)) { isa |= TN_ISA_AMX_BF16; }
    return isa;
}

static uint64_t machine_isa(void) {
    uint32_t a, b, c, d, leaf1c, leaf71a = 0, subleaves;
    uint64_t states, isa = TN_ISA_AVX2;
    if (!__get_cpuid(1, &a, &b, &leaf1c, &d) || !has(leaf1c, L1C_OSXSAVE)) { return 0; }
    states = saved_states();
    if (!__get_cpuid_count(7, 0, &subleaves, &b, &c, &d)) { return 0; }
    if (subleaves >= 1) {
        uint32_t b1, c1, d1;
        __get_cpuid_count(7, 1, &leaf71a, &b1, &c1, &d1);
    }
    if ((states & XCR0_AVX) != XCR0_AVX || !has(leaf1c, L1C_AVX) || !has(leaf1c, L1C_FMA) ||
        !has(leaf1c, L1C_F16C) || !has(b, L7B_AVX2) || !has(b, L7B_BMI1) || !has(b, L7B_BMI2)) {
        return 0;
    }
    if (has(leaf71a, L71A_AVX_VNNI)) { isa |= TN_ISA_AVX_VNNI; }
    if (has(c, L7C_GFNI)) { isa |= TN_ISA_GFNI; }
    if ((states & XCR0_AVX512) == XCR0_AVX512) { isa |= avx512_found(b, c, leaf71a); }
    if ((states & XCR0_AMX) == XCR0_AMX) { isa |= amx_found(d); }
    return isa;
}

#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

static uint64_t machine_isa(void) {
    uint64_t isa = 0;
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) { isa |= TN_ISA_NEON_DOT; }
    if (getauxval(AT_HWCAP2) & HWCAP2_I8MM) { isa |= TN_ISA_NEON_I8MM; }
    return isa;
}

#else
static uint64_t machine_isa(void) {
    return 0;
}
#endif

int32_t tn_isa_cap(uint64_t found, const char *cap, uint64_t *isa, tn_error *err) {
    static const struct {
        const char *name;
        uint64_t needed, allowed;
    } caps[] = {
        {"portable", 0, 0},
        {"avx2", TN_ISA_AVX2, TN_ISA_AVX2},
        {"avx512vnni", TN_ISA_AVX2 | TN_ISA_AVX512 | TN_ISA_AVX512_VNNI,
         TN_ISA_AVX2 | TN_ISA_AVX512 | TN_ISA_AVX512_VNNI | TN_ISA_AVX512_VBMI | TN_ISA_AVX512_BF16 |
             TN_ISA_AVX_VNNI | TN_ISA_GFNI},
    };
    *isa = found;
    if (!cap) { return TN_OK; }
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        if (strcmp(cap, caps[i].name) != 0) { continue; }
        if (caps[i].needed & ~found) {
            char text[TN_ISA_TEXT_SIZE];
            tn_isa_text(found, text);
            TN_FAIL(err, TN_E_INPUT, "TENON_ISA=%s: this machine has no %s (it has: %s)", cap, cap, text);
        }
        *isa = found & caps[i].allowed;
        return TN_OK;
    }
    TN_FAIL(err, TN_E_INPUT, "TENON_ISA=%s: not one of portable, avx2, avx512vnni", cap);
}

int32_t tn_isa_detect(uint64_t *isa, tn_error *err) {
    return tn_isa_cap(machine_isa(), getenv("TENON_ISA"), isa, err);
}

static const struct {
    const char *name;
    uint64_t bit;
} isa_names[] = {
#define ISA_NAME(name, bit) {name, bit},
    TN_ISA_NAMES(ISA_NAME)
#undef ISA_NAME
};
enum { ISA_NAME_COUNT = sizeof isa_names / sizeof isa_names[0] };

void tn_isa_text(uint64_t isa, char out[TN_ISA_TEXT_SIZE]) {
    size_t used = 0;
    snprintf(out, TN_ISA_TEXT_SIZE, "portable");
    for (size_t i = 0; i < ISA_NAME_COUNT; i++) {
        if (!(isa & isa_names[i].bit)) { continue; }
        used +=
            (size_t)snprintf(out + used, TN_ISA_TEXT_SIZE - used, "%s%s", used ? " " : "", isa_names[i].name);
    }
}

static uint64_t bit_of(const char *name, size_t size) {
    for (size_t i = 0; i < ISA_NAME_COUNT; i++) {
        if (strlen(isa_names[i].name) == size && memcmp(isa_names[i].name, name, size) == 0) {
            return isa_names[i].bit;
        }
    }
    return 0;
}

int tn_isa_parse(const char *text, uint64_t *isa, char *bad, size_t bad_size) {
    *isa = 0;
    for (const char *at = text + strspn(text, " \t"); *at; at += strspn(at, " \t")) {
        size_t size = strcspn(at, " \t");
        uint64_t bit = bit_of(at, size);
        if (!bit) {
            snprintf(bad, bad_size, "%.*s", (int)size, at);
            return 0;
        }
        *isa |= bit;
        at += size;
    }
    return 1;
}
