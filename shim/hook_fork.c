// SPDX-License-Identifier: MIT
// The calls that return in two processes: fork, _Fork, clone without CLONE_VM, daemon, forkpty. The
// child becomes a process of its own in the trace at once. atfork handlers run inside the real
// call, in parent and child, and so are part of its cost and of the child's latency. Context: any;
// fork and _Fork in signal handlers too.
#define _GNU_SOURCE
#include "real.h"
#include "lineage.h"
#include "life.h"
#include "sys.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

// While the real call is under way, an allocation in a handler of pthread_atfork may be what first
// finds that it is in the child: it finds the birth here, too.
static bool begin_fork(struct ms_birth *birth, enum ms_spawn_kind kind, const void *caller)
{
    if (!ms_spawn_before(birth, kind, caller, ms_sys_ticks()))
        return false;
    ms_tls.birth = birth;
    birth->start = ms_sys_ticks();
    return true;
}

static void begin_child(void)
{
    uint64_t counter = ms_sys_counter();
    ms_life_child(counter, ms_sys_nanoseconds(CLOCK_MONOTONIC));
    ms_tls.birth = NULL;
    ms_wiped.gap.begin = ms_sys_clock == MS_CLOCK_MONOTONIC ? ms_sys_ticks() : counter;
}

// In the parent and in the child, when the real call has returned.
static void end_fork(const struct ms_birth *birth, pid_t child)
{
    struct ms_spawn_result result = {.cost = ms_spawn_cost(birth), .has_cost = true};
    int saved = errno;
    if (child == 0) {
        begin_child();
    } else {
        ms_tls.birth = NULL;
        result.child = child;
        result.error = child < 0 ? saved : 0;
        ms_spawn_after(birth, &result);
    }
    errno = saved;
}

static pid_t fork_by(enum ms_spawn_kind kind, pid_t (*real)(void), const void *caller)
{
    struct ms_birth birth;
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    bool on = begin_fork(&birth, kind, caller);
    pid_t child = real();
    if (on)
        end_fork(&birth, child);
    return child;
}

MS_EXPORT pid_t fork(void)
{
    ms_real_init();
    return fork_by(MS_SPAWN_FORK, ms_real.fork, __builtin_return_address(0));
}

// glibc exports this name of it as well.
pid_t __fork(void);
MS_ALIAS(fork) pid_t __fork(void);

MS_EXPORT pid_t _Fork(void)
{
    ms_real_init();
    return fork_by(MS_SPAWN_FORK_RAW, ms_real._Fork, __builtin_return_address(0));
}

MS_EXPORT int forkpty(
        int *terminal, char *name, const struct termios *settings, const struct winsize *size)
{
    struct ms_birth birth;
    if (!ms_real_init() || ms_real.forkpty == NULL) {
        errno = ENOSYS;
        return -1;
    }
    bool on = begin_fork(&birth, MS_SPAWN_FORKPTY, __builtin_return_address(0));
    pid_t child = ms_real.forkpty(terminal, name, settings, size);
    if (on)
        end_fork(&birth, child);
    return child;
}

// --- clone --------------------------------------------------------------------------------------

struct start {
    int (*function)(void *);
    void *argument;
};

// The child's copy of the parent's memory still holds the caller's frame.
static int begin_clone(void *argument)
{
    const struct start start = *(struct start *)argument;
    begin_child();
    return start.function(start.argument);
}

MS_EXPORT int clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
    va_list list;
    va_start(list, argument);
    pid_t *parent_tid = va_arg(list, pid_t *);
    void *tls = va_arg(list, void *);
    pid_t *child_tid = va_arg(list, pid_t *);
    va_end(list);
    struct ms_birth birth;
    if (!ms_real_init()) {
        errno = EAGAIN;
        return -1;
    }
    // With CLONE_VM it is a thread, or the like of a vfork child: not a process of its own.
    if ((flags & CLONE_VM) || !begin_fork(&birth, MS_SPAWN_CLONE, __builtin_return_address(0)))
        return ms_real.clone(function, stack, flags, argument, parent_tid, tls, child_tid);
    struct start start = {function, argument};
    int child = ms_real.clone(function == NULL ? NULL : begin_clone, stack, flags, &start,
            parent_tid, tls, child_tid);
    end_fork(&birth, child);
    return child;
}

// --- daemon -------------------------------------------------------------------------------------

// The parent ends inside libc's daemon: its end is announced before, and the child tells of the
// fork for it. What the fork cost the parent cannot be known.
MS_EXPORT int daemon(int keep_directory, int keep_files)
{
    struct ms_birth birth;
    if (!ms_real_init() || ms_real.daemon == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (!ms_life_here())
        return ms_real.daemon(keep_directory, keep_files);
    int before = ms_sys_pid();
    uint32_t parent = ms_life_self();
    ms_life_end(MS_END_DAEMON, 0);
    begin_fork(&birth, MS_SPAWN_DAEMON, __builtin_return_address(0));
    int result = ms_real.daemon(keep_directory, keep_files);
    int saved = errno, pid = ms_sys_pid();
    struct ms_spawn_result r = {.child = pid};
    if (pid == before)
        r = (struct ms_spawn_result){
                .cost = ms_spawn_cost(&birth), .has_cost = true, .error = saved};
    ms_tls.birth = &birth; // an allocation inside may have found the child already
    if (pid != before) {
        ms_spawn_after_for(&birth, &r, parent);
        begin_child();
    } else {
        ms_spawn_after(&birth, &r);
    }
    ms_tls.birth = NULL;
    errno = saved;
    return result;
}
