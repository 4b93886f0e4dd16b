// SPDX-License-Identifier: MIT
// Golden trace `basic`: every entry point that allocates or frees, with small, middle and large
// sizes, so that every path of one thread that does not need time to build up occurs.
#include "calls.h"
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

static void plain(size_t n)
{
    void *p = NULL;
    free(malloc(n));
    free(calloc(n, 3));
    free(memalign(64, n));
    free(aligned_alloc(128, n));
    free(valloc(n));
    free(pvalloc(n));
    if (posix_memalign(&p, 256, n) == 0)
        free(p);
}

static void moving(size_t n)
{
    void *p = realloc(NULL, n);
    p = realloc(p, 3 * n);
    void *wall = malloc(24);
    p = reallocarray(p, n, 5);
    p = realloc(p, n / 2 + 1);
    p = realloc(p, hidden(0));
    free(p);
    free(wall);
}

// What was freed last is what the allocator gives next; then more of a size than its cache holds.
static void cached(void)
{
    void *blocks[12];
    for (size_t i = 0; i < 12; i++)
        blocks[i] = malloc(hidden(40));
    for (size_t i = 0; i < 12; i++)
        free(blocks[i]);
    for (size_t i = 0; i < 12; i++)
        blocks[i] = malloc(hidden(33));
    for (size_t i = 12; i > 0; i--)
        free(blocks[i - 1]);
}

// The heap grows by several steps and is trimmed.
static void growing(void)
{
    static void *blocks[40];
    for (size_t i = 0; i < 40; i++)
        blocks[i] = malloc(hidden(20000));
    for (size_t i = 40; i > 0; i--)
        free(blocks[i - 1]);
    malloc_trim(0);
}

// C23; the C library may not have them yet.
static void sized(void)
{
    void (*one)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_NEXT, "free_sized");
    void (*two)(void *, size_t, size_t) =
            (void (*)(void *, size_t, size_t))dlsym(RTLD_NEXT, "free_aligned_sized");
    if (one)
        one(malloc(hidden(100)), 100);
    if (two)
        two(aligned_alloc(64, hidden(128)), 64, 128);
}

int main(void)
{
    static const size_t sizes[] = {1, 24, 25, 1000, 1033, 100000, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        plain(hidden(sizes[i]));
        moving(hidden(sizes[i]));
        free(NULL);
        free(malloc(hidden(0)));
    }
    cached();
    growing();
    sized();
    return 0;
}
