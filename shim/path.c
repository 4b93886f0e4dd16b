// SPDX-License-Identifier: MIT
// Owns the judgement by which path a call went, but for the thread cache's part, which is inline
// in path.h, and the probe, which is in path_probe.c.
//
// Charging. The break and the sizes of thread heaps are shared by all threads; the kernel is asked
// under the arena's lock, but we look afterwards. The value last charged to somebody is kept, and
// whoever moves it to the present one by compare-and-swap owns the change: each is charged once,
// under contention perhaps to a neighbour. A failed sbrk leaves no trace and is charged to nobody.
//
// Context: any thread or signal handler; no system calls.
#include "path.h"

struct ms_path ms_path;

// --- the main heap ---------------------------------------------------------------------------

static bool claim_brk(bool growth)
{
    if (ms_path.brk == NULL)
        return false;
    uintptr_t now = (uintptr_t) * (void *const volatile *)ms_path.brk;
    uintptr_t seen = __atomic_load_n(&ms_path.brk_seen, __ATOMIC_RELAXED);
    if (now == seen || (now > seen) != growth)
        return false;
    return __atomic_compare_exchange_n(
            &ms_path.brk_seen, &seen, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void ms_path_sync_brk(void)
{
    if (ms_path.brk != NULL)
        __atomic_store_n(&ms_path.brk_seen, (uintptr_t)*ms_path.brk, __ATOMIC_RELAXED);
}

static enum ms_alloc_path path_in_main_heap(const void *block)
{
    if (ms_path.brk == NULL)
        return MS_ALLOC_UNKNOWN;
    if (claim_brk(true))
        return MS_ALLOC_BRK;
    // Where the break could not grow, glibc lets the main arena go on in a mapping, whose growth
    // leaves no mark that we know.
    uintptr_t end = (uintptr_t)*ms_path.brk;
    bool inside = (uintptr_t)block - ms_path.heap_begin < end - ms_path.heap_begin;
    return inside ? MS_ALLOC_ARENA : MS_ALLOC_UNKNOWN;
}

// --- thread heaps ----------------------------------------------------------------------------

// heap_info of malloc/arena.c, at the beginning of each heap.
struct heap_info {
    uint64_t arena; // ar_ptr
    uint64_t previous;
    uint64_t size;
    uint64_t mprotect_size;
};

// What was last charged of each heap that was seen, and of each arena, whose key is its first
// heap. The table is larger than the address space a process could give to 64 MiB heaps in
// practice (256 GiB); were it full, growth would be unknown.
#define HEAPS 4096
struct heap_entry {
    uintptr_t key;          // address >> MS_HEAP_SHIFT; 0 is an empty place
    uint64_t mprotect_size; // as last charged
    uint64_t system;        // of the arena, as last charged
};
static struct heap_entry heaps[HEAPS];

// Offset of system_mem in malloc_state, 0 while unknown, found at the first thread arena.
static uint32_t system_offset;

static struct heap_entry *find_heap(uintptr_t key, bool *is_new)
{
    *is_new = false;
    unsigned at = (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 52);
    for (unsigned tries = 0; tries < HEAPS; tries++, at = (at + 1) & (HEAPS - 1)) {
        uintptr_t held = __atomic_load_n(&heaps[at].key, __ATOMIC_ACQUIRE);
        if (held == key)
            return &heaps[at];
        if (held == 0) {
            *is_new = __atomic_compare_exchange_n(
                    &heaps[at].key, &held, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
            if (*is_new || held == key)
                return &heaps[at];
        }
    }
    return NULL;
}

static bool is_first_heap(uintptr_t heap, uint64_t arena)
{
    return arena - heap < 4096;
}

// In a new arena system_mem and, next to it, max_system_mem are the size of its first heap; no
// other two neighbours are. (They follow attached_threads since 2.23.)
static void find_system_mem(const struct heap_info *heap)
{
    const uint64_t *words = (const uint64_t *)(uintptr_t)heap->arena;
    uint32_t found = 0;
    for (uint32_t i = 1; i < 400; i++) {
        if (words[i] == heap->size && words[i + 1] == heap->size) {
            if (found != 0)
                return;
            found = i * (uint32_t)sizeof(uint64_t);
        }
    }
    __atomic_store_n(&system_offset, found, __ATOMIC_RELAXED);
}

static const uint64_t *system_mem(uint64_t arena)
{
    uint32_t offset = __atomic_load_n(&system_offset, __ATOMIC_RELAXED);
    return offset == 0 ? NULL : (const uint64_t *)(uintptr_t)(arena + offset);
}

static enum ms_alloc_path path_in_heap(const void *block)
{
    if (!ms_path.heaps)
        return MS_ALLOC_UNKNOWN;
    uintptr_t key = (uintptr_t)block >> MS_HEAP_SHIFT;
    const volatile struct heap_info *heap = (const void *)(key << MS_HEAP_SHIFT);
    bool is_new;
    struct heap_entry *entry = find_heap(key, &is_new);
    if (entry == NULL)
        return MS_ALLOC_UNKNOWN;
    uint64_t now = heap->mprotect_size;
    uint64_t seen = __atomic_load_n(&entry->mprotect_size, __ATOMIC_RELAXED);
    if (is_new && system_offset == 0 && is_first_heap(key << MS_HEAP_SHIFT, heap->arena))
        find_system_mem((const void *)(key << MS_HEAP_SHIFT));
    if (now == seen || !__atomic_compare_exchange_n(&entry->mprotect_size, &seen, now, false,
                               __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return MS_ALLOC_ARENA;
    return MS_ALLOC_HEAP;
}

// --- allocation ------------------------------------------------------------------------------

enum ms_alloc_path ms_path_of_alloc(const void *block)
{
    if (!ms_path.glibc)
        return MS_ALLOC_UNKNOWN;
    uint64_t word = ms_path_size_word(block);
    if (word & MS_CHUNK_MMAPPED)
        return MS_ALLOC_MMAP;
    enum ms_alloc_path path =
            word & MS_CHUNK_NON_MAIN ? path_in_heap(block) : path_in_main_heap(block);
    // What grew is claimed in any case, so that no later call is charged with it.
    bool may_be_cached = ms_path.large_tcache && (word & ~UINT64_C(7)) > 1040;
    return may_be_cached && path == MS_ALLOC_ARENA ? MS_ALLOC_UNKNOWN : path;
}

// realloc of a block with its own mapping asks mremap, unless the pages it has are just enough;
// it stays where it is without the kernel when it grows into what it has.
enum ms_alloc_path ms_path_of_realloc(const struct ms_path_old *old, const void *block)
{
    if (!ms_path.glibc)
        return MS_ALLOC_UNKNOWN;
    uint64_t word = ms_path_size_word(block);
    bool was_mapped = old->block != NULL && (old->size_word & MS_CHUNK_MMAPPED);
    if (was_mapped && (word & MS_CHUNK_MMAPPED))
        return word == old->size_word && block == old->block ? MS_ALLOC_ARENA : MS_ALLOC_MREMAP;
    return ms_path_of_alloc(block);
}

// --- free ------------------------------------------------------------------------------------

void ms_path_before_free(struct ms_path_free *f, const void *block)
{
    f->size_word = ms_path_size_word(block);
    f->system = NULL;
    const uint64_t flags = MS_CHUNK_MMAPPED | MS_CHUNK_NON_MAIN;
    if (!ms_path.heaps || (f->size_word & flags) != MS_CHUNK_NON_MAIN)
        return;
    f->heap = (uintptr_t)block >> MS_HEAP_SHIFT;
    const volatile struct heap_info *heap = (const void *)(f->heap << MS_HEAP_SHIFT);
    f->system = system_mem(heap->arena);
    if (f->system == NULL)
        return;
    f->heap_size = heap->size;
    f->system_before = *(const volatile uint64_t *)f->system;
    // The arena grew since: only upwards, since a fall belongs to the thread that caused it.
    bool is_new;
    struct heap_entry *arena = find_heap((uintptr_t)f->system >> MS_HEAP_SHIFT, &is_new);
    if (arena != NULL && f->system_before > arena->system)
        __atomic_store_n(&arena->system, f->system_before, __ATOMIC_RELAXED);
}

// After a trim: a heap that went may come back at its place; one that stayed may have lost pages.
static void forget_heap(const struct ms_path_free *f, uint64_t fall)
{
    bool is_new;
    struct heap_entry *entry = find_heap(f->heap, &is_new);
    if (entry == NULL)
        return;
    uint64_t size = 0;
    if (is_first_heap(f->heap << MS_HEAP_SHIFT, (uintptr_t)f->system))
        size = ((const volatile struct heap_info *)(f->heap << MS_HEAP_SHIFT))->mprotect_size;
    else if (fall < f->heap_size)
        return;
    __atomic_store_n(&entry->mprotect_size, size, __ATOMIC_RELAXED);
}

// The heap may be gone now; the arena, in its first heap, never goes.
static enum ms_free_path path_from_heap(const struct ms_path_free *f)
{
    if (f->system == NULL)
        return MS_FREE_UNKNOWN;
    uint64_t now = *(const volatile uint64_t *)f->system;
    if (now >= f->system_before)
        return MS_FREE_ARENA;
    bool is_new;
    struct heap_entry *arena = find_heap((uintptr_t)f->system >> MS_HEAP_SHIFT, &is_new);
    if (arena == NULL)
        return MS_FREE_UNKNOWN;
    uint64_t seen = __atomic_load_n(&arena->system, __ATOMIC_RELAXED);
    if (seen == now || !__atomic_compare_exchange_n(&arena->system, &seen, now, false,
                               __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return MS_FREE_ARENA; // another thread of the arena was charged
    forget_heap(f, f->system_before - now);
    return MS_FREE_TRIM;
}

bool ms_path_claim_trim(const void *block)
{
    uint64_t word = ms_path_size_word(block);
    if (!ms_path.glibc || (word & MS_CHUNK_MMAPPED))
        return false;
    if (!(word & MS_CHUNK_NON_MAIN))
        return claim_brk(false);
    const volatile struct heap_info *heap =
            (const void *)((uintptr_t)block >> MS_HEAP_SHIFT << MS_HEAP_SHIFT);
    const uint64_t *system = ms_path.heaps ? system_mem(heap->arena) : NULL;
    bool is_new;
    struct heap_entry *arena =
            system == NULL ? NULL : find_heap((uintptr_t)system >> MS_HEAP_SHIFT, &is_new);
    if (arena == NULL)
        return false;
    uint64_t now = *(const volatile uint64_t *)system;
    uint64_t seen = __atomic_load_n(&arena->system, __ATOMIC_RELAXED);
    return now < seen && __atomic_compare_exchange_n(&arena->system, &seen, now, false,
                                 __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

enum ms_free_path ms_path_after_free(const struct ms_path_free *f)
{
    if (!ms_path.glibc)
        return MS_FREE_UNKNOWN;
    if (f->size_word & MS_CHUNK_MMAPPED)
        return MS_FREE_MUNMAP;
    enum ms_free_path path;
    if (f->size_word & MS_CHUNK_NON_MAIN)
        path = path_from_heap(f);
    else
        path = claim_brk(false) ? MS_FREE_TRIM : MS_FREE_ARENA;
    bool may_be_cached = ms_path.large_tcache && (f->size_word & ~UINT64_C(7)) > 1040;
    return may_be_cached && path == MS_FREE_ARENA ? MS_FREE_UNKNOWN : path;
}
