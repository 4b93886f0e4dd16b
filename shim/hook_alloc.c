// SPDX-License-Identifier: MIT
// The allocation functions. Each hook is the real call, bracketed; the path is judged from what
// path.h can see before and after. errno is whatever the real call leaves. Context: any thread,
// any time, signal handlers included (the program's own risk, not made greater here).
#define _GNU_SOURCE
#include "kernel.h"
#include "real.h"
#include "spy.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

// C23's, which glibc has since 2.43.
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t align, size_t size);

static uint64_t usable_size(void *block)
{
    if (MS_LIKELY(ms_path.glibc))
        return ms_path_usable(ms_path_size_word(block));
    return ms_real.malloc_usable_size != NULL ? ms_real.malloc_usable_size(block) : 0;
}

// --- allocation --------------------------------------------------------------------------------

static __attribute__((noinline)) uint8_t judge_alloc(const struct ms_call *c, const void *block)
{
    enum ms_alloc_path path = ms_path_of_alloc(block);
    return (uint8_t)(path != MS_ALLOC_UNKNOWN ? path : ms_kernel_alloc_path(c->tls));
}

// Records an allocation; `hit` says that the thread cache served it. e->size and the like are set.
MS_INLINE void record_alloc(struct ms_call *c, struct ms_event *e, void *block, bool hit)
{
    e->ptr = (uint64_t)(uintptr_t)block;
    if (MS_LIKELY(hit)) {
        e->attr = MS_ALLOC_TCACHE;
        e->usable = ms_path_usable(ms_path_size_word(block));
    } else if (MS_LIKELY(block != NULL)) {
        e->attr = judge_alloc(c, block);
        e->usable = usable_size(block);
    } else {
        e->attr = MS_ATTR_FAILED;
    }
    ms_spy_record(c, e);
}

static void *boot_alloc(size_t size, size_t align)
{
    ms_boot_calls++;
    void *block = ms_boot_alloc(size, align);
    if (block == NULL)
        errno = ENOMEM;
    return block;
}

// Any call of malloc that is not on the hot path.
static __attribute__((noinline)) void *malloc_slow(size_t size, uint64_t caller)
{
    struct ms_call c;
    if (!ms_spy_enter(&c))
        return ms_real_init() ? ms_real.malloc(size) : boot_alloc(size, 0);
    void *head = ms_path_head(ms_path_cache(), ms_path_bin(size));
    ms_spy_before(&c, head != NULL);
    void *block = ms_real.malloc(size);
    ms_spy_after(&c);
    struct ms_event e = {.kind = MS_KIND_MALLOC, .size = size, .caller = caller};
    record_alloc(&c, &e, block, block == head && block != NULL);
    return block;
}

// A call that the hot path began and cannot end.
static __attribute__((noinline)) void *malloc_finish(
        struct ms_tls *t, uint8_t outer, size_t size, void *block, uint64_t caller, bool hit)
{
    struct ms_call c = {.tls = t, .outer = outer};
    struct ms_event e = {.kind = MS_KIND_MALLOC, .size = size, .caller = caller};
    record_alloc(&c, &e, block, hit);
    return block;
}

// Word 0 of a slot; the address must be below 2^48.
#define SLOT_WORD0(kind, path, block)                                                              \
    ((uint64_t)(kind) | (uint64_t)(path) << 8 | (uint64_t)(uintptr_t)(block) << 16)

MS_EXPORT void *malloc(size_t size)
{
    struct ms_tls *t = &ms_tls;
    if (MS_UNLIKELY(!ms_spy_attached(t)))
        return malloc_slow(size, CALLER);
    void *head = ms_path_head(ms_path_cache(), ms_path_bin(size));
    if (MS_UNLIKELY(head == NULL || !ms_spy_quick(t)))
        return malloc_slow(size, CALLER);
    uint8_t outer = t->place.state;
    ms_spy_go(t);
    void *block = ms_real.malloc(size);
    ms_spy_back(t);
    bool hit = block == head;
    if (MS_LIKELY(hit && (uintptr_t)block >> 48 == 0)) {
        uint64_t usable = (ms_path_size_word(block) & ~UINT64_C(7)) - 8;
        if (MS_LIKELY(ms_spy_record_quick(t, SLOT_WORD0(MS_KIND_MALLOC, MS_ALLOC_TCACHE, block),
                    size | (usable - size) << 48, CALLER)))
            return block;
    }
    return malloc_finish(t, outer, size, block, CALLER, hit);
}

// Whether calloc was seen to be served by the thread cache (glibc 2.41 on): until then its calls
// are not predicted to be cheap.
static bool calloc_uses_cache;

MS_EXPORT void *calloc(size_t count, size_t each)
{
    struct ms_call c;
    size_t size;
    if (__builtin_mul_overflow(count, each, &size))
        size = SIZE_MAX;
    if (MS_UNLIKELY(!ms_spy_enter(&c)))
        return ms_real_init() ? ms_real.calloc(count, each) : boot_alloc(size, 0);
    void *head = ms_path_head(ms_path_cache(), ms_path_bin(size));
    ms_spy_before(&c, head != NULL && calloc_uses_cache);
    void *block = ms_real.calloc(count, each);
    ms_spy_after(&c);
    struct ms_event e = {.kind = MS_KIND_CALLOC, .size = size, .caller = CALLER};
    bool hit = block == head && block != NULL;
    if (MS_UNLIKELY(hit && !calloc_uses_cache))
        calloc_uses_cache = true;
    record_alloc(&c, &e, block, hit);
    return block;
}

// --- realloc -----------------------------------------------------------------------------------

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
    old->usable = usable_size(block);
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
        e->usable = usable_size(block);
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
    return boot_alloc(size, 0); // block is NULL: any other would be the pool's
}

MS_EXPORT void *realloc(void *block, size_t size)
{
    struct ms_call c;
    if (MS_UNLIKELY(ms_boot_owns(block)))
        return realloc_out_of_pool(block, size);
    if (MS_UNLIKELY(!ms_spy_enter(&c)))
        return forward_realloc(block, size);
    struct ms_event e = {.kind = MS_KIND_REALLOC, .size = size, .caller = CALLER};
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
    struct ms_event e = {.kind = MS_KIND_REALLOCARRAY, .size = size, .caller = CALLER};
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

// --- aligned allocation ------------------------------------------------------------------------

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

static void aligned_after(struct aligned_call *a, void *block, uint64_t caller)
{
    bool hit = block != NULL && a->cache != NULL && a->bin < MS_BINS &&
               ms_path_count(a->cache, a->bin) == (uint16_t)(a->count - ms_path.count_step);
    a->e.caller = caller;
    record_alloc(&a->call, &a->e, block, hit);
}

MS_EXPORT void *memalign(size_t align, size_t size)
{
    struct aligned_call a;
    if (!ms_spy_enter(&a.call))
        return ms_real_init() ? ms_real.memalign(align, size) : boot_alloc(size, align);
    aligned_before(&a, MS_KIND_MEMALIGN, align, size);
    void *block = ms_real.memalign(align, size);
    ms_spy_after(&a.call);
    aligned_after(&a, block, CALLER);
    return block;
}

MS_EXPORT void *aligned_alloc(size_t align, size_t size)
{
    struct aligned_call a;
    if (!ms_spy_enter(&a.call))
        return ms_real_init() ? ms_real.aligned_alloc(align, size) : boot_alloc(size, align);
    aligned_before(&a, MS_KIND_ALIGNED_ALLOC, align, size);
    void *block = ms_real.aligned_alloc(align, size);
    ms_spy_after(&a.call);
    aligned_after(&a, block, CALLER);
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
    aligned_after(&a, failed ? NULL : *result, CALLER);
    return failed;
}

MS_EXPORT void *valloc(size_t size)
{
    struct aligned_call a;
    if (!ms_spy_enter(&a.call))
        return ms_real_init() ? ms_real.valloc(size) : boot_alloc(size, 4096);
    aligned_before(&a, MS_KIND_VALLOC, 0, size);
    void *block = ms_real.valloc(size);
    ms_spy_after(&a.call);
    aligned_after(&a, block, CALLER);
    return block;
}

MS_EXPORT void *pvalloc(size_t size)
{
    struct aligned_call a;
    if (!ms_spy_enter(&a.call))
        return ms_real_init() ? ms_real.pvalloc(size) : boot_alloc(ms_align_up(size, 4096), 4096);
    aligned_before(&a, MS_KIND_PVALLOC, 0, size);
    void *block = ms_real.pvalloc(size);
    ms_spy_after(&a.call);
    aligned_after(&a, block, CALLER);
    return block;
}

MS_EXPORT size_t malloc_usable_size(void *block)
{
    struct ms_call c;
    if (MS_UNLIKELY(ms_boot_owns(block)))
        return ms_boot_size(block);
    if (ms_spy_enter(&c))
        ms_spy_tally(&c, MS_TALLY_USABLE_SIZE);
    return ms_real_init() && ms_real.malloc_usable_size != NULL ? ms_real.malloc_usable_size(block)
                                                                : 0;
}

// --- free --------------------------------------------------------------------------------------

// The three free functions are one call with different names; this holds what differs not.
struct free_call {
    struct ms_call call;
    struct ms_event e;
    struct ms_path_free before;
    uint64_t bin;
    bool cheap;
};

MS_INLINE void free_before(struct free_call *f, void *block)
{
    f->e.ptr = (uint64_t)(uintptr_t)block;
    f->bin = MS_BINS;
    f->cheap = false;
    if (MS_LIKELY(ms_path.glibc)) {
        f->before.size_word = ms_path_size_word(block);
        f->bin = ms_path_chunk_bin(f->before.size_word & ~UINT64_C(7));
        f->cheap = !(f->before.size_word & MS_CHUNK_MMAPPED) &&
                   ms_path_has_room(ms_path_cache(), f->bin);
        f->e.usable = ms_path_usable(f->before.size_word);
        if (!f->cheap)
            ms_path_before_free(&f->before, block);
    } else {
        f->e.usable = usable_size(block);
    }
    ms_spy_before(&f->call, f->cheap);
}

// A free that the thread cache did not take; one that it was expected to take is not explained.
static __attribute__((noinline)) uint8_t judge_free(const struct free_call *f)
{
    enum ms_free_path path = f->cheap ? MS_FREE_UNKNOWN : ms_path_after_free(&f->before);
    return (uint8_t)(path != MS_FREE_UNKNOWN ? path : ms_kernel_free_path(f->call.tls));
}

MS_INLINE void free_after(struct free_call *f, void *block)
{
    ms_spy_after(&f->call);
    // Looked up again: the free may have made the thread's cache.
    const char *cache = ms_path_cache();
    if (MS_LIKELY(ms_path_head(cache, f->bin) == block)) {
        f->e.attr = MS_FREE_TCACHE;
        if (MS_UNLIKELY(!f->cheap && ms_path.count_step > 0) &&
                ms_path_count(cache, f->bin) > ms_path.count_limit)
            ms_path.count_limit = ms_path_count(cache, f->bin);
    } else {
        f->e.attr = judge_free(f);
    }
    ms_spy_record(&f->call, &f->e);
}

// Whether the free of `block` is to be recorded; the null pointer's is counted.
MS_INLINE bool free_enter(struct free_call *f, const void *block)
{
    if (MS_UNLIKELY(!ms_spy_enter(&f->call)))
        return false;
    if (MS_LIKELY(block != NULL))
        return true;
    ms_spy_tally(&f->call, MS_TALLY_FREE_NULL);
    return false;
}

// Any call of free that is not on the hot path.
static __attribute__((noinline)) void free_slow(void *block, uint64_t caller)
{
    struct free_call f;
    if (ms_boot_owns(block))
        return;
    if (!free_enter(&f, block)) {
        if (ms_real_init())
            ms_real.free(block);
        return;
    }
    f.e = (struct ms_event){.kind = MS_KIND_FREE, .caller = caller};
    free_before(&f, block);
    ms_real.free(block);
    free_after(&f, block);
}

// A call that the hot path began and cannot end; a free that the thread cache was expected to
// take and did not is not explained.
static __attribute__((noinline)) void free_finish(
        struct ms_tls *t, uint8_t outer, void *block, uint64_t usable, uint64_t caller, bool hit)
{
    struct ms_call c = {.tls = t, .outer = outer};
    struct ms_event e = {.kind = MS_KIND_FREE, .caller = caller, .usable = usable};
    e.ptr = (uint64_t)(uintptr_t)block;
    e.attr = (uint8_t)(hit ? MS_FREE_TCACHE : ms_kernel_free_path(t));
    ms_spy_record(&c, &e);
}

MS_EXPORT void free(void *block)
{
    struct ms_tls *t = &ms_tls;
    char *cache = ms_path_cache();
    if (MS_UNLIKELY(!ms_spy_attached(t) || block == NULL || cache == NULL))
        return free_slow(block, CALLER);
    uint64_t word = ms_path_size_word(block);
    uint64_t bin = ms_path_chunk_bin(word & ~UINT64_C(7));
    if (MS_UNLIKELY(ms_boot_owns(block) || (word & MS_CHUNK_MMAPPED) ||
                    (uintptr_t)block >> 48 != 0 || !ms_path_has_room(cache, bin) ||
                    !ms_spy_quick(t)))
        return free_slow(block, CALLER);
    uint64_t usable = (word & ~UINT64_C(7)) - 8;
    uint8_t outer = t->place.state;
    ms_spy_go(t);
    ms_real.free(block);
    ms_spy_back(t);
    bool hit = ms_path_head(cache, bin) == block;
    if (MS_UNLIKELY(!hit || !ms_spy_record_quick(t, SLOT_WORD0(MS_KIND_FREE, MS_FREE_TCACHE, block),
                                    usable << 48, CALLER)))
        free_finish(t, outer, block, usable, CALLER, hit);
}

static void real_free_sized(void *block, size_t size)
{
    if (ms_real.free_sized != NULL)
        ms_real.free_sized(block, size);
    else
        ms_real.free(block);
}

MS_EXPORT void free_sized(void *block, size_t size)
{
    struct free_call f;
    if (ms_boot_owns(block))
        return;
    if (!free_enter(&f, block)) {
        if (ms_real_init())
            real_free_sized(block, size);
        return;
    }
    f.e = (struct ms_event){.kind = MS_KIND_FREE_SIZED, .size = size, .caller = CALLER};
    free_before(&f, block);
    real_free_sized(block, size);
    free_after(&f, block);
}

static void real_free_aligned_sized(void *block, size_t align, size_t size)
{
    if (ms_real.free_aligned_sized != NULL)
        ms_real.free_aligned_sized(block, align, size);
    else
        ms_real.free(block);
}

MS_EXPORT void free_aligned_sized(void *block, size_t align, size_t size)
{
    struct free_call f;
    if (ms_boot_owns(block))
        return;
    if (!free_enter(&f, block)) {
        if (ms_real_init())
            real_free_aligned_sized(block, align, size);
        return;
    }
    f.e = (struct ms_event){.kind = MS_KIND_FREE_ALIGNED_SIZED,
            .size = size,
            .caller = CALLER,
            .align_log2 = (uint8_t)(align != 0 ? __builtin_ctzll(align) : 0)};
    free_before(&f, block);
    real_free_aligned_sized(block, align, size);
    free_after(&f, block);
}
