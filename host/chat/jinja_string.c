/*
 * jinja_string.c - strings and the builder: UTF-8 with the number of its characters and an origin for each byte.
 * A string whose bytes all have one origin keeps that alone.
 */
#include "jinja_inside.h"

static bool all_ascii(const char *bytes, size_t size) {
    uint64_t seen = 0;
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        seen |= word;
    }
    for (; i < size; i++) { seen |= (unsigned char)bytes[i]; }
    return (seen & 0x8080808080808080u) == 0;
}

/* How many characters valid UTF-8 holds. */
static size_t count_characters(const char *bytes, size_t size) {
    if (all_ascii(bytes, size)) { return size; }
    size_t count = 0;
    for (size_t i = 0; i < size; i++) { count += ((unsigned char)bytes[i] & 0xC0) != 0x80; }
    return count;
}

struct jinja_string *jinja_string_new(struct jinja_run *run, size_t size, bool mixed) {
    size_t bytes;
    if (__builtin_add_overflow(sizeof(struct jinja_string) + 1, size, &bytes) ||
        __builtin_add_overflow(bytes, mixed ? size : 0, &bytes)) {
        bytes = SIZE_MAX;
    }
    struct jinja_string *s = jinja_alloc(run, bytes, 1);
    if (!s) { return NULL; }
    *s = (struct jinja_string){.size = size};
    s->bytes[size] = 0;
    if (mixed) {
        s->origin = JINJA_MIXED;
        s->origins = (const unsigned char *)s->bytes + size + 1;
    }
    return s;
}

jinja_value jinja_string_value(const struct jinja_string *string) {
    return (jinja_value){.type = JINJA_STRING, .string = string};
}

/* Valid stretches as they are, U+FFFD for each faulty one. */
static bool build_repaired(struct jinja_builder *b, const char *bytes, size_t size, uint8_t origin) {
    for (size_t at = 0, begin = 0; at < size;) {
        uint32_t code;
        at += jinja_decode(bytes + at, size - at, &code);
        if (code == UINT32_MAX) {
            if (!jinja_build(b, "\xEF\xBF\xBD", 3, origin)) { return false; }
            begin = at;
            continue;
        }
        while (at < size) {
            size_t length = jinja_decode(bytes + at, size - at, &code);
            if (code == UINT32_MAX) { break; }
            at += length;
        }
        if (!jinja_build(b, bytes + begin, at - begin, origin)) { return false; }
        begin = at;
    }
    return true;
}

bool jinja_string_make(struct jinja_run *run, const char *bytes, size_t size, uint8_t origin,
                       jinja_value *out) {
    if (!jinja_spend_bytes(run, size)) { return false; }
    bool valid = all_ascii(bytes, size);
    for (size_t at = 0; !valid && at < size;) {
        uint32_t code;
        at += jinja_decode(bytes + at, size - at, &code);
        if (code == UINT32_MAX) { break; }
        valid = at == size;
    }
    if (!valid && size) {
        struct jinja_builder b = {.run = run};
        return build_repaired(&b, bytes, size, origin) && jinja_built(&b, out);
    }
    struct jinja_string *s = jinja_string_new(run, size, false);
    if (!s) { return false; }
    if (size) { memcpy(s->bytes, bytes, size); }
    s->characters = count_characters(bytes, size);
    s->origin = origin;
    *out = jinja_string_value(s);
    return true;
}

bool jinja_literal(struct jinja_run *run, const char *text, jinja_value *out) {
    return jinja_string_make(run, text, strlen(text), JINJA_WRITTEN, out);
}

uint8_t jinja_origin_at(const struct jinja_string *s, size_t byte) {
    if (s->origin != JINJA_MIXED) { return s->origin; }
    return byte < s->size ? s->origins[byte] : JINJA_WRITTEN;
}

uint8_t jinja_origin_of(const struct jinja_string *s, size_t begin, size_t end) {
    if (s->origin != JINJA_MIXED) { return s->origin; }
    return memchr(s->origins + begin, JINJA_GIVEN, end - begin) ? JINJA_GIVEN : JINJA_WRITTEN;
}

/* Where the stretch of one origin that begins at `begin` ends. */
static size_t stretch_end(const struct jinja_string *s, size_t begin, size_t end) {
    if (s->origin != JINJA_MIXED) { return end; }
    size_t at = begin;
    while (at < end && s->origins[at] == s->origins[begin]) { at++; }
    return at;
}

bool jinja_substring(struct jinja_run *run, const struct jinja_string *s, size_t begin, size_t end,
                     jinja_value *out) {
    if (begin == 0 && end == s->size) {
        *out = jinja_string_value(s);
        return true;
    }
    size_t size = end - begin;
    bool mixed = stretch_end(s, begin, end) != end;
    struct jinja_string *part = jinja_string_new(run, size, mixed);
    if (!part) { return false; }
    memcpy(part->bytes, s->bytes + begin, size);
    if (mixed) {
        memcpy(part->bytes + size + 1, s->origins + begin, size);
    } else {
        part->origin = size ? jinja_origin_at(s, begin) : JINJA_WRITTEN;
    }
    part->characters = jinja_is_ascii(s) ? size : count_characters(part->bytes, size);
    part->markup = s->markup;
    *out = jinja_string_value(part);
    return jinja_spend_bytes(run, size);
}

bool jinja_markup(struct jinja_run *run, jinja_value text, bool markup, jinja_value *out) {
    const struct jinja_string *s = text.string;
    *out = text;
    if (s->markup == markup) { return true; }
    struct jinja_string *copy = jinja_string_new(run, s->size, s->origin == JINJA_MIXED);
    if (!copy) { return false; }
    memcpy(copy->bytes, s->bytes, s->size);
    if (s->origins) { memcpy(copy->bytes + s->size + 1, s->origins, s->size); }
    copy->origin = s->origin;
    copy->characters = s->characters;
    copy->markup = markup;
    *out = jinja_string_value(copy);
    return true;
}

bool jinja_byte_of(struct jinja_run *run, const struct jinja_string *s, size_t character, size_t *out) {
    if (jinja_is_ascii(s) || character >= s->characters) {
        *out = character >= s->characters ? s->size : character;
        return true;
    }
    size_t at;
    if (character <= s->characters / 2) {
        at = 0;
        for (size_t left = character; left; left--) {
            do { at++; } while (((unsigned char)s->bytes[at] & 0xC0) == 0x80);
        }
        *out = at;
        return jinja_spend_bytes(run, at);
    }
    at = s->size;
    for (size_t left = s->characters - character; left; left--) {
        do { at--; } while (((unsigned char)s->bytes[at] & 0xC0) == 0x80);
    }
    *out = at;
    return jinja_spend_bytes(run, s->size - at);
}

bool jinja_character_of(struct jinja_run *run, const struct jinja_string *s, size_t byte, size_t *out) {
    *out = jinja_is_ascii(s) ? byte : count_characters(s->bytes, byte);
    return jinja_is_ascii(s) || jinja_spend_bytes(run, byte);
}

bool jinja_string_is(const struct jinja_string *s, const char *text) {
    return s->size == strlen(text) && memcmp(s->bytes, text, s->size) == 0;
}

/* UTF-8 sorts as its code points do. */
int jinja_string_order(const struct jinja_string *a, const struct jinja_string *b) {
    int order = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);
    return order ? order : a->size < b->size ? -1 : a->size > b->size;
}

size_t jinja_string_find(const struct jinja_string *s, size_t begin, size_t end,
                         const struct jinja_string *part) {
    if (begin > end || part->size > end - begin) { return SIZE_MAX; }
    if (part->size == 0) { return begin; }
    const char *found = memmem(s->bytes + begin, end - begin, part->bytes, part->size);
    return found ? (size_t)(found - s->bytes) : SIZE_MAX;
}

static void copy_backwards(char *to, const char *from, size_t size) {
    for (size_t i = 0; i < size; i++) { to[i] = from[size - 1 - i]; }
}

/* The first place in the reversed text: linear whatever the texts are. */
bool jinja_string_find_last(struct jinja_run *run, const struct jinja_string *s, size_t begin, size_t end,
                            const struct jinja_string *part, size_t *out) {
    *out = SIZE_MAX;
    if (begin > end || part->size > end - begin) { return true; }
    *out = end;
    if (part->size == 0) { return true; }
    size_t size = end - begin, room = size + part->size;
    char *copy = jinja_alloc(run, room, 1);
    if (!copy || !jinja_spend_walk(run, room)) { return false; }
    copy_backwards(copy, s->bytes + begin, size);
    copy_backwards(copy + size, part->bytes, part->size);
    const char *found = memmem(copy, size, copy + size, part->size);
    *out = found ? end - part->size - (size_t)(found - copy) : SIZE_MAX;
    jinja_release(run, copy, room, 1);
    return true;
}

/* ---- the builder -------------------------------------------------------------------------------------- */

/* The bytes lie in a string that is not finished, so that jinja_built copies nothing. */
static bool grow(struct jinja_builder *b, size_t more) {
    size_t need, room = b->room ? b->room : 32;
    if (__builtin_add_overflow(b->size, more, &need) || need > SIZE_MAX / 4) {
        return jinja_fail(b->run, JINJA_LIMIT, "a string is too long");
    }
    while (room < need) { room *= 2; }
    struct jinja_string *s = jinja_string_new(b->run, room, false);
    unsigned char *origins = s && b->origins ? jinja_alloc(b->run, room, 1) : NULL;
    if (!s || (b->origins && !origins)) { return false; }
    if (b->size) { memcpy(s->bytes, b->bytes, b->size); }
    if (origins) {
        memcpy(origins, b->origins, b->size);
        jinja_release(b->run, b->origins, b->room, 1);
    }
    if (b->bytes) {
        jinja_release(b->run, b->bytes - offsetof(struct jinja_string, bytes), sizeof *s + 1 + b->room, 1);
    }
    b->bytes = s->bytes;
    b->origins = origins;
    b->room = room;
    return true;
}

static bool set_origin(struct jinja_builder *b, size_t size, uint8_t origin) {
    if (b->size == 0 && !b->origins) { b->origin = origin; }
    if (origin != b->origin && !b->origins) {
        b->origins = jinja_alloc(b->run, b->room, 1);
        if (!b->origins) { return false; }
        memset(b->origins, b->origin, b->size);
        b->origin = JINJA_MIXED;
    }
    if (b->origins) { memset(b->origins + b->size, origin, size); }
    return true;
}

bool jinja_build(struct jinja_builder *b, const char *bytes, size_t size, uint8_t origin) {
    if (size == 0) { return true; }
    if (!jinja_spend(b->run, (b->size + size) / 64 - b->size / 64)) {
        return false; /* small pieces share a step */
    }
    if (b->room - b->size < size && !grow(b, size)) { return false; }
    if (!set_origin(b, size, origin)) { return false; }
    memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
    return true;
}

bool jinja_build_from(struct jinja_builder *b, const struct jinja_string *s, size_t begin, size_t end) {
    while (begin < end) {
        size_t stop = stretch_end(s, begin, end);
        if (!jinja_build(b, s->bytes + begin, stop - begin, jinja_origin_at(s, begin))) { return false; }
        begin = stop;
    }
    return true;
}

bool jinja_build_string(struct jinja_builder *b, const struct jinja_string *s) {
    return jinja_build_from(b, s, 0, s->size);
}

bool jinja_build_literal(struct jinja_builder *b, const char *text) {
    return jinja_build(b, text, strlen(text), JINJA_WRITTEN);
}

bool jinja_build_code(struct jinja_builder *b, uint32_t code, uint8_t origin) {
    char bytes[4];
    return jinja_build(b, bytes, jinja_encode(code, bytes), origin);
}

bool jinja_build_reserve(struct jinja_builder *b, uint64_t more) {
    if (more > SIZE_MAX / 4) { return jinja_fail(b->run, JINJA_LIMIT, "a string is too long"); }
    return b->room - b->size >= more || grow(b, more);
}

bool jinja_build_repeat(struct jinja_builder *b, const struct jinja_string *s, uint64_t times) {
    uint64_t bytes;
    if (s->size == 0) { return true; }
    if (__builtin_mul_overflow(times, s->size, &bytes) || bytes > SIZE_MAX / 4) {
        return jinja_fail(b->run, JINJA_LIMIT, "a string is too long");
    }
    if (!jinja_build_reserve(b, bytes)) { return false; }
    for (uint64_t i = 0; i < times; i++) {
        if (!jinja_build_string(b, s)) { return false; }
    }
    return true;
}

bool jinja_build_spaces(struct jinja_builder *b, uint64_t count) {
    static const char spaces[] = "                                                                ";
    if (!jinja_build_reserve(b, count)) { return false; }
    for (size_t piece; count; count -= piece) {
        piece = count < sizeof spaces - 1 ? count : sizeof spaces - 1;
        if (!jinja_build(b, spaces, piece, JINJA_WRITTEN)) { return false; }
    }
    return true;
}

bool jinja_built(struct jinja_builder *b, jinja_value *out) {
    if (!b->bytes && !grow(b, 0)) { return false; }
    struct jinja_string *s = (struct jinja_string *)(b->bytes - offsetof(struct jinja_string, bytes));
    s->size = b->size;
    s->characters = count_characters(s->bytes, s->size);
    s->bytes[s->size] = 0;
    s->origins = b->origins;
    s->origin = b->origin;
    *out = jinja_string_value(s);
    *b = (struct jinja_builder){.run = b->run};
    return jinja_spend_bytes(b->run, s->size);
}
