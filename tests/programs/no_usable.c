// SPDX-License-Identifier: MIT
// An allocator to preload that has no malloc_usable_size. What lies before a block cannot be read.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096
#define SLOT ((size_t)1 << 18)

static void *take(size_t size)
{
    char *slot = mmap(
            NULL, SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (size > SLOT - PAGE || slot == MAP_FAILED) {
        errno = ENOMEM;
        return NULL;
    }
    mprotect(slot, PAGE, PROT_NONE);
    return slot + PAGE;
}

void *malloc(size_t size)
{
    return take(size);
}

void free(void *block)
{
    if (block)
        munmap((char *)block - PAGE, SLOT);
}

void *calloc(size_t n, size_t size)
{
    return take(n * size);
}

void *realloc(void *block, size_t size)
{
    void *made = take(size);
    if (made && block) {
        memcpy(made, block, size);
        free(block);
    }
    return made;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return alignment <= PAGE ? take(size) : NULL;
}

void *memalign(size_t alignment, size_t size)
{
    return alignment <= PAGE ? take(size) : NULL;
}

int posix_memalign(void **result, size_t alignment, size_t size)
{
    *result = alignment <= PAGE ? take(size) : NULL;
    return *result ? 0 : ENOMEM;
}
