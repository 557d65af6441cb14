/*
 * broken_rig.h - plugin folders made for a test, and engines over them.
 */
#ifndef TENON_BROKEN_RIG_H
#define TENON_BROKEN_RIG_H

#include "engine_state.h"
#include "probe.h"
#include "support.h"

extern int rig_faults;

/** Counts and prints a fault unless it holds. */
TN_PRINTF(2, 3)
void rig_expect(int holds, const char *format, ...);

/** A new folder of its own below the test's, an empty cache for the probe in it; and away with it. */
void rig_begin(void);
void rig_end(void);
/** The plugin folder, and any path in it. Lives until rig_end(). */
const char *rig_folder(void);
const char *rig_path(const char *name);

/** Copies a plugin of the matrix into the folder under its own name. */
void rig_copy(const char *name);
/** Copies it with its library changed: bytes put at an offset, then cut to `size` bytes; the manifest gets
 * the new hash. */
void rig_change(const char *name, size_t at, const void *bytes, size_t count, size_t size);
/** Changes one byte of a library in the folder where it lies, and its manifest; what is mapped of it stays
 * mapped. */
void rig_poke(const char *name, size_t at, int byte);
/** Says that this library has passed a trial before, so that it is opened in this process at once. */
void rig_passed(const char *name);

/** An engine over the folder (and a second one), with a pin, both may be NULL. */
tn_engine *rig_engine(const char *second, const char *pin);
/** Opens what claims type 250. */
int32_t rig_open(tn_engine *engine, tn_error *err);
/** That it is refused with this code and these words in its text. */
void rig_refused(const char *what, int32_t code, const char *words);

#endif
