// SPDX-License-Identifier: MIT
// The program's own mmap, munmap, mremap, sbrk, brk and madvise, and mallocs around a break that
// the program itself moved: that growth is not malloc's.
#include "say.h"
#include <sys/mman.h>

#define PAGE ((size_t)4096)

static void mappings(size_t n)
{
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("event kind=mmap ptr=%p size=%zu tid=%d", (void *)p, n, gettid());
    p[0] = 1;
    need(madvise(p, n, MADV_DONTNEED) == 0, "madvise");
    say("event kind=madvise ptr=%p size=%zu tid=%d", (void *)p, n, gettid());
    char *q = mremap(p, n, 2 * n, MREMAP_MAYMOVE);
    say("event kind=mremap ptr=%p old=%p size=%zu usable=%zu tid=%d", (void *)q, (void *)p, 2 * n,
            n, gettid());
    need(munmap(q, 2 * n) == 0, "munmap");
    say("event kind=munmap ptr=%p size=%zu tid=%d", (void *)q, 2 * n, gettid());
    need(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, "mmap of 0");
    say("event kind=mmap failed=1 size=0 tid=%d", gettid());
}

int main(void)
{
    for (size_t n = PAGE; n < PAGE << 10; n *= 3)
        mappings(n / PAGE * PAGE);
    char *old = sbrk(1 << 20);
    need(old != (void *)-1, "sbrk");
    say("event kind=sbrk tid=%d", gettid());
    say_free(say_got("malloc", malloc(100), 100));
    say("event kind=malloc size=32 path=tcache|arena tid=%d", gettid());
    void *p = malloc(32); // the growth above was not this call's
    char *top = sbrk(0);
    say("event kind=sbrk tid=%d", gettid());
    need(brk(top) == 0, "brk");
    say("event kind=brk tid=%d", gettid());
    say_free(p);
    return 0;
}
