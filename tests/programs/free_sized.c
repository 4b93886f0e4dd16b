// SPDX-License-Identifier: MIT
// free_sized and free_aligned_sized, where libc has them (C23; glibc 2.43). Prints "absent" if not.
#include "say.h"
#include <dlfcn.h>

int main(void)
{
    void (*sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_NEXT, "free_sized");
    void (*aligned)(void *, size_t, size_t) =
            (void (*)(void *, size_t, size_t))dlsym(RTLD_NEXT, "free_aligned_sized");
    if (!sized || !aligned) {
        say("absent");
        return 0;
    }
    for (size_t n = 1; n < 200000; n *= 7) {
        void *p = say_got("malloc", malloc(n), n);
        say("event kind=free_sized ptr=%p size=%zu usable=%zu tid=%d", p, n, malloc_usable_size(p),
                gettid());
        sized(p, n);
        p = say_got("aligned_alloc", aligned_alloc(64, n * 64), n * 64);
        say("event kind=free_aligned_sized ptr=%p size=%zu tid=%d", p, n * 64, gettid());
        aligned(p, 64, n * 64);
    }
    return 0;
}
