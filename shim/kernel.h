// SPDX-License-Identifier: MIT
// Exact mode: every system call that an allocator makes inside a hooked call arrives as SIGSYS and
// is made, and timed, by us (Syscall User Dispatch, Linux 5.11, x86-64; Documentation/admin-guide/
// syscall-user-dispatch.rst). Opt-in, since the program's own use of SIGSYS and blocked signals
// are in its way. kernel_none.c stands in where the machine has no such thing.
#ifndef MEMSPY_KERNEL_H
#define MEMSPY_KERNEL_H

#include "tls.h"

#include <memspy/event.h>
#include <signal.h>

// What a call asked of the kernel, bits of ms_tls.place.seen.
enum ms_seen {
    MS_SEEN_BRK_GREW = 1,
    MS_SEEN_BRK_SHRANK = 2,
    MS_SEEN_MMAP = 4,
    MS_SEEN_MUNMAP = 8,
    MS_SEEN_MREMAP = 16,
    MS_SEEN_MPROTECT = 32,
    MS_SEEN_MADVISE = 64,
};

extern MS_HIDDEN bool ms_kernel_exact; // exact mode is on in this process

// Turns exact mode on for the process; `record` is called, in the thread's SIGSYS handler, for
// each memory call with its event, start and cost in clock ticks. False, with the reason said,
// when the kernel refuses.
typedef void ms_kernel_record(struct ms_event *e);
bool ms_kernel_init(ms_kernel_record *record);

// Turns dispatch on for the calling thread.
void ms_kernel_attach(struct ms_tls *t);

// Turns dispatch on for the real call that follows, unless the thread blocks SIGSYS: one that is
// blocked when it has to be delivered ends the process. A system call.
void ms_kernel_arm(struct ms_tls *t);

// What the program set for SIGSYS; it is kept here, and called for what a seccomp filter sends.
extern MS_HIDDEN struct sigaction ms_kernel_program_action;

// The path of the call that just ended, from what it asked of the kernel. Unknown unless exact
// mode is on.
MS_INLINE enum ms_alloc_path ms_kernel_alloc_path(const struct ms_tls *t)
{
    if (!ms_kernel_exact)
        return MS_ALLOC_UNKNOWN;
    return t->place.seen & MS_SEEN_MREMAP     ? MS_ALLOC_MREMAP
           : t->place.seen & MS_SEEN_MMAP     ? MS_ALLOC_MMAP
           : t->place.seen & MS_SEEN_BRK_GREW ? MS_ALLOC_BRK
           : t->place.seen & MS_SEEN_MPROTECT ? MS_ALLOC_HEAP
                                              : MS_ALLOC_ARENA;
}

MS_INLINE enum ms_free_path ms_kernel_free_path(const struct ms_tls *t)
{
    if (!ms_kernel_exact)
        return MS_FREE_UNKNOWN;
    return t->place.seen & MS_SEEN_MUNMAP                           ? MS_FREE_MUNMAP
           : t->place.seen & (MS_SEEN_BRK_SHRANK | MS_SEEN_MADVISE) ? MS_FREE_TRIM
                                                                    : MS_FREE_ARENA;
}

#endif
