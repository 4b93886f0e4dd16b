// SPDX-License-Identifier: MIT
// A call that succeeds leaves errno alone, whatever it was and whichever path it takes.
#include "say.h"
#include <malloc.h>
#include <string.h>

static int calls;

static void *kept(void *p, const char *what)
{
    need(errno == 4242, what);
    calls++;
    errno = 4242;
    return p;
}

static void dropped(void *p)
{
    free(p);
    kept(NULL, "free");
}

static void round_of(size_t n)
{
    void *p = NULL;
    dropped(kept(malloc(n), "malloc"));
    dropped(kept(calloc(n, 1), "calloc"));
    p = kept(realloc(NULL, n), "realloc(NULL)");
    p = kept(realloc(p, 2 * n), "realloc");
    dropped(kept(reallocarray(p, n, 3), "reallocarray"));
    dropped(kept(memalign(64, n), "memalign"));
    dropped(kept(aligned_alloc(64, n), "aligned_alloc"));
    dropped(kept(valloc(n), "valloc"));
    dropped(kept(pvalloc(n), "pvalloc"));
    need(posix_memalign(&p, 64, n) == 0, "posix_memalign");
    dropped(kept(p, "posix_memalign"));
    dropped(NULL);
}

int main(void)
{
    errno = 4242;
    for (int i = 0; i < 3000; i++) // enough for several seals
        for (size_t n = 1; n < (i % 100 ? 5000u : 5000000u); n *= 9)
            round_of(hidden(n));
    say("note calls=%d", calls);
    return calls > 100000 ? 0 : 1;
}
