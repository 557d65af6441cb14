/* peer_library.c - see peer_library.h. */
#include "peer_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The layout of peer_traits cannot be asked for: it is known of this version, which build_peer.sh builds. */
#define PEER_VERSION "0.26.0"

static void *open_one(const char *folder, const char *name) {
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) {
        fprintf(stderr, "%s: too long a path\n", folder);
        exit(1);
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

static void find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "the peer's library has no %s\n", name);
        exit(1);
    }
    memcpy(function, &symbol, sizeof symbol);
}

static void print_built_for(void *library) {
    static const char *const sets[] = {"avx2",        "fma",         "f16c",        "avx_vnni", "avx512",
                                       "avx512_vnni", "avx512_vbmi", "avx512_bf16", "amx_int8"};
    printf("the peer: ggml %s, built for", PEER_VERSION);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char name[64];
        int (*has)(void);
        snprintf(name, sizeof name, "ggml_cpu_has_%s", sets[i]);
        find(library, name, &has);
        if (has()) { printf(" %s", sets[i]); }
    }
    printf("\n");
}

peer_library peer_open(const char *folder) {
    peer_library peer;
    void (*init)(void);
    void *base = open_one(folder, "libggml-base.so"), *cpu = open_one(folder, "libggml-cpu.so");
    find(base, "ggml_version", &peer.version);
    if (strcmp(peer.version(), PEER_VERSION) != 0) {
        fprintf(stderr, "%s holds ggml %s; this program knows %s only (bench/build_peer.sh builds it)\n",
                folder, peer.version(), PEER_VERSION);
        exit(1);
    }
    find(base, "ggml_type_name", &peer.type_name);
    find(base, "ggml_type_size", &peer.type_size);
    find(base, "ggml_blck_size", &peer.block_size);
    find(base, "ggml_quantize_init", &peer.quantize_init);
    find(base, "ggml_quantize_requires_imatrix", &peer.needs_importance);
    find(base, "ggml_quantize_chunk", &peer.quantize);
    find(cpu, "ggml_get_type_traits_cpu", &peer.traits);
    find(cpu, "ggml_cpu_init", &init);
    init(); /* fills tables of binary16 numbers */
    print_built_for(cpu);
    return peer;
}

bool peer_has_format(const peer_library *peer, const tn_format *format) {
    int type = (int)format->type;
    if (strcasecmp(peer->type_name(type), format->name) != 0) {
        printf("%s: the peer's type %d is %s\n", format->name, type, peer->type_name(type));
        return false;
    }
    if (peer->type_size(type) != format->block_bytes || peer->block_size(type) != format->block) {
        printf("%s: the peer's blocks are of %lld elements in %zu bytes\n", format->name,
               (long long)peer->block_size(type), peer->type_size(type));
        return false;
    }
    return true;
}
