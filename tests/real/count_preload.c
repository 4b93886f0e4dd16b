// SPDX-License-Identifier: MIT
// An independent counter to preload: how often each entry point of the allocator is called. It
// forwards to glibc's internal names, so it needs no start-up and sees the very first call; its
// counters become a shared mapping of the file $COUNT_OUT, so it also sees the very last. It shares
// no code with memspy. For single-threaded programs.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
void __libc_free(void *block);

// In the order that test_counts.py reads.
enum {
    MALLOC,
    CALLOC,
    REALLOC,
    REALLOCARRAY,
    MEMALIGN,
    ALIGNED,
    POSIX,
    VALLOC,
    PVALLOC,
    FREE,
    NONE
};

static uint64_t count[512] __attribute__((aligned(4096)));

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("COUNT_OUT");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd < 0 || write(fd, count, sizeof count) != sizeof count ||
            mmap(count, sizeof count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
                    count)
        abort();
    close(fd);
}

void *malloc(size_t size)
{
    count[MALLOC]++;
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count[CALLOC]++;
    return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
    count[REALLOC]++;
    return __libc_realloc(block, size);
}

void *reallocarray(void *block, size_t n, size_t size)
{
    size_t all;
    count[REALLOCARRAY]++;
    if (__builtin_mul_overflow(n, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(block, all);
}

void *memalign(size_t align, size_t size)
{
    count[MEMALIGN]++;
    return __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    count[ALIGNED]++;
    return __libc_memalign(align, size);
}

int posix_memalign(void **block, size_t align, size_t size)
{
    count[POSIX]++;
    if (align % sizeof(void *) || align == 0 || (align & (align - 1)))
        return EINVAL;
    int saved = errno;
    void *p = __libc_memalign(align, size);
    errno = saved;
    if (!p)
        return ENOMEM;
    *block = p;
    return 0;
}

void *valloc(size_t size)
{
    count[VALLOC]++;
    return __libc_valloc(size);
}

void *pvalloc(size_t size)
{
    count[PVALLOC]++;
    return __libc_pvalloc(size);
}

void free(void *block)
{
    count[block ? FREE : NONE]++;
    __libc_free(block);
}
