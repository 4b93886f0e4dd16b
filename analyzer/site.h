// SPDX-License-Identifier: MIT
// Call sites: who allocates and frees, by object and offset, the same in all processes.
#ifndef MEMSPY_ANALYZER_SITE_H
#define MEMSPY_ANALYZER_SITE_H

#include <memspy/counters.h>

#include "process.h"

// Sizes by power of two: an entry i holds [2^(i-1), 2^i), entry 0 the size 0.
#define MS_SIZE_CLASSES 65

// One return address. Costs are sums of weight times net cost, in ticks.
struct ms_site {
    uint32_t object; // 0: the address belongs to no known module
    uint32_t next;   // private to site.c
    uint64_t offset; // in the object's file, or the address
    uint64_t calls;  // allocations
    uint64_t frees;
    uint64_t bytes; // asked for
    uint64_t cost;  // of allocations and frees
    uint64_t kernel_calls;
    uint64_t kernel_cost;
    uint64_t paths[MS_ALLOC_PATHS]; // allocations by path
    // What the findings need to know of the allocations made here; costs are the kernel's part
    // where it is known by itself:
    uint64_t mmap_cost;    // of those served by mmap
    uint64_t munmap_calls; // blocks of this site given back by munmap
    uint64_t munmap_cost;
    uint64_t heap_cost;    // of those that grew a thread arena
    uint64_t heap_big;     // of those that grew a thread arena, above 4 KiB
    uint64_t big_calls;    // above 4 KiB
    uint64_t calloc_fresh; // callocs of at least 128 KiB on a new mapping
    uint64_t calloc_bytes;
    uint64_t small_calls;     // of at most 1 KiB
    uint64_t small_temporary; // of them, freed nearby by the same thread before it allocated again
    uint32_t *mmap_sizes;     // allocations by mmap by size class; NULL without any
};

// Entries of the cache from addresses of one process to sites.
#define MS_SITE_CACHE 4096

struct ms_sites {
    struct ms_site *list; // list[0] is unused
    size_t count;
    size_t capacity;
    uint32_t *hash; // numbers, chained by `next`
    size_t hash_size;
    uint64_t cached[MS_SITE_CACHE]; // addresses
    uint32_t numbers[MS_SITE_CACHE];
    const struct ms_processes *processes;
    const struct ms_process *process; // whose addresses the cache holds
};

void ms_site_open(struct ms_sites *sites, const struct ms_processes *processes);

// Addresses are those of `process` from now on; NULL when it is not known.
void ms_site_enter(struct ms_sites *sites, const struct ms_process *process);

// The number of the site of an address that is not in the cache; see ms_site_number.
uint32_t ms_site_resolve(struct ms_sites *sites, uint64_t address);

// The number of an address' site, from 1, the site made when it is new.
MS_INLINE uint32_t ms_site_number(struct ms_sites *sites, uint64_t address)
{
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 52);
    if (MS_LIKELY(sites->cached[at] == address && sites->numbers[at]))
        return sites->numbers[at];
    return ms_site_resolve(sites, address);
}

_Static_assert(MS_SITE_CACHE == 1 << 12, "ms_site_number takes the twelve high bits");

// The size class of a size.
MS_INLINE unsigned ms_size_class(uint64_t size)
{
    return size ? 64u - (unsigned)__builtin_clzll(size) : 0;
}

// Writes "object+0xoffset", or "0xaddress", into `text`, cut to fit.
void ms_site_name(
        const struct ms_sites *sites, const struct ms_site *site, char *text, size_t size);

void ms_site_free(struct ms_sites *sites);

#endif
