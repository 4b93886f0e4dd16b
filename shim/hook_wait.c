// SPDX-License-Identifier: MIT
// The calls that learn how a child ended, traced or not: status and what it used. wait, waitpid and
// wait3 go by the real wait4, of which they are special cases in glibc and musl, since only that
// tells the usage. Context: any; all of them are cancellation points, as wait4 is.
#define _GNU_SOURCE
#include "real.h"
#include "lineage.h"
#include "sys.h"

#include <errno.h>

static void set_usage(struct ms_wait *w, const struct rusage *usage)
{
    w->has_usage = true;
    w->utime_us = (uint64_t)usage->ru_utime.tv_sec * 1000000u + (uint64_t)usage->ru_utime.tv_usec;
    w->stime_us = (uint64_t)usage->ru_stime.tv_sec * 1000000u + (uint64_t)usage->ru_stime.tv_usec;
    w->maxrss_kb = (uint64_t)usage->ru_maxrss;
}

static pid_t wait_by(enum ms_spawn_kind kind, pid_t whom, int *status, int options,
        struct rusage *usage, const void *caller)
{
    struct ms_wait w = {.kind = kind, .caller = caller};
    struct rusage own_usage;
    int own_status = 0;
    if (!ms_real_init()) {
        errno = ECHILD;
        return -1;
    }
    if (status == NULL)
        status = &own_status;
    if (usage == NULL)
        usage = &own_usage;
    w.start = ms_sys_ticks();
    pid_t child = ms_real.wait4(whom, status, options, usage);
    if (child > 0 && (WIFEXITED(*status) || WIFSIGNALED(*status))) {
        int saved = errno;
        w.child = child;
        w.status = *status;
        set_usage(&w, usage);
        ms_spawn_waited(&w);
        errno = saved;
    }
    return child;
}

MS_EXPORT pid_t wait(int *status)
{
    return wait_by(MS_SPAWN_WAIT, -1, status, 0, NULL, __builtin_return_address(0));
}

MS_EXPORT pid_t waitpid(pid_t whom, int *status, int options)
{
    return wait_by(MS_SPAWN_WAITPID, whom, status, options, NULL, __builtin_return_address(0));
}

// glibc exports these names of them as well.
pid_t __wait(int *status);
pid_t __waitpid(pid_t whom, int *status, int options);
MS_ALIAS(wait) pid_t __wait(int *status);
MS_ALIAS(waitpid) pid_t __waitpid(pid_t whom, int *status, int options);

MS_EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
    return wait_by(MS_SPAWN_WAIT3, -1, status, options, usage, __builtin_return_address(0));
}

MS_EXPORT pid_t wait4(pid_t whom, int *status, int options, struct rusage *usage)
{
    return wait_by(MS_SPAWN_WAIT4, whom, status, options, usage, __builtin_return_address(0));
}

// A wait status as wait4 would have given it.
static int status_of(const siginfo_t *info)
{
    switch (info->si_code) {
    case CLD_EXITED:
        return (info->si_status & 0xff) << 8;
    case CLD_DUMPED:
        return (info->si_status & 0x7f) | 0x80;
    default:
        return info->si_status & 0x7f;
    }
}

// libc's waitid does not tell the usage. It waits, as a cancellation point, and leaves the child;
// the kernel's own then reaps it. Where another thread was faster one waits again.
static int wait_and_reap(idtype_t type, id_t id, siginfo_t *info, int options, struct rusage *usage)
{
    for (;;) {
        int result = ms_real.waitid(type, id, info, options | WNOWAIT);
        if (result != 0 || info->si_pid == 0)
            return result;
        int failed = ms_sys_waitid(P_PID, info->si_pid, info, options | WNOHANG, usage);
        if (failed == 0 && info->si_pid != 0)
            return 0;
        if (failed != 0 && failed != -ECHILD) {
            errno = -failed;
            return -1;
        }
    }
}

static bool has_ended(const siginfo_t *info)
{
    return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
           info->si_code == CLD_DUMPED;
}

MS_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    struct ms_wait w = {.kind = MS_SPAWN_WAITID, .caller = __builtin_return_address(0)};
    struct rusage usage;
    siginfo_t own;
    if (!ms_real_init()) {
        errno = ECHILD;
        return -1;
    }
    if (options & WNOWAIT)
        return ms_real.waitid(type, id, info, options);
    if (info == NULL)
        info = &own;
    w.start = ms_sys_ticks();
    int result = wait_and_reap(type, id, info, options, &usage);
    if (result == 0 && info->si_pid != 0 && has_ended(info)) {
        int saved = errno;
        w.child = info->si_pid;
        w.status = status_of(info);
        set_usage(&w, &usage);
        ms_spawn_waited(&w);
        errno = saved;
    }
    return result;
}

MS_EXPORT int pclose(FILE *stream)
{
    struct ms_wait w = {.kind = MS_SPAWN_PCLOSE, .caller = __builtin_return_address(0)};
    if (!ms_real_init()) {
        errno = ECHILD;
        return -1;
    }
    w.start = ms_sys_ticks();
    w.stream = stream;
    int status = ms_real.pclose(stream);
    if (status != -1) {
        int saved = errno;
        w.status = status;
        ms_spawn_waited(&w);
        errno = saved;
    }
    return status;
}
