// SPDX-License-Identifier: MIT
// The shim's only thread-local object. Initial-exec, constant-initialised (its first touch
// allocates nothing), and never larger than 64 bytes, since it comes out of the static TLS that a
// preloaded library must share. Only its own thread touches it, but signal handlers do so at any
// instruction.
#ifndef MEMSPY_TLS_H
#define MEMSPY_TLS_H

#include <memspy/base.h>

// Where the thread is.
enum ms_state {
    MS_IDLE, // in the program
    MS_REAL, // inside a real call: what comes in now is a signal handler, or the allocator's own
    MS_SPY,  // inside memspy
};

// Whether libc takes the thread down.
enum ms_exited {
    MS_EXITED = 1,  // its last destructor has run
    MS_EXITED_LATE, // and it records for a moment what libc itself frees
};

struct ms_thread; // thread.h: the rest of what a thread owns
struct ms_birth;  // thread.h

// Set together by one store: what a real call is entered with and left with.
union ms_place {
    struct {
        uint8_t state;    // enum ms_state
        uint8_t selector; // exact mode: 1 while system calls are to be dispatched to kernel.c
        uint16_t unused;
        uint32_t seen; // exact mode: what the real call under way asked of the kernel
    };
    uint64_t word;
};

// Where a thread is in its buffer: all that its hot path looks at. All pointers are NULL while the
// thread must not store anything.
struct ms_ring {
    uint64_t *next; // the slot to be taken next
    uint64_t *end;  // behind the last slot
    uint64_t *mark; // the first call to be timed though it is predicted a cache hit takes this slot
    uint64_t *done; // behind the slot stored last; elsewhere than next while one is being stored
};

struct ms_tls {
    union ms_place place;
    uint32_t owner;       // index of the process in which the thread is attached; 0: in none
    uint32_t random;      // what the distance to the next mark is drawn from
    uint16_t exited;      // enum ms_exited
    uint16_t timing_log2; // one predicted cache hit in 2^n is timed
    uint64_t base;        // what starts are relative to, in time units
    struct ms_thread *thread;
    const struct ms_birth *birth; // of the fork under way, whose child finds it here; NULL: none
};

_Static_assert(sizeof(struct ms_tls) <= 64, "static TLS is scarce");

extern MS_HIDDEN __thread struct ms_tls ms_tls __attribute__((tls_model("initial-exec")));

#endif
