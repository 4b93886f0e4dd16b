// SPDX-License-Identifier: MIT
// The least a preloaded library can do: malloc, calloc, realloc and free that only call the next
// ones. What it costs is the floor under every preloaded tool; it belongs to the bench alone.
//
// dlsym may call calloc before the real one is known: such blocks come from a small static pool and
// are never given back.

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);

static _Alignas(16) char pool[4096];
static size_t pool_used;

static void resolve(void)
{
    *(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&real_free = dlsym(RTLD_NEXT, "free");
    *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
}

__attribute__((constructor)) static void start(void)
{
    if (!real_malloc)
        resolve();
}

static int in_pool(const void *block)
{
    return (uintptr_t)block - (uintptr_t)pool < sizeof(pool);
}

static void *pool_take(size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > sizeof(pool) - pool_used)
        return NULL;
    void *block = pool + pool_used;
    pool_used += size;
    return block;
}

void *malloc(size_t size)
{
    if (__builtin_expect(!real_malloc, 0))
        resolve();
    return real_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    if (__builtin_expect(!real_calloc, 0)) // dlsym's own
        return pool_take(count * size);
    return real_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    if (__builtin_expect(!real_realloc, 0))
        resolve();
    return real_realloc(block, size);
}

void free(void *block)
{
    if (__builtin_expect(!real_free, 0) || in_pool(block))
        return;
    real_free(block);
}
