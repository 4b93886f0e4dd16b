// SPDX-License-Identifier: MIT
// malloc, calloc, free and their like. Each hook is the real call, bracketed; the path is judged
// from what path.h can see before and after. malloc and free have a hot path, for calls that are
// predicted to be thread-cache hits and need no time. errno is whatever the real call leaves.
// Context: any thread, any time, signal handlers included (the program's own risk, not made
// greater here).
#define _GNU_SOURCE
#include "attach.h"
#include "hook_alloc.h"

#include <malloc.h>
#include <stdlib.h>

// C23's, which glibc has since 2.43.
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t align, size_t size);

// Any call of malloc that is not on the hot path.
static __attribute__((noinline)) void *malloc_slow(size_t size, uint64_t caller)
{
    struct ms_call c;
    if (!ms_spy_enter(&c))
        return ms_real_init() ? ms_real.malloc(size) : ms_hook_boot(size, 0);
    void *head = ms_path_head(ms_path_cache(), ms_path_bin(size));
    ms_spy_before(&c, head != NULL);
    void *block = ms_real.malloc(size);
    ms_spy_after(&c);
    struct ms_event e = {.kind = MS_KIND_MALLOC, .size = size, .caller = caller};
    ms_hook_record(&c, &e, block, block == head && block != NULL);
    return block;
}

// A call that the hot path began and cannot end.
static __attribute__((noinline)) void *malloc_finish(
        struct ms_tls *t, uint8_t outer, size_t size, void *block, uint64_t caller, bool hit)
{
    struct ms_call c = {.tls = t, .outer = outer};
    struct ms_event e = {.kind = MS_KIND_MALLOC, .size = size, .caller = caller};
    ms_hook_record(&c, &e, block, hit);
    return block;
}

// Word 0 of a slot; the address must be below 2^48.
#define SLOT_WORD0(kind, path, block)                                                              \
    ((uint64_t)(kind) | (uint64_t)(path) << 8 | (uint64_t)(uintptr_t)(block) << 16)

MS_EXPORT void *malloc(size_t size)
{
    struct ms_tls *t = &ms_tls;
    if (MS_UNLIKELY(!ms_thread_attached(t)))
        return malloc_slow(size, MS_CALLER);
    void *head = ms_path_head(ms_path_cache(), ms_path_bin(size));
    if (MS_UNLIKELY(head == NULL || !ms_spy_quick(t)))
        return malloc_slow(size, MS_CALLER);
    uint8_t outer = t->place.state;
    ms_spy_go(t);
    void *block = ms_real.malloc(size);
    ms_spy_back(t);
    bool hit = block == head;
    if (MS_LIKELY(hit && !ms_sys_is_wide((uintptr_t)block))) {
        uint64_t usable = (ms_path_size_word(block) & ~UINT64_C(7)) - 8;
        if (MS_LIKELY(ms_spy_record_quick(t, SLOT_WORD0(MS_KIND_MALLOC, MS_ALLOC_TCACHE, block),
                    size | (usable - size) << 48, MS_CALLER)))
            return block;
    }
    return malloc_finish(t, outer, size, block, MS_CALLER, hit);
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
        return ms_real_init() ? ms_real.calloc(count, each) : ms_hook_boot(size, 0);
    void *head = ms_path_head(ms_path_cache(), ms_path_bin(size));
    ms_spy_before(&c, head != NULL && calloc_uses_cache);
    void *block = ms_real.calloc(count, each);
    ms_spy_after(&c);
    struct ms_event e = {.kind = MS_KIND_CALLOC, .size = size, .caller = MS_CALLER};
    bool hit = block == head && block != NULL;
    if (MS_UNLIKELY(hit && !calloc_uses_cache))
        calloc_uses_cache = true;
    ms_hook_record(&c, &e, block, hit);
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
        f->e.usable = ms_hook_usable(block);
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
    if (MS_UNLIKELY(ms_tls.exited != 0))
        ms_attach_late_end();
}

// Whether the free of `block` is to be recorded; the null pointer's is counted, but for those of
// libc's own when it takes a thread down, which are not worth a buffer.
static bool free_enter(struct free_call *f, const void *block)
{
    if (MS_UNLIKELY(ms_tls.exited != 0) && (block == NULL || !ms_attach_late_begin()))
        return false;
    if (!ms_spy_enter(&f->call)) {
        ms_attach_late_end();
        return false;
    }
    if (block != NULL)
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
    if (MS_UNLIKELY(!ms_thread_attached(t) || block == NULL || cache == NULL))
        return free_slow(block, MS_CALLER);
    uint64_t word = ms_path_size_word(block);
    uint64_t bin = ms_path_chunk_bin(word & ~UINT64_C(7));
    if (MS_UNLIKELY(ms_boot_owns(block) || (word & MS_CHUNK_MMAPPED) ||
                    ms_sys_is_wide((uintptr_t)block) || !ms_path_has_room(cache, bin) ||
                    !ms_spy_quick(t)))
        return free_slow(block, MS_CALLER);
    uint64_t usable = (word & ~UINT64_C(7)) - 8;
    uint8_t outer = t->place.state;
    ms_spy_go(t);
    ms_real.free(block);
    ms_spy_back(t);
    bool hit = ms_path_head(cache, bin) == block;
    if (MS_UNLIKELY(!hit || !ms_spy_record_quick(t, SLOT_WORD0(MS_KIND_FREE, MS_FREE_TCACHE, block),
                                    usable << 48, MS_CALLER)))
        free_finish(t, outer, block, usable, MS_CALLER, hit);
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
    f.e = (struct ms_event){.kind = MS_KIND_FREE_SIZED, .size = size, .caller = MS_CALLER};
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
            .caller = MS_CALLER,
            .align_log2 = (uint8_t)(align != 0 ? __builtin_ctzll(align) : 0)};
    free_before(&f, block);
    real_free_aligned_sized(block, align, size);
    free_after(&f, block);
}
