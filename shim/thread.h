// SPDX-License-Identifier: MIT
// What a process and a thread of it own, and how a thread knows that it is attached.
#ifndef MEMSPY_THREAD_H
#define MEMSPY_THREAD_H

#include "proc.h"
#include "tls.h"

#include <memspy/counters.h>
#include <memspy/format.h>

// What a child that a fork or vfork made did since, until it tries to run a program.
struct ms_gap {
    uint64_t begin; // the clock when the fork returned in it; 0: no gap is open
    uint32_t dups;
    uint32_t closes;
    uint32_t opens;
};

// A call that makes processes, as it stood before the real one.
struct ms_birth {
    unsigned kind; // enum ms_spawn_kind
    uint64_t caller;
    uint64_t entry;   // ticks when the hook was entered
    uint64_t reading; // ticks that reading `memory` took
    uint64_t start;   // ticks before the real call
    struct ms_proc_memory memory;
};

// A vfork under way: its child runs in this thread's place, on this thread's stack. The child may
// itself vfork, and so on.
#define MS_VFORKS 8
struct ms_vfork {
    void *return_address; // of vfork's caller: the child overwrites where it stood on the stack
    int32_t pid;          // of the caller
    uint8_t state;        // of the thread then
    struct ms_birth birth;
    struct ms_gap gap; // the child's
    uint64_t own;      // ticks that the shim worked in the child
    void *environment; // a mapping that the child's exec left behind, of `mapped` bytes
    size_t mapped;
};

// What every process must have of its own: wiped to zero in the child of a fork, whoever made it
// (MADV_WIPEONFORK), so that a child notices by itself that it is new.
struct ms_wiped {
    uint32_t word; // atomic: index of this process plus one while recording; else see below
    uint32_t busy; // atomic: a thread has the turn to do what is done once (life.c)
    uint32_t late; // atomic: a thread records what comes after its last destructor
    int32_t pid;   // of this process, to tell a vfork child from it
    uint32_t told; // atomic: its PROCESS block is written, or being written
    struct ms_gap gap;
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
// records its first event. The ring has pages of its own, which are wiped in a child, so that its
// hot path is closed.
struct ms_thread {
    union {
        struct ms_ring ring;
        uint8_t ring_pages[sizeof(union ms_wiped_page)];
    };
    uint32_t process;  // index
    uint32_t index;    // of the thread
    uint64_t sequence; // of the buffer being filled
    struct ms_live *live;
    struct ms_live *stale; // the parent's, inherited by fork: mapped, never written
    uint32_t rounds;       // of thread-exit destructors that have run
    uint32_t vfork_depth;  // of vforks under way
    struct ms_vfork vforks[MS_VFORKS];
    struct ms_counters counters;
};

// Whether the calling thread records: it is attached, and to the process that it runs in.
MS_INLINE bool ms_thread_attached(const struct ms_tls *t)
{
    return t->owner + 1 == __atomic_load_n(&ms_wiped.word, __ATOMIC_RELAXED);
}

// Whether the thread, now in a signal handler, was interrupted between taking a slot and storing
// it: its buffer may not be sealed or given back now. `outer`: its state. In the long way that says
// so as well, but not in the hot path.
MS_INLINE bool ms_thread_is_storing(const struct ms_tls *t, uint8_t outer)
{
    return outer == MS_SPY || (t->thread != NULL && t->thread->ring.done != t->thread->ring.next);
}

// The vfork whose child the calling process is, or may be; NULL for none.
MS_INLINE struct ms_vfork *ms_thread_vfork(const struct ms_tls *t)
{
    if (ms_thread_attached(t) && t->thread->vfork_depth != 0)
        return &t->thread->vforks[t->thread->vfork_depth - 1];
    return NULL;
}

// The gap that the calling process is in, in a vfork child that of the thread it stands in for.
MS_INLINE struct ms_gap *ms_thread_gap(const struct ms_tls *t)
{
    struct ms_vfork *vfork = ms_thread_vfork(t);
    return vfork != NULL ? &vfork->gap : &ms_wiped.gap;
}

#endif
