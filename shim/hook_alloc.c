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

// What the hot path began without noting it: an untimed call that is over but for its event.
static struct ms_call call_begun(void)
{
    struct ms_call c = {.tls = &ms_tls, .outer = ms_tls.place.state};
    c.tls->place.state = MS_SPY;
    return c;
}

// A call that the hot path began and cannot end.
static __attribute__((noinline)) void *malloc_finish(
        size_t size, void *block, uint64_t caller, bool hit)
{
    struct ms_call c = call_begun();
    struct ms_event e = {.kind = MS_KIND_MALLOC, .size = size, .caller = caller};
    ms_hook_record(&c, &e, block, hit);
    return block;
}

// The same of one that was timed. Its path has been told, which may be done but once.
static __attribute__((noinline)) void *malloc_finish_timed(size_t size, void *block,
        uint64_t caller, enum ms_alloc_path path, uint64_t start, uint64_t cost)
{
    struct ms_call c = call_begun();
    struct ms_event e = {.kind = MS_KIND_MALLOC, .size = size, .caller = caller};
    c.timed = true;
    c.start = start;
    c.cost = cost;
    e.ptr = (uint64_t)(uintptr_t)block;
    e.attr = block != NULL ? (uint8_t)path : MS_ATTR_FAILED;
    e.usable = block != NULL ? ms_hook_usable(block) : 0;
    ms_spy_record(&c, &e);
    return block;
}

// Word 0 of a slot; the address must be below 2^48.
#define SLOT_WORD0(kind, path, block)                                                              \
    ((uint64_t)(kind) | (uint64_t)(path) << 8 | (uint64_t)(uintptr_t)(block) << 16)

// Word 3 of a slot, and whether the time fits it.
#define SLOT_WORD3(since, cost)     ((since) | (cost) << 40)
#define SLOT_TIME_FITS(since, cost) (((since) >> 40 | (cost) >> 24) == 0)

// A call of a thread that may be quick which the thread cache cannot serve.
static __attribute__((noinline)) void *malloc_past_cache(
        struct ms_ring *ring, size_t size, uint64_t caller)
{
    uint64_t start = ms_sys_ticks();
    void *block = ms_real.malloc(size);
    uint64_t cost = ms_sys_ticks() - start;
    uint64_t since = (start >> ms_spy_tick_shift) - ms_tls.base;
    if (MS_LIKELY(block != NULL)) {
        uint64_t slack = ms_path_usable(ms_path_size_word(block)) - size;
        enum ms_alloc_path path = ms_path_of_alloc(block);
        if (MS_LIKELY(SLOT_TIME_FITS(since, cost) && (slack >> 16 | size >> 48) == 0) &&
                !ms_sys_is_wide((uintptr_t)block) &&
                MS_LIKELY(ms_spy_put(ring, SLOT_WORD0(MS_KIND_MALLOC, path | MS_ATTR_TIMED, block),
                        size | slack << 48, ms_sys_low48(caller), SLOT_WORD3(since, cost)))) {
            ring->mark += MS_SLOT_WORDS;
            return block;
        }
        return malloc_finish_timed(size, block, caller, path, start, cost);
    }
    return malloc_finish_timed(size, block, caller, 0, start, cost);
}

MS_EXPORT void *malloc(size_t size)
{
    struct ms_ring *ring = ms_spy_quick(&ms_tls);
    if (MS_UNLIKELY(ring == NULL))
        return malloc_slow(size, MS_CALLER);
    void *head = ms_path_head(ms_path_known_cache(), ms_path_bin(size));
    if (MS_UNLIKELY(head == NULL))
        return malloc_past_cache(ring, size, MS_CALLER);
    // All blocks of a bin are of one size: no need to look at a word that may not be cached.
    uint64_t sizes = size | (ms_path_bin_usable(ms_path_bin(size)) - size) << 48;
    void *block = ms_real.malloc(size);
    if (MS_LIKELY(block == head) && !ms_sys_is_wide((uintptr_t)block) &&
            MS_LIKELY(ms_spy_put(ring, SLOT_WORD0(MS_KIND_MALLOC, MS_ALLOC_TCACHE, block), sizes,
                    ms_sys_low48(MS_CALLER), 0)))
        return block;
    return malloc_finish(sizes & MS_LOW48, block, MS_CALLER, block == head);
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
        f->bin = ms_path_chunk_bin(f->before.size_word);
        f->cheap = ms_path_has_room(ms_path_cache(), f->bin);
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

// The thread cache took a block that it was thought to have no room for.
static void learn_limit(const char *cache, uint64_t bin)
{
    if (ms_path.count_step > 0 && ms_path_count(cache, bin) > ms_path.count_limit)
        ms_path.count_limit = ms_path_count(cache, bin);
}

MS_INLINE void free_after(struct free_call *f, void *block)
{
    ms_spy_after(&f->call);
    // Looked up again: the free may have made the thread's cache.
    const char *cache = ms_path_cache();
    if (MS_LIKELY(ms_path_head(cache, f->bin) == block)) {
        f->e.attr = MS_FREE_TCACHE;
        if (MS_UNLIKELY(!f->cheap))
            learn_limit(cache, f->bin);
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
        void *block, uint64_t usable, uint64_t caller, bool hit)
{
    struct ms_call c = call_begun();
    struct ms_event e = {.kind = MS_KIND_FREE, .caller = caller, .usable = usable};
    e.ptr = (uint64_t)(uintptr_t)block;
    e.attr = (uint8_t)(hit ? MS_FREE_TCACHE : ms_kernel_free_path(c.tls));
    ms_spy_record(&c, &e);
}

// The same of one that was timed.
static __attribute__((noinline)) void free_finish_timed(void *block, uint64_t size_word,
        uint64_t caller, enum ms_free_path path, uint64_t start, uint64_t cost)
{
    struct ms_call c = call_begun();
    struct ms_event e = {.kind = MS_KIND_FREE, .attr = (uint8_t)path, .caller = caller};
    c.timed = true;
    c.start = start;
    c.cost = cost;
    e.ptr = (uint64_t)(uintptr_t)block;
    e.usable = ms_path_usable(size_word);
    ms_spy_record(&c, &e);
}

// A call of a thread that may be quick for which the thread cache has no room.
static __attribute__((noinline)) void free_past_cache(
        struct ms_ring *ring, void *block, uint64_t caller)
{
    struct ms_path_free before;
    if (ms_boot_owns(block))
        return;
    ms_path_before_free(&before, block);
    uint64_t start = ms_sys_ticks();
    ms_real.free(block);
    uint64_t cost = ms_sys_ticks() - start;
    uint64_t bin = ms_path_chunk_bin(before.size_word);
    const char *cache = ms_path_known_cache();
    enum ms_free_path path = MS_FREE_TCACHE;
    if (MS_LIKELY(ms_path_head(cache, bin) != block))
        path = ms_path_after_free(&before);
    else
        learn_limit(cache, bin);
    uint64_t since = (start >> ms_spy_tick_shift) - ms_tls.base;
    uint64_t usable = ms_path_usable(before.size_word);
    if (MS_LIKELY(SLOT_TIME_FITS(since, cost) && usable >> 16 == 0) &&
            !ms_sys_is_wide((uintptr_t)block) &&
            MS_LIKELY(ms_spy_put(ring, SLOT_WORD0(MS_KIND_FREE, path | MS_ATTR_TIMED, block),
                    usable << 48, ms_sys_low48(caller), SLOT_WORD3(since, cost))))
        ring->mark += MS_SLOT_WORDS;
    else
        free_finish_timed(block, before.size_word, caller, path, start, cost);
}

MS_EXPORT void free(void *block)
{
    struct ms_ring *ring = ms_spy_quick(&ms_tls);
    if (MS_UNLIKELY(block == NULL || ring == NULL))
        return free_slow(block, MS_CALLER);
    // Blocks of the bootstrap pool look like mapped ones, and have no bin.
    uint64_t bin = ms_path_chunk_bin(ms_path_size_word(block));
    const char *cache = ms_path_known_cache();
    if (MS_UNLIKELY(!ms_path_has_room(cache, bin) || ms_sys_is_wide((uintptr_t)block)))
        return free_past_cache(ring, block, MS_CALLER);
    ms_real.free(block);
    bool hit = ms_path_bin_head(cache, bin) == block;
    if (MS_UNLIKELY(!hit || !ms_spy_put(ring, SLOT_WORD0(MS_KIND_FREE, MS_FREE_TCACHE, block),
                                    ms_path_bin_usable(bin) << 48, ms_sys_low48(MS_CALLER), 0)))
        free_finish(block, ms_path_bin_usable(bin), MS_CALLER, hit);
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
