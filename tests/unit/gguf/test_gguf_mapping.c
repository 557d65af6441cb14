/*
 * tn_gguf_mapped_at() finds the file of an address, from a signal handler too, while other threads open and
 * close files. A plain program, so that it also runs under TSan.
 */
#include "gguf_image.h"
#include "support.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 1000

static char *paths[THREADS];
static atomic_int faults;

static void expect(int holds, const char *what) {
    if (holds) { return; }
    fprintf(stderr, "failed: %s\n", what);
    atomic_fetch_add(&faults, 1);
}

static tn_gguf *open_sound(const char *path) {
    tn_error error = TN_ERROR_INIT;
    tn_gguf *file;
    if (tn_gguf_open(path, &tn_image_types, &file, &error) != TN_OK) {
        fprintf(stderr, "failed: %s\n", error.text);
        exit(1);
    }
    return file;
}

static void *open_and_close(void *argument) {
    char *path = argument;
    for (int i = 0; i < ROUNDS; i++) {
        tn_gguf *file = open_sound(path);
        const char *found = tn_gguf_mapped_at(tn_gguf_tensor_at(file, 0)->data);
        expect(found && strcmp(found, path) == 0, "an own address belongs to the own file");
        expect(tn_gguf_mapped_at(&i) == NULL, "the stack belongs to no file");
        tn_gguf_close(file);
    }
    return NULL;
}

static void check_threads(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) { pthread_create(&threads[i], NULL, open_and_close, paths[i]); }
    for (int i = 0; i < THREADS; i++) { pthread_join(threads[i], NULL); }
}

static void check_edges(void) {
    tn_gguf *file = open_sound(paths[0]);
    uint64_t size = tn_gguf_size(file);
    const char *start = (const char *)tn_gguf_tensor_at(file, 0)->data - tn_gguf_tensor_at(file, 0)->offset;
    expect(tn_gguf_mapped_at(start) != NULL, "the first byte is in the file");
    expect(tn_gguf_mapped_at(start + size - 1) != NULL, "the last byte is in the file");
    expect(tn_gguf_mapped_at(start - 1) == NULL, "the byte before is not");
    expect(tn_gguf_mapped_at(NULL) == NULL, "NULL is in no file");
    tn_gguf_close(file);
    expect(tn_gguf_mapped_at(start) == NULL, "a closed file is gone");
}

/* Pages of this process, whatever they hold. */
static unsigned long pages_taken(void) {
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    expect(statm && fscanf(statm, "%lu", &pages) == 1, "the size of this process is known");
    if (statm) { fclose(statm); }
    return pages;
}

/* Files begin where huge pages can; what is mapped to find such a place does not stay. */
static void check_huge_pages(void) {
    tn_gguf_close(open_sound(paths[0])); /* the list grows once */
    unsigned long before = pages_taken();
    tn_gguf *files[20];
    for (int i = 0; i < 20; i++) {
        files[i] = open_sound(paths[0]);
        uintptr_t start =
            (uintptr_t)tn_gguf_tensor_at(files[i], 0)->data - tn_gguf_tensor_at(files[i], 0)->offset;
        expect(start % (2 << 20) == 0, "a file begins at a multiple of 2 MiB");
    }
    expect(pages_taken() - before < 512, "twenty small files take less than one huge page of addresses");
    for (int i = 0; i < 20; i++) { tn_gguf_close(files[i]); }
    expect(pages_taken() - before < 100, "closed files take no addresses");
}

static sigjmp_buf back;
static const char *volatile found_in_handler;

static void on_bus_error(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number, (void)context;
    found_in_handler = tn_gguf_mapped_at(info->si_addr);
    siglongjmp(back, 1);
}

/* What the header promises to a host program: a file cut short under it can be named in the handler. */
static void check_cut_file(void) {
    tn_image image = {0};
    tn_image_sample(&image, 3);
    tn_image_zeros(&image, 65536);
    tn_test_write(paths[1], image.data, image.size);
    tn_gguf *file = open_sound(paths[1]);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO}, before;
    sigaction(SIGBUS, &action, &before);
    expect(truncate(paths[1], 4096) == 0, "the file can be cut");
    if (sigsetjmp(back, 1) == 0) {
        const volatile char *data = tn_gguf_tensor_at(file, 0)->data;
        (void)data[60000];
        expect(0, "reading behind the end raises SIGBUS");
    }
    sigaction(SIGBUS, &before, NULL);
    expect(found_in_handler && strcmp(found_in_handler, paths[1]) == 0, "the handler finds the file");
    tn_gguf_close(file);
    tn_image_free(&image);
}

int main(void) {
    char *folder = tn_test_folder(), name[32];
    tn_image image = {0};
    tn_image_sample(&image, 3);
    for (int i = 0; i < THREADS; i++) {
        snprintf(name, sizeof name, "%d.gguf", i);
        paths[i] = tn_test_path(folder, name);
        tn_image_zeros(&image, 5000);
        tn_test_write(paths[i], image.data, image.size);
    }
    tn_image_free(&image);
    check_edges();
    check_huge_pages();
    check_threads();
    check_cut_file();
    for (int i = 0; i < THREADS; i++) { free(paths[i]); }
    tn_test_folder_remove(folder);
    printf("%d faults\n", atomic_load(&faults));
    return atomic_load(&faults) != 0;
}
