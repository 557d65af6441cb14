/* The set of names of gguf_names.h: open addressing over SipHash-1-3. */
#include "gguf_names.h"

#include "tenon/abi.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tn_name_slot {
    uint64_t hash;
    uint64_t place; /* number + 1; 0: free */
};

static uint64_t rotate(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4]) {
    v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
    v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson and Bernstein, 2012). */
static uint64_t hash_of(const uint64_t seed[2], const char *text, uint64_t size) {
    uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575, seed[1] ^ 0x646f72616e646f6d, seed[0] ^ 0x6c7967656e657261,
                     seed[1] ^ 0x7465646279746573};
    for (uint64_t at = 0; at <= size; at += 8) {
        uint64_t word = 0, left = size - at;
        if (left >= 8) {
            memcpy(&word, text + at, 8);
        } else {
            memcpy(&word, text + at, left);
            word |= size << 56;
        }
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++) { sip_round(v); }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The slot of a name, or the free one where it belongs. */
static struct tn_name_slot *slot_of(const tn_names *names, uint64_t hash, const char *text, uint64_t size) {
    for (uint64_t i = hash;; i++) {
        struct tn_name_slot *slot = &names->slots[i & (names->slot_count - 1)];
        if (!slot->place) { return slot; }
        const char *name = names->at[slot->place - 1];
        if (slot->hash == hash && strncmp(name, text, size) == 0 && name[size] == 0) { return slot; }
    }
}

static int32_t grow_slots(tn_names *names) {
    uint64_t count = names->slot_count ? names->slot_count * 2 : 64;
    if (!names->slot_count && getentropy(names->seed, sizeof names->seed) != 0) { return TN_E_IO; }
    struct tn_name_slot *slots = calloc(count, sizeof *slots);
    if (!slots) { return TN_E_MEMORY; }
    for (uint64_t old = 0; old < names->slot_count; old++) {
        uint64_t i = names->slots[old].hash;
        while (slots[i & (count - 1)].place) { i++; }
        slots[i & (count - 1)] = names->slots[old];
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    return TN_OK;
}

static int32_t grow_names(tn_names *names) {
    uint64_t capacity = names->capacity ? names->capacity * 2 : 64;
    char **at = reallocarray(names->at, capacity, sizeof *at);
    if (!at) { return TN_E_MEMORY; }
    names->at = at;
    names->capacity = capacity;
    return TN_OK;
}

int32_t tn_names_add(tn_names *names, const char *text, uint64_t size) {
    if (names->count >= names->slot_count / 4 * 3) {
        int32_t code = grow_slots(names);
        if (code != TN_OK) { return code; }
    }
    if (names->count == names->capacity && grow_names(names) != TN_OK) { return TN_E_MEMORY; }
    uint64_t hash = hash_of(names->seed, text, size);
    struct tn_name_slot *slot = slot_of(names, hash, text, size);
    if (slot->place) { return TN_E_INPUT; }
    char *copy = strndup(text, size);
    if (!copy) { return TN_E_MEMORY; }
    names->at[names->count++] = copy;
    *slot = (struct tn_name_slot){hash, names->count};
    return TN_OK;
}

/* Nothing was added since, so no other name's way to its slot leads over this one. */
void tn_names_drop_last(tn_names *names) {
    char *name = names->at[--names->count];
    uint64_t size = strlen(name);
    slot_of(names, hash_of(names->seed, name, size), name, size)->place = 0;
    free(name);
}

int64_t tn_names_find(const tn_names *names, const char *text, uint64_t size) {
    if (!names->slot_count) { return -1; }
    return (int64_t)slot_of(names, hash_of(names->seed, text, size), text, size)->place - 1;
}

void tn_names_free(tn_names *names) {
    for (uint64_t i = 0; i < names->count; i++) { free(names->at[i]); }
    free(names->at);
    free(names->slots);
    *names = (tn_names){0};
}
