// SPDX-License-Identifier: MIT
// A seeded mix of every way to allocate, as the material of the comparisons.
// Usage: mix SEED THREADS OPERATIONS. Sizes are spread evenly over the orders of magnitude from
// 1 B to 64 MiB, the big ones rarer; nothing depends on time or on addresses.
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS 300

struct worker {
    pthread_t thread;
    uint64_t state;
    long operations;
    uint64_t bytes;
    void *slot[SLOTS];
};

// xorshift64*
static uint64_t draw(struct worker *w, uint64_t below)
{
    w->state ^= w->state >> 12;
    w->state ^= w->state << 25;
    w->state ^= w->state >> 27;
    return (w->state * 2685821657736338717u >> 11) % below;
}

static size_t draw_size(struct worker *w)
{
    uint64_t kind = draw(w, 1000);
    unsigned bits = (unsigned)(kind < 900 ? draw(w, 12) : kind < 990 ? draw(w, 18) : draw(w, 27));
    return (size_t)(1 + draw(w, (uint64_t)1 << bits));
}

static void *make(struct worker *w, size_t n)
{
    void *p = NULL;
    switch (draw(w, 12)) {
    case 0:
    case 1:
        return calloc(1, n < 1 << 20 ? n : 1 << 20);
    case 2:
        return memalign((size_t)16 << draw(w, 8), n);
    case 3:
        return posix_memalign(&p, (size_t)8 << draw(w, 8), n) ? NULL : p;
    case 4:
        return realloc(NULL, n);
    default:
        return malloc(n);
    }
}

// Grows a block step by step, as a vector does.
static void *chain(struct worker *w, void *p)
{
    size_t n = draw_size(w);
    for (uint64_t i = draw(w, 6); i > 0; i--) {
        n += n / 2 + 1;
        if (n > (size_t)64 << 20)
            n /= 1000;
        void *q = draw(w, 4) ? realloc(p, n) : reallocarray(p, n, 1);
        w->bytes += n;
        p = q ? q : p;
    }
    return p;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    for (long i = 0; i < w->operations; i++) {
        void **slot = &w->slot[draw(w, SLOTS)];
        size_t n = draw_size(w);
        if (*slot && draw(w, 8) == 0) {
            *slot = chain(w, *slot);
        } else {
            free(*slot);
            *slot = make(w, n);
            w->bytes += n;
        }
    }
    for (int i = 0; i < SLOTS; i++)
        free(w->slot[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker worker[64];
    uint64_t bytes = 0;
    int threads = argc > 3 ? atoi(argv[2]) : 0;
    if (threads < 1 || threads > 64)
        return 2;
    for (int i = 0; i < threads; i++) {
        worker[i].state = (uint64_t)atoll(argv[1]) * 2654435761u + (uint64_t)i + 1;
        worker[i].operations = atol(argv[3]);
        if (i > 0 && pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0)
            return 1;
    }
    work(&worker[0]);
    for (int i = 0; i < threads; i++) {
        if (i > 0)
            pthread_join(worker[i].thread, NULL);
        bytes += worker[i].bytes;
    }
    printf("%llu\n", (unsigned long long)bytes);
    return 0;
}
