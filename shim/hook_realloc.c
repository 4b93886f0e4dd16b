// SPDX-License-Identifier: MIT
// realloc and reallocarray. What the old block looked like has to be known before the call; see
// hook_alloc.c for the rest.
#define _GNU_SOURCE
#include "hook_alloc.h"

#include <malloc.h>
#include <stdlib.h>

// What has to be known of the old block before the call.
struct old_block {
    struct ms_path_free free; // also holds the size word
    void *block;
    uint64_t usable;
};

static void look_at_old(struct old_block *old, void *block)
{
    old->block = block;
    old->free.size_word = 0;
    old->usable = 0;
    if (block == NULL)
        return;
    if (ms_path.glibc)
        ms_path_before_free(&old->free, block);
    old->usable = ms_hook_usable(block);
}

// A realloc to size 0 that freed: path and bytes are those of a free.
static void record_freed(struct ms_call *c, struct ms_event *e, const struct old_block *old)
{
    char *cache = ms_path_cache();
    uint64_t bin = ms_path_chunk_bin(old->free.size_word & ~UINT64_C(7));
    enum ms_free_path path = ms_path_after_free(&old->free);
    if (ms_path_head(cache, bin) == old->block)
        path = MS_FREE_TCACHE;
    if (path == MS_FREE_UNKNOWN)
        path = ms_kernel_free_path(c->tls);
    e->attr = (uint8_t)(MS_ATTR_FREED | path);
    e->ptr = (uint64_t)(uintptr_t)old->block;
    e->usable = old->usable;
    ms_spy_record(c, e);
}

// The path of a realloc that returned a block. One that moved the break down, or gave pages of a
// thread heap back, touched the kernel as well: brk or heap, marked as having shrunk.
static uint8_t judge_realloc(
        const struct ms_call *c, const struct old_block *old, const void *block)
{
    const struct ms_path_old was = {old->block, old->free.size_word};
    enum ms_alloc_path path = ms_path_of_realloc(&was, block);
    if (path == MS_ALLOC_UNKNOWN)
        return (uint8_t)ms_kernel_alloc_path(c->tls);
    if (old->block == NULL || (was.size_word & MS_CHUNK_MMAPPED) ||
            ms_path_after_free(&old->free) != MS_FREE_TRIM)
        return (uint8_t)path;
    if (path == MS_ALLOC_ARENA)
        path = was.size_word & MS_CHUNK_NON_MAIN ? MS_ALLOC_HEAP : MS_ALLOC_BRK;
    return (uint8_t)(path | MS_ATTR_SHRANK);
}

static void record_realloc(
        struct ms_call *c, struct ms_event *e, const struct old_block *old, void *block, bool hit)
{
    if (block == NULL && e->size == 0 && old->block != NULL) {
        record_freed(c, e, old);
        return;
    }
    e->aux = (uint64_t)(uintptr_t)old->block;
    e->ptr = (uint64_t)(uintptr_t)block;
    e->attr = MS_ATTR_FAILED;
    if (block != NULL) {
        e->attr = hit ? MS_ALLOC_TCACHE : judge_realloc(c, old, block);
        e->usable = ms_hook_usable(block);
    }
    ms_spy_record(c, e);
}

static void *record_real_realloc(struct ms_call *c, struct ms_event *e, void *block, size_t size)
{
    struct old_block old;
    void *head = ms_path_head(ms_path_cache(), ms_path_bin(size));
    look_at_old(&old, block);
    ms_spy_before(c, false);
    void *moved = ms_real.realloc(block, size);
    ms_spy_after(c);
    record_realloc(c, e, &old, moved, moved == head && moved != NULL && moved != block);
    return moved;
}

// Out of the bootstrap pool, whose blocks cannot grow.
static void *realloc_out_of_pool(void *block, size_t size)
{
    void *moved = malloc(size);
    size_t old = ms_boot_size(block);
    if (moved != NULL)
        memcpy(moved, block, old < size ? old : size);
    return moved;
}

static void *forward_realloc(void *block, size_t size)
{
    if (ms_real_init())
        return ms_real.realloc(block, size);
    return ms_hook_boot(size, 0); // block is NULL: any other would be the pool's
}

MS_EXPORT void *realloc(void *block, size_t size)
{
    struct ms_call c;
    if (MS_UNLIKELY(ms_boot_owns(block)))
        return realloc_out_of_pool(block, size);
    if (MS_UNLIKELY(!ms_spy_enter(&c)))
        return forward_realloc(block, size);
    struct ms_event e = {.kind = MS_KIND_REALLOC, .size = size, .caller = MS_CALLER};
    return record_real_realloc(&c, &e, block, size);
}

// Every libc's is a checked multiplication and its realloc, which would come in here again.
MS_EXPORT void *reallocarray(void *block, size_t count, size_t each)
{
    struct ms_call c;
    size_t size;
    bool overflow = __builtin_mul_overflow(count, each, &size);
    if (MS_UNLIKELY(!overflow && ms_boot_owns(block)))
        return realloc_out_of_pool(block, size);
    bool recorded = ms_spy_enter(&c);
    struct ms_event e = {.kind = MS_KIND_REALLOCARRAY, .size = size, .caller = MS_CALLER};
    if (!overflow)
        return recorded ? record_real_realloc(&c, &e, block, size) : forward_realloc(block, size);
    if (recorded) {
        const struct old_block old = {.block = block};
        e.size = SIZE_MAX;
        ms_spy_before(&c, true);
        ms_spy_after(&c);
        record_realloc(&c, &e, &old, NULL, false);
    }
    errno = ENOMEM;
    return NULL;
}
