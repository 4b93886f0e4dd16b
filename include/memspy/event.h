// SPDX-License-Identifier: MIT
// What can happen, and how one event stands in a live block. MS_EVENT_KINDS is the single table
// of event kinds; FORMAT.md section 5 describes the same table in words. The encoder of a slot
// stands directly above its decoder. Pure functions: callable in every context.
#ifndef MEMSPY_EVENT_H
#define MEMSPY_EVENT_H

#include "base.h"

// The fields that a kind has besides its path, flags and time.
enum ms_field {
    MS_F_PTR = 1,    // ptr: the address returned, freed or acted upon
    MS_F_SIZE = 2,   // size: bytes asked for
    MS_F_USABLE = 4, // usable: bytes the allocator gave (allocation) or took back (free)
    MS_F_CALLER = 8, // caller: return address of the hooked call
    MS_F_AUX = 16,   // aux: meaning by kind, see the table
    MS_F_ALIGN = 32, // align_log2: the alignment asked for
    MS_F_OLD = 64,   // aux holds an old address, coded relative to the pointers around it
};

enum ms_class {
    MS_CLASS_ALLOC,  // returns a block; path is an enum ms_alloc_path
    MS_CLASS_FREE,   // takes a block back; path is an enum ms_free_path
    MS_CLASS_MAP,    // the program itself asked the kernel for memory
    MS_CLASS_KERNEL, // exact mode: a system call made inside the hooked call that follows
};

#define MS_FIELDS_ALLOC (MS_F_PTR | MS_F_SIZE | MS_F_USABLE | MS_F_CALLER)
#define MS_FIELDS_FREE  (MS_F_PTR | MS_F_USABLE | MS_F_CALLER)
#define MS_FIELDS_MAP   (MS_F_PTR | MS_F_SIZE | MS_F_CALLER | MS_F_AUX)

// X(NAME, number, "name in reports", class, fields)
// aux: realloc and reallocarray: the old address. mmap: prot | flags << 32. mremap: the old
// address (and usable: the old size). madvise: the advice. brk, sbrk: the break before the call.
// kernel: the system call's number on the machine that wrote the trace.
#define MS_EVENT_KINDS(X)                                                                          \
    X(MALLOC, 1, "malloc", ALLOC, MS_FIELDS_ALLOC)                                                 \
    X(CALLOC, 2, "calloc", ALLOC, MS_FIELDS_ALLOC)                                                 \
    X(REALLOC, 3, "realloc", ALLOC, MS_FIELDS_ALLOC | MS_F_AUX | MS_F_OLD)                         \
    X(REALLOCARRAY, 4, "reallocarray", ALLOC, MS_FIELDS_ALLOC | MS_F_AUX | MS_F_OLD)               \
    X(MEMALIGN, 5, "memalign", ALLOC, MS_FIELDS_ALLOC | MS_F_ALIGN)                                \
    X(ALIGNED_ALLOC, 6, "aligned_alloc", ALLOC, MS_FIELDS_ALLOC | MS_F_ALIGN)                      \
    X(POSIX_MEMALIGN, 7, "posix_memalign", ALLOC, MS_FIELDS_ALLOC | MS_F_ALIGN)                    \
    X(VALLOC, 8, "valloc", ALLOC, MS_FIELDS_ALLOC)                                                 \
    X(PVALLOC, 9, "pvalloc", ALLOC, MS_FIELDS_ALLOC)                                               \
    X(FREE, 16, "free", FREE, MS_FIELDS_FREE)                                                      \
    X(FREE_SIZED, 17, "free_sized", FREE, MS_FIELDS_FREE | MS_F_SIZE)                              \
    X(FREE_ALIGNED_SIZED, 18, "free_aligned_sized", FREE, MS_FIELDS_FREE | MS_F_SIZE | MS_F_ALIGN) \
    X(MMAP, 32, "mmap", MAP, MS_FIELDS_MAP)                                                        \
    X(MUNMAP, 33, "munmap", MAP, MS_FIELDS_MAP)                                                    \
    X(MREMAP, 34, "mremap", MAP, MS_FIELDS_MAP | MS_F_USABLE | MS_F_OLD)                           \
    X(BRK, 35, "brk", MAP, MS_FIELDS_MAP)                                                          \
    X(SBRK, 36, "sbrk", MAP, MS_FIELDS_MAP)                                                        \
    X(MADVISE, 37, "madvise", MAP, MS_FIELDS_MAP)                                                  \
    X(MALLOC_TRIM, 38, "malloc_trim", MAP, MS_FIELDS_MAP)                                          \
    X(KERNEL, 48, "kernel", KERNEL, MS_F_PTR | MS_F_SIZE | MS_F_AUX)

enum ms_kind {
#define MS_KIND_ENUM(name, number, text, class, fields) MS_KIND_##name = number,
    MS_EVENT_KINDS(MS_KIND_ENUM)
#undef MS_KIND_ENUM
            MS_KIND_LIMIT = 64, // kinds are below this
    MS_KIND_EXT = 255,          // in live blocks only: the second slot of an event that needs two
};

// How an allocation was served. brk, heap, mmap and mremap touched the kernel.
enum ms_alloc_path {
    MS_ALLOC_UNKNOWN,
    MS_ALLOC_TCACHE, // the calling thread's cache
    MS_ALLOC_ARENA,  // other user-space bins, or the top chunk
    MS_ALLOC_BRK,    // the main heap grew
    MS_ALLOC_HEAP,   // a thread arena's heap grew or was mapped
    MS_ALLOC_MMAP,   // a mapping of its own
    MS_ALLOC_MREMAP, // moved or resized by the kernel
    MS_ALLOC_PATHS
};

// How a block was taken back. trim and munmap touched the kernel.
enum ms_free_path {
    MS_FREE_UNKNOWN,
    MS_FREE_TCACHE,
    MS_FREE_ARENA,
    MS_FREE_TRIM,   // the break or a heap shrank
    MS_FREE_MUNMAP, // the block's own mapping went
    MS_FREE_PATHS
};

// attr, one byte an event: the path in the low bits, flags above.
#define MS_ATTR_PATH   0x07
#define MS_ATTR_TIMED  0x08 // start, cost and weight are present
#define MS_ATTR_FAILED 0x10 // the call failed; ptr is 0 (MAP: the address asked for)
#define MS_ATTR_SHRANK 0x20 // an allocation (realloc) during which the break or a heap shrank
#define MS_ATTR_EXT    0x40 // in live blocks only: a second slot follows
#define MS_ATTR_FREED  0x80 // a realloc to size 0 that freed: path is an enum ms_free_path

// One event, decoded.
struct ms_event {
    uint8_t kind;        // enum ms_kind
    uint8_t attr;        // MS_ATTR_*
    uint8_t align_log2;  // log2 of the alignment asked for; 0 if none
    uint8_t weight_log2; // a timed event stands for 2^weight_log2 calls of its kind
    uint64_t ptr;
    uint64_t size;
    uint64_t usable;
    uint64_t caller;
    uint64_t aux;
    uint64_t start; // when the real call began, in time units (clock ticks >> header.tick_shift)
    uint64_t cost;  // what it took, in clock ticks, the timer's own floor included
};

// The fields of a kind, 0 for an unknown one.
MS_INLINE unsigned ms_kind_fields(unsigned kind)
{
    switch (kind) {
#define MS_KIND_FIELDS(name, number, text, class, fields)                                          \
    case number:                                                                                   \
        return fields;
        MS_EVENT_KINDS(MS_KIND_FIELDS)
#undef MS_KIND_FIELDS
    default:
        return 0;
    }
}

MS_INLINE enum ms_class ms_kind_class(unsigned kind)
{
    switch (kind) {
#define MS_KIND_CLASS(name, number, text, class, fields)                                           \
    case number:                                                                                   \
        return MS_CLASS_##class;
        MS_EVENT_KINDS(MS_KIND_CLASS)
#undef MS_KIND_CLASS
    default:
        return MS_CLASS_MAP;
    }
}

// The kind's name, NULL for an unknown one.
static inline const char *ms_kind_name(unsigned kind)
{
    switch (kind) {
#define MS_KIND_NAME(name, number, text, class, fields)                                            \
    case number:                                                                                   \
        return text;
        MS_EVENT_KINDS(MS_KIND_NAME)
#undef MS_KIND_NAME
    default:
        return NULL;
    }
}

MS_INLINE unsigned ms_event_path(const struct ms_event *e)
{
    return e->attr & MS_ATTR_PATH;
}

// Whether the event's path is an enum ms_free_path.
MS_INLINE bool ms_event_frees(const struct ms_event *e)
{
    return ms_kind_class(e->kind) == MS_CLASS_FREE || (e->attr & MS_ATTR_FREED);
}

// Slots: an event in a live block is one slot of four words, or two.
//   word 0: kind 8, attr 8, ptr 48         word 2: caller 48, weight_log2 8, align_log2 8
//   word 1: size 48, usable - size 16      word 3: start - base 40, cost 24; 0 when untimed
// second slot, when a field does not fit the first or aux is not 0 (attr has MS_ATTR_EXT):
//   word 0: MS_KIND_EXT 8, ptr's high bits 16, cost 40
//   word 1: aux     word 2: size     word 3: usable
// Word 0 of a slot is stored last and is never 0 in a used one, so that a reader of a killed
// process's block knows which slots are whole.
#define MS_SLOT_WORDS 4
#define MS_SLOT_BYTES (MS_SLOT_WORDS * sizeof(uint64_t))
#define MS_LOW48      ((UINT64_C(1) << 48) - 1)
#define MS_LOW40      ((UINT64_C(1) << 40) - 1)
#define MS_LOW24      ((UINT64_C(1) << 24) - 1)

// Whether e needs a second slot.
MS_INLINE bool ms_slot_needs_ext(const struct ms_event *e)
{
    uint64_t slack = e->usable - e->size;
    return ((e->ptr | e->size) >> 48 | slack >> 16 | e->cost >> 24 | e->aux) != 0;
}

// Stores e into `slot`, which has room for the slots it needs. start - base must be below 2^40.
// The order of stores is kept by release stores: a second slot before the first, word 0 last.
MS_INLINE void ms_slot_store(uint64_t *slot, const struct ms_event *e, uint64_t base)
{
    uint64_t attr = e->attr;
    uint64_t cost = e->cost;
    uint64_t slack = e->usable - e->size;
    if (MS_UNLIKELY(ms_slot_needs_ext(e))) {
        uint64_t wide_cost = cost < MS_LOW40 ? cost : MS_LOW40;
        slot[5] = e->aux;
        slot[6] = e->size;
        slot[7] = e->usable;
        __atomic_store_n(
                &slot[4], MS_KIND_EXT | (e->ptr >> 48) << 8 | wide_cost << 24, __ATOMIC_RELEASE);
        attr |= MS_ATTR_EXT;
        slack = 0;
        cost &= MS_LOW24;
    }
    slot[1] = (e->size & MS_LOW48) | slack << 48;
    slot[2] =
            (e->caller & MS_LOW48) | (uint64_t)e->weight_log2 << 48 | (uint64_t)e->align_log2 << 56;
    slot[3] = attr & MS_ATTR_TIMED ? ((e->start - base) & MS_LOW40) | cost << 40 : 0;
    __atomic_store_n(&slot[0], e->kind | attr << 8 | (e->ptr & MS_LOW48) << 16, __ATOMIC_RELEASE);
}

// Decodes the event at `slot`, of which `left` slots remain in the block. Returns the number of
// slots it took, or 0 when the first slot is not a whole event (a hole, or a second slot alone).
MS_INLINE unsigned ms_slot_load(
        const uint64_t *slot, size_t left, uint64_t base, struct ms_event *e)
{
    if (left == 0)
        return 0;
    uint64_t word = __atomic_load_n(&slot[0], __ATOMIC_ACQUIRE);
    unsigned kind = (unsigned)(word & 0xff);
    if (kind == 0 || kind == MS_KIND_EXT)
        return 0;
    e->kind = (uint8_t)kind;
    e->attr = (uint8_t)(word >> 8);
    e->ptr = word >> 16;
    e->size = slot[1] & MS_LOW48;
    e->usable = e->size + (slot[1] >> 48);
    e->caller = slot[2] & MS_LOW48;
    e->weight_log2 = (uint8_t)(slot[2] >> 48);
    e->align_log2 = (uint8_t)(slot[2] >> 56);
    e->aux = 0;
    e->start = e->attr & MS_ATTR_TIMED ? base + (slot[3] & MS_LOW40) : 0;
    e->cost = slot[3] >> 40;
    if (!(e->attr & MS_ATTR_EXT))
        return 1;
    if (left < 2 || (slot[4] & 0xff) != MS_KIND_EXT)
        return 0;
    e->attr &= (uint8_t)~MS_ATTR_EXT;
    e->ptr |= (slot[4] >> 8 & 0xffff) << 48;
    e->cost = slot[4] >> 24;
    e->aux = slot[5];
    e->size = slot[6];
    e->usable = slot[7];
    return 2;
}

_Static_assert(MS_SLOT_BYTES == 32, "the size of a slot is part of the trace format");

#endif
