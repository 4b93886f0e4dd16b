// SPDX-License-Identifier: MIT
// By which path glibc served a call, told from what it leaves behind: the head of the calling
// thread's cache, the flag bits of the chunk's size word, libc's break, the size words of thread
// heaps. Nothing here is guessed: what the probe at start does not find is reported as not known.
// Facts: glibc 2.36, 2.41 and 2.43, malloc/malloc.c and malloc/arena.c. Any thread or signal
// handler may call the inline functions; they read memory of the allocator that is always mapped.
#ifndef MEMSPY_PATH_H
#define MEMSPY_PATH_H

#include "sys.h"

#include <memspy/event.h>

// Chunk sizes of the thread cache's small bins: 32 to 1040 in steps of 16.
#define MS_BINS 64

// The words of a chunk: size and flags stand before the block.
#define MS_CHUNK_MMAPPED  2u
#define MS_CHUNK_NON_MAIN 4u

// Thread heaps lie at multiples of HEAP_MAX_SIZE (malloc/arena.c), 64 MiB on 64-bit machines
// unless huge pages are asked for.
#define MS_HEAP_SHIFT 26

struct ms_path {
    bool glibc;           // the real malloc is glibc's
    bool tcache;          // the thread cache was found
    bool heaps;           // thread heaps have the known layout
    bool large_tcache;    // larger chunks may be cached too, in bins that are not known
    int8_t count_step;    // what a push does to a bin's count: 1, or -1 where it counts places left
    uint16_t count_limit; // a count at which a push is no longer expected
    uint32_t entries;     // offset of entries[] in the cache
    uint32_t counts;      // offset of the bins' counts
    ptrdiff_t slot;       // from the thread pointer to libc's pointer to the cache
    void *const *brk;     // libc's __curbrk
    size_t (*usable)(void *); // the real malloc_usable_size, where it is the real malloc's
    uintptr_t heap_begin;     // where the main heap begins
    uintptr_t brk_seen;       // atomic: the break as last charged to somebody
};

extern MS_HIDDEN struct ms_path ms_path;

// Looks for all of the above, by allocating and freeing two blocks with the real functions. Once,
// at start, in one thread.
void ms_path_init(bool large_tcache, bool heaps);

// Whether what the program calls malloc is another object's. What that does with its calls cannot
// be told: it may hand them on. At start.
bool ms_path_finds_other_malloc(void);

// The name and version of the libc, "glibc 2.36", and the object that holds the real malloc.
const char *ms_path_libc(void);
const char *ms_path_allocator(void);

MS_INLINE uint64_t ms_path_size_word(const void *block)
{
    return ((const uint64_t *)block)[-1];
}

// Bytes usable in a block of glibc's, from its size word.
MS_INLINE uint64_t ms_path_usable(uint64_t size_word)
{
    return (size_word & ~UINT64_C(7)) - (size_word & MS_CHUNK_MMAPPED ? 16 : 8);
}

// The bin for a chunk with that size word; MS_BINS or more when there is none, as for one with a
// mapping of its own, whose flag the rotation puts on top.
MS_INLINE uint64_t ms_path_chunk_bin(uint64_t size_word)
{
    uint64_t above = (size_word & ~UINT64_C(5)) - 32;
    return above >> 4 | above << 60;
}

// The bin for a request.
MS_INLINE uint64_t ms_path_bin(size_t request)
{
    return request <= 24 ? 0 : (request - 24 + 15) >> 4;
}

// The calling thread's cache, NULL when it has none yet. ms_path_cache: or when it is not known.
MS_INLINE char *ms_path_known_cache(void)
{
    return *(char **)(ms_sys_thread_pointer() + ms_path.slot);
}
MS_INLINE char *ms_path_cache(void)
{
    return MS_LIKELY(ms_path.tcache) ? ms_path_known_cache() : NULL;
}

// Bytes usable in the blocks of a bin, which are all alike.
MS_INLINE uint64_t ms_path_bin_usable(uint64_t bin)
{
    return (bin << 4) + 24;
}

// The block that a bin would serve next, NULL when it is empty. ms_path_head: or no such bin.
MS_INLINE void *ms_path_bin_head(const char *cache, uint64_t bin)
{
    return *(void *const *)(cache + ms_path.entries + bin * sizeof(void *));
}
MS_INLINE void *ms_path_head(const char *cache, uint64_t bin)
{
    if (cache == NULL || bin >= MS_BINS)
        return NULL;
    return ms_path_bin_head(cache, bin);
}

MS_INLINE uint16_t ms_path_count(const char *cache, uint64_t bin)
{
    return *(const uint16_t *)(cache + ms_path.counts + bin * sizeof(uint16_t));
}

// Whether the bin has a place for one more: what a free is predicted by, never judged by.
MS_INLINE bool ms_path_has_room(const char *cache, uint64_t bin)
{
    if (cache == NULL || bin >= MS_BINS)
        return false;
    uint16_t count = ms_path_count(cache, bin);
    return ms_path.count_step > 0 ? count < ms_path.count_limit : count > 0;
}

// The path of an allocation that the thread cache did not serve. `block` is not NULL.
enum ms_alloc_path ms_path_of_alloc(const void *block);

// What a realloc did, given what the old block looked like.
struct ms_path_old {
    const void *block;
    uint64_t size_word;
};
enum ms_alloc_path ms_path_of_realloc(const struct ms_path_old *old, const void *block);

// Whether the heap that holds `block` gave memory back to the kernel and nobody was charged yet;
// the caller, an aligned allocation that may have freed what was over, then is.
bool ms_path_claim_trim(const void *block);
// The program itself moved the break: nobody is to be charged.
void ms_path_sync_brk(void);

// A block about to be freed that the thread cache may not take.
struct ms_path_free {
    uint64_t size_word;
    const uint64_t *system; // the arena's count of bytes from the kernel; NULL: not known
    uint64_t system_before;
    uintptr_t heap;     // number of the block's thread heap, where system is known
    uint64_t heap_size; // before the call
};
void ms_path_before_free(struct ms_path_free *f, const void *block);
enum ms_free_path ms_path_after_free(const struct ms_path_free *f);

#endif
