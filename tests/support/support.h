/*
 * support.h - what tests of every part need: where the data is, whole files in memory, temporary folders.
 * Whatever cannot be had ends the test program with a message: a test cannot go on without it.
 */
#ifndef TENON_TEST_SUPPORT_H
#define TENON_TEST_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

/** Paths below $TENON_TEST_DATA, $TENON_TEST_SHARED, $TENON_TEST_BUILD. To be freed. */
char *tn_test_data(const char *name);
char *tn_test_shared(const char *name);
char *tn_test_build(const char *name);
/** FOLDER/NAME. To be freed. */
char *tn_test_path(const char *folder, const char *name);
/** 1 if there is such a file or folder. */
int tn_test_exists(const char *path);

/** A whole file and a NUL behind it. To be freed. `size` may be NULL. */
unsigned char *tn_test_read(const char *path, size_t *size);
/** Writes a file, anew or over the old one. */
void tn_test_write(const char *path, const void *data, size_t size);

/** A new folder below $TMPDIR. To be handed to tn_test_folder_remove(), which removes all that is in it. */
char *tn_test_folder(void);
void tn_test_folder_remove(char *folder);

/** Names in a folder, sorted, without those that begin with a dot. To be freed with tn_test_names_free(). */
char **tn_test_names(const char *folder, size_t *count);
void tn_test_names_free(char **names, size_t count);

/** Seconds of a clock that never goes back. */
double tn_test_seconds(void);

#endif
