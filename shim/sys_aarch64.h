// SPDX-License-Identifier: MIT
// aarch64: the system call instruction and the clock. Included by sys.h alone.
#ifndef MEMSPY_SYS_AARCH64_H
#define MEMSPY_SYS_AARCH64_H

#include <stddef.h>
#include <stdint.h>

// Raw system call: the result or -errno. Does not touch errno. See syscall(2).
static inline long ms_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}

static inline uint64_t ms_sys_counter(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

// Moves a pointer of the calling thread's by `words` so that no signal handler can split it.
// Returns the value before.
static inline uint64_t *ms_sys_take(uint64_t **at, ptrdiff_t words)
{
    typedef uint64_t __attribute__((may_alias)) word;
    uint64_t bytes = (uint64_t)words * sizeof(uint64_t);
    return (uint64_t *)__atomic_fetch_add((word *)at, bytes, __ATOMIC_RELAXED);
}

// Whether an address that an allocator returned has more than 48 bits, as one with a memory tag
// has.
static inline int ms_sys_is_wide(uintptr_t address)
{
    return address >> 48 != 0;
}

// The low 48 bits of a code address, which may carry an authentication code above them.
static inline uint64_t ms_sys_low48(uint64_t address)
{
    return address & ((UINT64_C(1) << 48) - 1);
}

// The thread pointer, from which thread-local slots of libc are reached.
static inline char *ms_sys_thread_pointer(void)
{
    char *tp;
    __asm__("mrs %0, tpidr_el0" : "=r"(tp));
    return tp;
}

#endif
