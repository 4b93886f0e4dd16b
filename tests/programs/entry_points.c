// SPDX-License-Identifier: MIT
// Every entry point of the family, each five times with known sizes; all blocks are freed.
#include "say.h"

#define TIMES 5
static const size_t sizes[TIMES] = {1, 24, 1000, 100000, 1 << 20};

// `old` is a number: the block it was may be gone.
static void *resized(const char *kind, size_t old, size_t size, void *p)
{
    say("event kind=%s ptr=%p old=%#zx size=%zu usable=%zu tid=%d", kind, p, old, size,
            malloc_usable_size(p), gettid());
    return p;
}

static void plain(size_t n)
{
    say_free(say_got("malloc", malloc(n), n));
    say_free(say_got("calloc", calloc(n, 3), 3 * n));
    say_free(say_got("memalign", memalign(64, n), n));
    say_free(say_got("aligned_alloc", aligned_alloc(128, n), n));
    say_free(say_got("valloc", valloc(n), n));
    say_free(say_got("pvalloc", pvalloc(n), n));
    void *p = NULL;
    need(posix_memalign(&p, 256, n) == 0 && (size_t)p % 256 == 0, "posix_memalign");
    say_free(say_got("posix_memalign", p, n));
}

static void moving(size_t n)
{
    void *p = resized("realloc", 0, n, realloc(NULL, n));
    size_t old = (size_t)p;
    p = resized("realloc", old, 3 * n, realloc(p, 3 * n));
    old = (size_t)p;
    p = resized("reallocarray", old, 5 * n, reallocarray(p, n, 5));
    old = (size_t)p;
    p = resized("realloc", old, n / 2 + 1, realloc(p, n / 2 + 1));
    say("event kind=realloc ptr=%p size=0 freed=1 tid=%d", p, gettid());
    need(realloc(p, 0) == NULL, "realloc to 0 frees");
}

int main(void)
{
    for (int i = 0; i < TIMES; i++) {
        plain(hidden(sizes[i]));
        moving(hidden(sizes[i]));
        free(NULL);
        say_free(say_got("malloc", malloc(0), 0));
        say_free(say_got("calloc", calloc(0, 0), 0));
    }
    return 0;
}
