/* Decoding allocates nothing in libtenon: one token after another, from page to page within what is reserved.
 */
#include "session_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static unsigned long calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size) {
    calls++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    calls++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    calls++;
    return __real_realloc(old, size);
}

Test(session_steady, decoding_allocates_nothing) {
    tn_model *model = rig_model("llama", 0);
    tn_session *session = rig_session(model, 32, 1);
    tn_seq *seq = rig_seq(session);
    tn_error err = TN_ERROR_INIT;
    int32_t ids[200];
    float *out = malloc(tn_model_output_width(model) * sizeof *out);
    rig_ids(model, 1, ids, 200);
    rig_feed(seq, session, model, ids, 1, TN_WANT_NONE);
    cr_assert(calls > 0, "nothing is counted");
    unsigned long before = calls;
    for (int i = 1; i < 200; i++) { /* the first growth reserves 4 pages: 256 tokens */
        tn_feed feed = {seq, &ids[i], 1, TN_WANT_LAST, out, NULL};
        cr_assert_eq(tn_session_run(session, &feed, 1, &err), TN_OK, "%s", err.text);
    }
    unsigned long made = calls - before;
    cr_expect_eq(made, 0, "%lu allocations in 199 tokens", made);
    free(out);
    tn_session_destroy(session);
    tn_model_close(model);
}
