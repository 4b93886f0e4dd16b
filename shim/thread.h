// SPDX-License-Identifier: MIT
// What a process and a thread of it own, and how a thread knows that it is attached.
#ifndef MEMSPY_THREAD_H
#define MEMSPY_THREAD_H

#include "tls.h"

#include <memspy/counters.h>
#include <memspy/format.h>

// What every process must have of its own: wiped to zero in the child of a fork, whoever made it
// (MADV_WIPEONFORK), so that a child notices by itself that it is new.
struct ms_wiped {
    uint32_t word; // atomic: index of this process plus one while recording; else see below
    uint32_t busy; // atomic: a thread is at work in ms_spy_attach
    uint32_t late; // atomic: a thread records what comes after its last destructor
    int32_t pid;   // of this process, to tell a vfork child from it
};
#define MS_WORD_NONE 0u          // not started, or a child that has not noticed yet
#define MS_WORD_OFF  0xffffffffu // recording is off for good
// A union of its own pages: on aarch64 pages may have 64 KiB.
union ms_wiped_page {
    struct ms_wiped wiped;
    uint8_t bytes[65536];
};
extern MS_HIDDEN union ms_wiped_page ms_wiped_page;
#define ms_wiped (ms_wiped_page.wiped)

// What a thread owns besides its thread-local object. Private memory, mapped when the thread
// records its first event.
struct ms_thread {
    uint32_t process;  // index
    uint32_t index;    // of the thread
    uint64_t sequence; // of the buffer being filled
    struct ms_live *live;
    struct ms_live *stale; // the parent's, inherited by fork: mapped, never written
    uint32_t rounds;       // of thread-exit destructors that have run
    struct ms_counters counters;
};

// Whether the calling thread records: it is attached, and to the process that it runs in.
MS_INLINE bool ms_thread_attached(const struct ms_tls *t)
{
    return t->owner + 1 == __atomic_load_n(&ms_wiped.word, __ATOMIC_RELAXED);
}

#endif
