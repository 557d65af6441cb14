/*
 * isa.h - the instruction sets that this process may use, as TN_ISA_* bits, and their names.
 */
#ifndef TENON_ISA_H
#define TENON_ISA_H

#include "tenon/errors.h"

/** Room for the names of all bits. */
#define TN_ISA_TEXT_SIZE 160

/**
 * What processor, operating system and kernel give, capped by the environment's TENON_ISA. TN_E_INPUT: that
 * variable has a value that is none, or names what this machine does not have.
 */
int32_t tn_isa_detect(uint64_t *isa, tn_error *err);

/** The same from `found` bits and the value of TENON_ISA (NULL: not set). */
int32_t tn_isa_cap(uint64_t found, const char *cap, uint64_t *isa, tn_error *err);

/** "avx2 avx512", or "portable" if there is none. */
void tn_isa_text(uint64_t isa, char out[TN_ISA_TEXT_SIZE]);

/** Names separated by blanks to bits; returns 0 and the first that is none in `bad` (cut to its room). */
int tn_isa_parse(const char *text, uint64_t *isa, char *bad, size_t bad_size);

#endif
