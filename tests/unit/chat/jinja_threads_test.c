/*
 * jinja_threads_test.c - many threads render one template at once. A program of its own, since
 * ThreadSanitizer and Criterion do not go together.
 */
#include "jinja.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 200 };

static const char template[] =
    "{% macro m(a, b='-') %}{{ a ~ b }}{{ kwargs|length }}{% endmacro %}{% set ns = namespace(n=0) %}"
    "{% for x in messages if x.role %}{% set ns.n = ns.n + loop.index %}{{ m(x.content, b=who) }}{{ x|tojson }}"
    "{% for c in x.content recursive %}{{ c|upper }}{{ loop.last }}{% endfor %}{% endfor %}{{ ns.n }}"
    "{% filter upper %}{{ '%s' % who }}{% endfilter %}{% set x %}{{ who }}{% endset %}{{ x }}";

struct task {
    const struct jinja_template *t;
    pthread_barrier_t *start;
    int number, wrong;
};

/* Each thread has variables of its own, whose number must be in its text and no other. */
static void *render(void *argument) {
    struct task *task = argument;
    char who[32];
    snprintf(who, sizeof who, "<%d>", task->number);
    json_t *given = json_pack("{s:s, s:[{s:s,s:s},{s:s,s:s}]}", "who", who, "messages", "role", "user",
                              "content", "abc", "role", "tool", "content", "\xc3\xa9");
    struct jinja_input input = {.given = given};
    jinja_limits_default(&input.limits);
    pthread_barrier_wait(task->start);
    for (int i = 0; i < ROUNDS; i++) {
        struct jinja_output out;
        struct jinja_fault fault;
        bool done = jinja_render(task->t, &input, &out, &fault);
        if (!done) { printf("%s\n", fault.message); }
        task->wrong +=
            !done || !strstr(out.text, who) || strstr(out.text, task->number ? "<0>" : "<1>") != NULL;
        if (done) { jinja_output_free(&out); }
    }
    json_decref(given);
    return NULL;
}

int main(void) {
    pthread_barrier_t start;
    pthread_t threads[THREADS];
    struct task tasks[THREADS];
    struct jinja_fault fault;
    int wrong = 0;
    struct jinja_template *t = jinja_compile(template, sizeof template - 1, &fault);
    if (!t) {
        printf("%s\n", fault.message);
        return 1;
    }
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        tasks[i] = (struct task){.t = t, .start = &start, .number = i};
        if (pthread_create(&threads[i], NULL, render, &tasks[i]) != 0) { abort(); }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += tasks[i].wrong;
    }
    pthread_barrier_destroy(&start);
    jinja_free(t);
    printf("%d renderings, %d of them wrong\n", THREADS * ROUNDS, wrong);
    return wrong > 0;
}
