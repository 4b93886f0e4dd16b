// SPDX-License-Identifier: MIT
// Exact mode on x86-64. The kernel looks at ms_tls.place.selector at each system call made outside
// the shim's own text: while it is 1, only between ms_spy_before and ms_spy_after, the call becomes
// SIGSYS. The handler runs in the thread that made the call, at that instruction, with the
// allocator's locks held: it only makes raw system calls and records.
//
// The handler returns through a restorer of ours, since rt_sigreturn from libc's text would be
// dispatched again while the selector is 1. System calls that cannot be made from within a handler
// (they return twice, never, or unwind a signal frame: a handler of the program's came in during
// the real call) are left to be made by the program itself with dispatch off; what else that one
// call asks of the kernel is then not seen.
#define _GNU_SOURCE
#include "kernel.h"

#include "sys.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define DISPATCH_ON   1
#define CODE_DISPATCH 2 // SYS_USER_DISPATCH in si_code

// The kernel's own struct sigaction.
struct kernel_sigaction {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};
#define RESTORER 0x04000000ul

bool ms_kernel_exact;
struct sigaction ms_kernel_program_action;

static ms_kernel_record *record_event;
static uintptr_t text_begin, text_size;
static uintptr_t last_break; // atomic

void ms_kernel_restorer(void) __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".type ms_kernel_restorer, @function\n"
        "ms_kernel_restorer:\n"
        "    movl $15, %eax\n" // SYS_rt_sigreturn
        "    syscall\n"
        ".size ms_kernel_restorer, . - ms_kernel_restorer\n");

// Whether a raw result is -errno.
static bool is_error(long result)
{
    return (unsigned long)result >= (unsigned long)-4095L;
}

// The event of a memory call, its bit in ms_tls.place.seen as the result; 0 for any other call.
static uint32_t describe(struct ms_event *e, long nr, const long *a, long result)
{
    bool failed = is_error(result);
    e->aux = (uint64_t)nr;
    e->ptr = (uint64_t)a[0];
    e->size = (uint64_t)a[1];
    e->attr = failed ? MS_ATTR_FAILED : 0;
    switch (nr) {
    case SYS_brk: {
        uintptr_t before = __atomic_exchange_n(&last_break, (uintptr_t)result, __ATOMIC_RELAXED);
        bool shrank = (uintptr_t)result < before;
        e->ptr = (uint64_t)result;
        e->size = shrank ? before - (uintptr_t)result : (uintptr_t)result - before;
        e->attr = shrank ? MS_ATTR_SHRANK : 0;
        return e->size == 0 ? 0 : shrank ? MS_SEEN_BRK_SHRANK : MS_SEEN_BRK_GREW;
    }
    case SYS_mmap:
        e->ptr = failed ? (uint64_t)a[0] : (uint64_t)result;
        return MS_SEEN_MMAP;
    case SYS_munmap:
        return MS_SEEN_MUNMAP;
    case SYS_mremap:
        e->ptr = failed ? (uint64_t)a[0] : (uint64_t)result;
        e->size = (uint64_t)a[2];
        return MS_SEEN_MREMAP;
    case SYS_mprotect:
        return MS_SEEN_MPROTECT;
    case SYS_madvise:
        return MS_SEEN_MADVISE;
    default:
        return 0;
    }
}

static bool must_be_made_outside(long nr)
{
    return nr == SYS_rt_sigreturn || nr == SYS_clone || nr == SYS_clone3 || nr == SYS_fork ||
           nr == SYS_vfork || nr == SYS_exit || nr == SYS_exit_group || nr == SYS_execve ||
           nr == SYS_execveat;
}

static void make_call(struct ms_tls *t, greg_t *regs)
{
    const long a[6] = {
            regs[REG_RDI], regs[REG_RSI], regs[REG_RDX], regs[REG_R10], regs[REG_R8], regs[REG_R9]};
    struct ms_event e = {.kind = MS_KIND_KERNEL};
    long nr = regs[REG_RAX];
    uint64_t start = ms_sys_ticks();
    long result = ms_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    e.cost = ms_sys_ticks() - start;
    e.start = start;
    regs[REG_RAX] = result;
    uint32_t seen = describe(&e, nr, a, result);
    if (seen != 0 && t->place.state == MS_REAL) {
        t->place.seen |= is_error(result) ? 0 : seen;
        record_event(&e);
    }
}

static void on_sigsys(int signal, siginfo_t *info, void *context)
{
    struct ms_tls *t = &ms_tls;
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    t->place.selector = 0;
    if (info->si_code != CODE_DISPATCH) {
        // A seccomp filter of the program's: its handler's affair.
        if ((uintptr_t)ms_kernel_program_action.sa_sigaction > 1)
            ms_kernel_program_action.sa_sigaction(signal, info, context);
    } else if (must_be_made_outside(regs[REG_RAX])) {
        regs[REG_RIP] -= 2; // the syscall instruction itself
    } else {
        make_call(t, regs);
        t->place.selector = 1;
    }
}

static int find_text(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) &&
                (uintptr_t)on_sigsys - begin < p->p_memsz) {
            text_begin = begin;
            text_size = p->p_memsz;
            return 1;
        }
    }
    return 0;
}

static long dispatch_here(const void *selector)
{
    return ms_syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, DISPATCH_ON, (long)text_begin,
            (long)text_size, (long)selector, 0);
}

bool ms_kernel_init(ms_kernel_record *record)
{
    struct kernel_sigaction ours = {.handler = on_sigsys,
            .flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | RESTORER,
            .restorer = ms_kernel_restorer};
    record_event = record;
    last_break = (uintptr_t)ms_syscall(SYS_brk, 0, 0, 0, 0, 0, 0);
    dl_iterate_phdr(find_text, NULL);
    if (text_begin == 0 || dispatch_here(&ms_tls.place.selector) != 0) {
        MS_SAY("this kernel has no Syscall User Dispatch (Linux 5.11); going on without exact "
               "mode");
        return false;
    }
    struct kernel_sigaction before = {0};
    ms_syscall(SYS_rt_sigaction, SIGSYS, (long)&ours, (long)&before, sizeof ours.mask, 0, 0);
    ms_kernel_program_action.sa_sigaction = before.handler;
    ms_kernel_exact = true;
    return true;
}

void ms_kernel_attach(struct ms_tls *t)
{
    if (ms_kernel_exact)
        dispatch_here(&t->place.selector);
}

void ms_kernel_arm(struct ms_tls *t)
{
    uint64_t blocked = 0;
    ms_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&blocked, sizeof blocked, 0, 0);
    t->place.selector = (blocked >> (SIGSYS - 1) & 1) == 0;
}
