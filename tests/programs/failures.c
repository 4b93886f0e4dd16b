// SPDX-License-Identifier: MIT
// Calls that must fail fail as always, with the same errno, and are recorded as failed.
#include "say.h"
#include <stdint.h>

static void *block;

static void failed(const char *kind, void *p, size_t size, int wanted)
{
    need(p == NULL, kind);
    need(errno == wanted, kind);
    say("event kind=%s failed=1 size=%zu tid=%d", kind, size, gettid());
    errno = 0;
}

static void too_big(size_t huge)
{
    failed("malloc", malloc(huge), huge, ENOMEM);
    failed("calloc", calloc(1, huge), huge, ENOMEM);
    failed("realloc", realloc(block, huge), huge, ENOMEM);
    failed("realloc", realloc(NULL, huge), huge, ENOMEM);
    failed("reallocarray", reallocarray(block, 1, huge), huge, ENOMEM);
    failed("memalign", memalign(64, huge), huge, ENOMEM);
    failed("aligned_alloc", aligned_alloc(64, huge), huge, ENOMEM);
    failed("valloc", valloc(huge), huge, ENOMEM);
    failed("pvalloc", pvalloc(huge), huge, ENOMEM);
    void *p = &block;
    need(posix_memalign(&p, 64, huge) == ENOMEM && p == &block, "posix_memalign ENOMEM");
    say("event kind=posix_memalign failed=1 size=%zu tid=%d", huge, gettid());
    errno = 0;
}

int main(void)
{
    block = say_got("malloc", malloc(hidden(100)), 100);
    too_big(hidden(PTRDIFF_MAX));
    too_big(hidden(SIZE_MAX - 4096));
    too_big(hidden((size_t)1 << 46));
    // A product that overflows: the size on record is the largest there is.
    need(calloc(hidden(SIZE_MAX / 2), 3) == NULL && errno == ENOMEM, "calloc overflow");
    say("event kind=calloc failed=1 tid=%d", gettid());
    need(reallocarray(block, hidden(SIZE_MAX / 2), 3) == NULL && errno == ENOMEM, "overflow");
    say("event kind=reallocarray failed=1 tid=%d", gettid());
    void *p = NULL;
    need(posix_memalign(&p, hidden(24), 10) == EINVAL && !p, "posix_memalign alignment");
    say("event kind=posix_memalign failed=1 size=10 tid=%d", gettid());
    need(posix_memalign(&p, hidden(2), 10) == EINVAL && !p, "posix_memalign alignment");
    say("event kind=posix_memalign failed=1 size=10 tid=%d", gettid());
    failed("aligned_alloc", aligned_alloc(hidden((SIZE_MAX >> 1) + 2), 10), 10, EINVAL);
    say_free(block);
    return 0;
}
