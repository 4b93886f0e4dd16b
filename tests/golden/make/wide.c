// SPDX-License-Identifier: MIT
// Golden trace `wide`: numbers that do not fit the common forms. Allocations that fail, with sizes
// up to the greatest there is; large blocks; the program's own mmap, mremap, madvise, brk and sbrk.
// With an argument it kills itself at the end: the same events in a live block.
#include "calls.h"
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *block;

static void fail(size_t huge)
{
    void *p = NULL;
    free(malloc(huge));
    free(calloc(1, huge));
    free(realloc(NULL, huge));
    if (realloc(block, huge) || reallocarray(block, 1, huge))
        abort();
    free(memalign(64, huge));
    free(aligned_alloc(64, huge));
    free(valloc(huge));
    free(pvalloc(huge));
    if (posix_memalign(&p, 64, huge) == 0)
        abort();
}

static void fail_otherwise(void)
{
    void *p = NULL;
    free(calloc(hidden(SIZE_MAX / 2), 3));
    if (reallocarray(block, hidden(SIZE_MAX / 2), 3))
        abort();
    if (posix_memalign(&p, hidden(24), 10) == 0)
        abort();
    free(aligned_alloc(hidden((SIZE_MAX >> 1) + 2), 10));
}

// Address space only: none of it is touched.
static void large(size_t n)
{
    char *p = malloc(n);
    p = realloc(p, 2 * n);
    free(p);
    free(memalign(1 << 16, n));
}

static void map(size_t n)
{
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    p[0] = 1;
    madvise(p, n, MADV_DONTNEED);
    p = mremap(p, n, 2 * n, MREMAP_MAYMOVE);
    munmap(p, 2 * n);
}

static void map_badly(void)
{
    mmap(NULL, hidden(0), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mmap(NULL, hidden((size_t)1 << 60), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap((void *)hidden(1), hidden(4096));
    madvise((void *)hidden(4096), hidden(4096), MADV_WILLNEED);
    madvise((void *)hidden((size_t)-4096), hidden(1 << 20), 9999);
    mremap((void *)hidden((size_t)-8192), hidden(4096), hidden(8192), MREMAP_MAYMOVE);
}

static void move_break(void)
{
    char *old = sbrk(1 << 20);
    free(malloc(hidden(100)));
    void *p = malloc(hidden(32));
    if (old == (char *)-1 || brk(sbrk(0)) != 0)
        abort();
    sbrk((intptr_t)hidden((size_t)1 << 50));
    brk((void *)hidden((size_t)1 << 50));
    free(p);
}

int main(int argc, char **argv)
{
    (void)argv;
    block = malloc(hidden(100));
    fail(hidden(PTRDIFF_MAX));
    fail(hidden(SIZE_MAX - 4096));
    fail(hidden(SIZE_MAX));
    fail(hidden((size_t)1 << 47));
    fail_otherwise();
    large(hidden((size_t)1 << 20));
    large(hidden(((size_t)1 << 32) - 1000));
    large(hidden((size_t)1 << 36));
    for (size_t n = 4096; n < 1 << 24; n *= 8)
        map(hidden(n));
    map_badly();
    move_break();
    malloc_trim(0);
    free(block);
    return argc > 1 ? raise(SIGKILL) : 0;
}
