/*
 * elf_check.h - judges the bytes of a shared library before the dynamic linker sees it.
 */
#ifndef TENON_ELF_CHECK_H
#define TENON_ELF_CHECK_H

#include "tenon/errors.h"

/**
 * A plugin's file: an ELF library for this machine, whole, exporting exactly the data symbol tenon_plugin,
 * without a run path, needing only the C library. `path` is for messages. On success `needs` holds the names
 * of the libraries it needs, for display. TN_E_PLUGIN_BROKEN.
 */
int32_t tn_elf_check(const char *path, const void *bytes, size_t size, char *needs, size_t needs_size,
                     tn_error *err);

#endif
