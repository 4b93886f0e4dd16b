// SPDX-License-Identifier: MIT
// What the program itself asks of the kernel for memory. An allocator other than glibc's comes
// through here too, from inside a hooked call: that is no request of the program's and only
// forwarded. Context: any thread, any time.
#define _GNU_SOURCE
#include "real.h"
#include "spy.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

// With 64-bit off_t it is mmap under another name, which its header may hide behind a macro.
void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset);

// Whether the call is the program's own and to be recorded.
static bool enter(struct ms_call *c)
{
    return ms_spy_enter(c) && c->outer == MS_IDLE;
}

// Ends a recorded call. Failed calls keep the address they were asked for.
static void record(struct ms_call *c, uint8_t kind, bool failed, struct ms_event e)
{
    e.kind = kind;
    e.attr |= failed ? MS_ATTR_FAILED : 0;
    ms_spy_record(c, &e);
}

MS_EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    struct ms_call c;
    if (!ms_real_init())
        return MAP_FAILED;
    if (!enter(&c))
        return ms_real.mmap(address, size, protection, flags, fd, offset);
    ms_spy_before(&c, false);
    void *result = ms_real.mmap(address, size, protection, flags, fd, offset);
    ms_spy_after(&c);
    bool failed = result == MAP_FAILED;
    record(&c, MS_KIND_MMAP, failed,
            (struct ms_event){.ptr = (uintptr_t)(failed ? address : result),
                    .size = size,
                    .aux = (uint32_t)protection | (uint64_t)(uint32_t)flags << 32,
                    .caller = CALLER});
    return result;
}

MS_EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
        __attribute__((alias("mmap")));

MS_EXPORT int munmap(void *address, size_t size)
{
    struct ms_call c;
    if (!ms_real_init())
        return -1;
    if (!enter(&c))
        return ms_real.munmap(address, size);
    ms_spy_before(&c, false);
    int result = ms_real.munmap(address, size);
    ms_spy_after(&c);
    record(&c, MS_KIND_MUNMAP, result != 0,
            (struct ms_event){.ptr = (uintptr_t)address, .size = size, .caller = CALLER});
    return result;
}

MS_EXPORT void *mremap(void *old, size_t old_size, size_t new_size, int flags, ...)
{
    struct ms_call c;
    va_list rest;
    // Read whether or not the flags say that it is there, as libc does.
    va_start(rest, flags);
    void *wanted = va_arg(rest, void *);
    va_end(rest);
    if (!ms_real_init())
        return MAP_FAILED;
    if (!enter(&c))
        return ms_real.mremap(old, old_size, new_size, flags, wanted);
    ms_spy_before(&c, false);
    void *result = ms_real.mremap(old, old_size, new_size, flags, wanted);
    ms_spy_after(&c);
    bool failed = result == MAP_FAILED;
    record(&c, MS_KIND_MREMAP, failed,
            (struct ms_event){.ptr = (uintptr_t)(failed ? old : result),
                    .size = new_size,
                    .usable = old_size,
                    .aux = (uintptr_t)old,
                    .caller = CALLER});
    return result;
}

static uint64_t present_break(void)
{
    return ms_path.brk != NULL ? (uintptr_t)*ms_path.brk : 0;
}

MS_EXPORT int brk(void *address)
{
    struct ms_call c;
    if (!ms_real_init())
        return -1;
    if (!enter(&c))
        return ms_real.brk(address);
    uint64_t before = present_break();
    ms_spy_before(&c, false);
    int result = ms_real.brk(address);
    ms_spy_after(&c);
    ms_path_sync_brk();
    uint64_t size = before == 0                   ? 0
                    : (uintptr_t)address > before ? (uintptr_t)address - before
                                                  : before - (uintptr_t)address;
    bool shrank = (uintptr_t)address < before;
    record(&c, MS_KIND_BRK, result != 0,
            (struct ms_event){.ptr = (uintptr_t)address,
                    .size = size,
                    .aux = before,
                    .attr = shrank ? MS_ATTR_SHRANK : 0,
                    .caller = CALLER});
    return result;
}

MS_EXPORT void *sbrk(intptr_t increment)
{
    struct ms_call c;
    if (!ms_real_init())
        return (void *)-1;
    if (!enter(&c))
        return ms_real.sbrk(increment);
    uint64_t before = present_break();
    ms_spy_before(&c, false);
    void *result = ms_real.sbrk(increment);
    ms_spy_after(&c);
    ms_path_sync_brk();
    bool failed = result == (void *)-1;
    record(&c, MS_KIND_SBRK, failed,
            (struct ms_event){.ptr = failed ? 0 : (uintptr_t)result,
                    .size = increment < 0 ? 0 - (uint64_t)increment : (uint64_t)increment,
                    .aux = before,
                    .attr = increment < 0 ? MS_ATTR_SHRANK : 0,
                    .caller = CALLER});
    return result;
}

MS_EXPORT int madvise(void *address, size_t size, int advice)
{
    struct ms_call c;
    if (!ms_real_init())
        return -1;
    if (!enter(&c))
        return ms_real.madvise(address, size, advice);
    ms_spy_before(&c, false);
    int result = ms_real.madvise(address, size, advice);
    ms_spy_after(&c);
    record(&c, MS_KIND_MADVISE, result != 0,
            (struct ms_event){.ptr = (uintptr_t)address,
                    .size = size,
                    .aux = (uint32_t)advice,
                    .caller = CALLER});
    return result;
}

MS_EXPORT int malloc_trim(size_t pad)
{
    struct ms_call c;
    if (!ms_real_init() || ms_real.malloc_trim == NULL)
        return 0;
    if (!enter(&c))
        return ms_real.malloc_trim(pad);
    ms_spy_before(&c, false);
    int result = ms_real.malloc_trim(pad);
    ms_spy_after(&c);
    ms_path_sync_brk();
    record(&c, MS_KIND_MALLOC_TRIM, false,
            (struct ms_event){.size = pad, .aux = (uint32_t)result, .caller = CALLER});
    return result;
}
