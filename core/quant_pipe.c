/*
 * quant_pipe.c - converts all tensors of a plan on all workers, and writes them.
 *
 * Workers take the next piece of the source, convert it into the next slot of a ring, and go on: they never wait
 * for each other at the end of a tensor. Slots are written in their order by whichever worker finds the next one
 * filled, one worker at a time, while the others convert. A worker waits only where the ring is full, which is
 * where writing is slower than converting. What is only copied is written from where it is mapped.
 */
#include "quant_piece.h"
#include "registry.h"

#include <pthread.h>
#include <stdlib.h>

/* Slots for each worker: how far one may be ahead of a piece that takes long. */
enum { SLOTS = 4 };

typedef struct slot {
    tn_piece piece;
    void *data;
    int filled;
} slot;

typedef struct pipe {
    const tn_quantize_plan *plan;
    tn_gguf_writer *const *writers;
    const tn_quantize_progress *progress;
    tn_piece_room *rooms; /* one a worker */
    slot *slots;
    uint64_t slot_count;
    pthread_mutex_t lock; /* for all that follows */
    pthread_cond_t moved; /* a slot was written, or something failed */
    tn_piece_cursor next;
    uint64_t taken, written; /* pieces */
    int writing, ended;      /* ended: no piece is left */
    uint64_t done, total;    /* bytes of the source */
    int32_t code;            /* of the failure that comes first in the source */
    uint64_t failed;         /* its piece */
    tn_error error;
} pipe;

/* ---- with the lock held -------------------------------------------------------------------------------- */

/* Pieces before a failed one have all been taken, so which failure comes first does not depend on chance. */
static void fail_at(pipe *p, uint64_t number, const tn_error *why) {
    if (p->code == TN_OK || number < p->failed) {
        p->code = why->code;
        p->failed = number;
        p->error = *why;
    }
    pthread_cond_broadcast(&p->moved);
}

/* Lets the lock go while it writes. */
static void write_slot(pipe *p, slot *s) {
    tn_error why = TN_ERROR_INIT;
    uint64_t number = p->written, done = p->done + s->piece.from_size;
    const tn_quantize_tensor *tensor = &p->plan->tensors[s->piece.tensor];
    int copied = tensor->what == TN_QUANTIZE_LEFT;
    p->writing = 1;
    pthread_mutex_unlock(&p->lock);
    int32_t code = tn_gguf_writer_write(p->writers[tensor->shard], copied ? s->piece.from : s->data,
                                        s->piece.size, &why);
    if (copied) { tn_piece_release(&s->piece); }
    if (code == TN_OK && p->progress && p->progress->step &&
        p->progress->step(p->progress->context, done, p->total)) {
        tn_fail(&why, TN_E_CANCELLED, "cancelled");
    }
    pthread_mutex_lock(&p->lock);
    p->writing = 0;
    p->done = done;
    s->filled = 0;
    p->written++;
    if (why.code != TN_OK) { fail_at(p, number, &why); }
    pthread_cond_broadcast(&p->moved);
}

static void write_filled(pipe *p) {
    while (!p->writing && p->code == TN_OK) {
        slot *s = &p->slots[p->written % p->slot_count];
        if (!s->filled) { return; }
        write_slot(p, s);
    }
}

/* The next piece and its slot; NULL: there is none left, or something failed. */
static slot *take_piece(pipe *p, uint64_t *number) {
    while (p->code == TN_OK && p->taken - p->written == p->slot_count) {
        pthread_cond_wait(&p->moved, &p->lock);
    }
    slot *s = &p->slots[p->taken % p->slot_count];
    if (p->code != TN_OK || p->ended) { return NULL; }
    if (!tn_piece_next(p->plan, &p->next, &s->piece)) {
        p->ended = 1;
        return NULL;
    }
    *number = p->taken++;
    return s;
}

/* ---- workers ------------------------------------------------------------------------------------------- */

static int32_t fill(const pipe *p, slot *s, uint32_t worker, tn_error *err) {
    TN_TRY(tn_piece_fetch(p->plan, &s->piece, err));
    if (p->plan->tensors[s->piece.tensor].what == TN_QUANTIZE_LEFT) { return TN_OK; }
    int32_t code = tn_piece_convert(p->plan, &s->piece, &p->rooms[worker], s->data, err);
    tn_piece_release(&s->piece);
    return code;
}

static void work(void *arg, uint32_t worker, tn_gang *gang) {
    pipe *p = arg;
    uint64_t number;
    (void)gang;
    pthread_mutex_lock(&p->lock);
    for (slot *s; (s = take_piece(p, &number));) {
        tn_error why = TN_ERROR_INIT;
        pthread_mutex_unlock(&p->lock);
        fill(p, s, worker, &why);
        pthread_mutex_lock(&p->lock);
        if (why.code != TN_OK) {
            fail_at(p, number, &why);
        } else {
            s->filled = 1;
        }
        write_filled(p);
    }
    pthread_mutex_unlock(&p->lock);
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

static void free_buffers(pipe *p, uint32_t workers) {
    for (uint32_t i = 0; p->rooms && i < workers; i++) {
        free(p->rooms[i].numbers);
        free(p->rooms[i].importance);
    }
    for (uint64_t i = 0; p->slots && i < p->slot_count; i++) { free(p->slots[i].data); }
    free(p->rooms);
    free(p->slots);
}

static int32_t make_buffers(pipe *p, uint32_t workers, tn_error *err) {
    tn_piece_needs needs;
    int made = 1;
    tn_piece_measure(p->plan, &needs);
    p->slot_count = (uint64_t)SLOTS * workers;
    p->rooms = calloc(workers, sizeof *p->rooms);
    p->slots = calloc(p->slot_count, sizeof *p->slots);
    for (uint32_t i = 0; p->rooms && i < workers; i++) {
        p->rooms[i].numbers = malloc(needs.numbers * sizeof(float));
        p->rooms[i].importance = malloc(needs.importance * sizeof(float));
        made &= p->rooms[i].numbers && p->rooms[i].importance;
    }
    for (uint64_t i = 0; p->slots && i < p->slot_count; i++) {
        p->slots[i].data = malloc(needs.bytes);
        made &= p->slots[i].data != NULL;
    }
    if (p->rooms && p->slots && made) { return TN_OK; }
    free_buffers(p, workers);
    TN_FAIL(err, TN_E_MEMORY, "no memory for the buffers of %u workers", workers);
}

uint64_t tn_quantize_memory(const tn_quantize_plan *plan) {
    tn_piece_needs needs;
    tn_piece_measure(plan, &needs);
    uint64_t worker = needs.numbers * sizeof(float) + needs.importance * sizeof(float) + SLOTS * needs.bytes;
    return worker * tn_engine_threads(plan->engine);
}

int32_t tn_plan_run(const tn_quantize_plan *plan, tn_gguf_writer *const *writers,
                    const tn_quantize_progress *progress, tn_error *err) {
    pipe p = {.plan = plan, .writers = writers, .progress = progress};
    const tn_host *host = tn_engine_host(plan->engine);
    uint32_t workers = tn_engine_threads(plan->engine);
    for (uint64_t i = 0; i < plan->count; i++) {
        if (plan->tensors[i].what != TN_QUANTIZE_FOLDED) { p.total += plan->tensors[i].old_size; }
    }
    TN_TRY(make_buffers(&p, workers, err));
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.moved, NULL);
    host->gang(host, work, &p);
    pthread_cond_destroy(&p.moved);
    pthread_mutex_destroy(&p.lock);
    free_buffers(&p, workers);
    return p.code == TN_OK ? TN_OK : tn_fail(err, p.code, "%s", p.error.text);
}
