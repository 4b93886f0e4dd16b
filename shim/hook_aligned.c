// SPDX-License-Identifier: MIT
// The allocation functions that take an alignment; see hook_alloc.c.
#define _GNU_SOURCE
#include "hook_alloc.h"

#include <malloc.h>
#include <stdlib.h>

// The thread cache may serve these from further down its bin than the head (glibc 2.38 to 2.40):
// the bin's count tells.
struct aligned_call {
    struct ms_call call;
    struct ms_event e;
    const char *cache;
    uint64_t bin;
    uint16_t count;
};

static void aligned_before(struct aligned_call *a, uint8_t kind, size_t align, size_t size)
{
    a->e = (struct ms_event){.kind = kind, .size = size};
    a->e.align_log2 = (uint8_t)(align != 0 ? __builtin_ctzll(align) : 0);
    a->cache = ms_path_cache();
    a->bin = ms_path_bin(size);
    a->count = a->cache != NULL && a->bin < MS_BINS ? ms_path_count(a->cache, a->bin) : 0;
    ms_spy_before(&a->call, false);
}

// What is over of a block that was made larger for the alignment's sake is freed within the call,
// and that may move the break down or give pages of a thread heap back: then the call touched the
// kernel, though what it returns came from the arena.
static uint8_t judge_aligned(const struct aligned_call *a, const void *block)
{
    uint8_t path = ms_hook_judge(&a->call, block);
    if (!ms_path_claim_trim(block))
        return path;
    if (path == MS_ALLOC_ARENA)
        path = ms_path_size_word(block) & MS_CHUNK_NON_MAIN ? MS_ALLOC_HEAP : MS_ALLOC_BRK;
    return path | MS_ATTR_SHRANK;
}

static void aligned_after(struct aligned_call *a, void *block, uint64_t caller)
{
    bool hit = block != NULL && a->cache != NULL && a->bin < MS_BINS &&
               ms_path_count(a->cache, a->bin) == (uint16_t)(a->count - ms_path.count_step);
    a->e.caller = caller;
    a->e.ptr = (uint64_t)(uintptr_t)block;
    a->e.attr = MS_ATTR_FAILED;
    if (block != NULL) {
        a->e.attr = hit ? MS_ALLOC_TCACHE : judge_aligned(a, block);
        a->e.usable = ms_hook_usable(block);
    }
    ms_spy_record(&a->call, &a->e);
}

MS_EXPORT void *memalign(size_t align, size_t size)
{
    struct aligned_call a;
    if (!ms_spy_enter(&a.call))
        return ms_real_init() ? ms_real.memalign(align, size) : ms_hook_boot(size, align);
    aligned_before(&a, MS_KIND_MEMALIGN, align, size);
    void *block = ms_real.memalign(align, size);
    ms_spy_after(&a.call);
    aligned_after(&a, block, MS_CALLER);
    return block;
}

MS_EXPORT void *aligned_alloc(size_t align, size_t size)
{
    struct aligned_call a;
    if (!ms_spy_enter(&a.call))
        return ms_real_init() ? ms_real.aligned_alloc(align, size) : ms_hook_boot(size, align);
    aligned_before(&a, MS_KIND_ALIGNED_ALLOC, align, size);
    void *block = ms_real.aligned_alloc(align, size);
    ms_spy_after(&a.call);
    aligned_after(&a, block, MS_CALLER);
    return block;
}

static int boot_posix_memalign(void **result, size_t align, size_t size)
{
    if (align < sizeof(void *) || (align & (align - 1)) != 0)
        return EINVAL;
    void *block = ms_boot_alloc(size, align);
    if (block == NULL)
        return ENOMEM;
    *result = block;
    return 0;
}

MS_EXPORT int posix_memalign(void **result, size_t align, size_t size)
{
    struct aligned_call a;
    if (!ms_spy_enter(&a.call))
        return ms_real_init() ? ms_real.posix_memalign(result, align, size)
                              : boot_posix_memalign(result, align, size);
    aligned_before(&a, MS_KIND_POSIX_MEMALIGN, align, size);
    int failed = ms_real.posix_memalign(result, align, size);
    ms_spy_after(&a.call);
    aligned_after(&a, failed ? NULL : *result, MS_CALLER);
    return failed;
}

MS_EXPORT void *valloc(size_t size)
{
    struct aligned_call a;
    if (!ms_spy_enter(&a.call))
        return ms_real_init() ? ms_real.valloc(size) : ms_hook_boot(size, 4096);
    aligned_before(&a, MS_KIND_VALLOC, 0, size);
    void *block = ms_real.valloc(size);
    ms_spy_after(&a.call);
    aligned_after(&a, block, MS_CALLER);
    return block;
}

MS_EXPORT void *pvalloc(size_t size)
{
    struct aligned_call a;
    if (!ms_spy_enter(&a.call))
        return ms_real_init() ? ms_real.pvalloc(size) : ms_hook_boot(ms_align_up(size, 4096), 4096);
    aligned_before(&a, MS_KIND_PVALLOC, 0, size);
    void *block = ms_real.pvalloc(size);
    ms_spy_after(&a.call);
    aligned_after(&a, block, MS_CALLER);
    return block;
}
