// SPDX-License-Identifier: MIT
// x86-64: the system call instruction and the clock. Included by sys.h alone.
#ifndef MEMSPY_SYS_X86_64_H
#define MEMSPY_SYS_X86_64_H

#include <stddef.h>
#include <stdint.h>

// Raw system call: the result or -errno. Does not touch errno. The kernel's calling convention is
// that of syscall(2), "Architecture calling conventions".
static inline long ms_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline uint64_t ms_sys_counter(void)
{
    return __builtin_ia32_rdtsc();
}

// Moves a pointer of the calling thread's by `words` in one instruction, which no signal handler
// can split; no bus lock, since no other thread touches it. Returns the value before.
static inline uint64_t *ms_sys_take(uint64_t **at, ptrdiff_t words)
{
    uint64_t bytes = (uint64_t)words * sizeof(uint64_t);
    __asm__ volatile("xaddq %0, %1" : "+r"(bytes), "+m"(*at) : : "memory", "cc");
    return (uint64_t *)bytes;
}

// Whether an address that an allocator returned has more than 48 bits: not on x86-64, where the
// kernel maps above 2^47 only what asks for it by address
// (Documentation/arch/x86/x86_64/5level-paging.rst).
static inline int ms_sys_is_wide(uintptr_t address)
{
    (void)address;
    return 0;
}

// The low 48 bits of a code address: all of them, by the same reason.
static inline uint64_t ms_sys_low48(uint64_t address)
{
    return address;
}

// The thread pointer, from which thread-local slots of libc are reached.
static inline char *ms_sys_thread_pointer(void)
{
    char *tp;
    __asm__("movq %%fs:0, %0" : "=r"(tp));
    return tp;
}

#endif
