// SPDX-License-Identifier: MIT
// What the hooks of the allocation functions share. Included by hook_*.c alone.
#ifndef MEMSPY_HOOK_ALLOC_H
#define MEMSPY_HOOK_ALLOC_H

#include "kernel.h"
#include "real.h"
#include "spy.h"

#include <errno.h>

// The return address of the hook it is used in.
#define MS_CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

// Bytes that the allocator gave to a block; 0 when it does not tell.
static inline uint64_t ms_hook_usable(void *block)
{
    if (MS_LIKELY(ms_path.glibc))
        return ms_path_usable(ms_path_size_word(block));
    return ms_path.usable != NULL ? ms_path.usable(block) : 0;
}

// The path of an allocation that the thread cache did not serve.
static inline uint8_t ms_hook_judge(const struct ms_call *c, const void *block)
{
    enum ms_alloc_path path = ms_path_of_alloc(block);
    return (uint8_t)(path != MS_ALLOC_UNKNOWN ? path : ms_kernel_alloc_path(c->tls));
}

// Records an allocation; `hit` says that the thread cache served it. e->size and the like are set.
static inline void ms_hook_record(struct ms_call *c, struct ms_event *e, void *block, bool hit)
{
    e->ptr = (uint64_t)(uintptr_t)block;
    e->attr = MS_ATTR_FAILED;
    if (block != NULL) {
        e->attr = hit ? MS_ALLOC_TCACHE : ms_hook_judge(c, block);
        e->usable = ms_hook_usable(block);
    }
    ms_spy_record(c, e);
}

// A block of the bootstrap pool, for calls that come before the real functions are known.
static inline void *ms_hook_boot(size_t size, size_t align)
{
    ms_boot_calls++;
    void *block = ms_boot_alloc(size, align);
    if (block == NULL)
        errno = ENOMEM;
    return block;
}

#endif
