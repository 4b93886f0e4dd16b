// SPDX-License-Identifier: MIT
// Hides the trace's descriptor from the program: closing its number fails as closing a number
// that is not open does, ranges leave it out, and a number that the program asks for by dup2 or
// dup3 is vacated first. Context: any thread, any time, signal handlers and vfork children
// included: close must stay async-signal-safe.
#define _GNU_SOURCE
#include "real.h"
#include "sink.h"
#include "sys.h"
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

// Whether fd is the trace's: to the program, a number that is not open.
static bool is_hidden(int fd)
{
    if (fd < 0 || fd != ms_sink_descriptor() || !ms_sink_owns_descriptor())
        return false;
    errno = EBADF;
    return true;
}

// What a new child does before it runs a program is counted: redirection, mostly.
#define COUNT(what)                                                                                \
    do {                                                                                           \
        struct ms_gap *gap = ms_thread_gap(&ms_tls);                                               \
        if (MS_UNLIKELY(gap->begin != 0))                                                          \
            gap->what++;                                                                           \
    } while (0)

MS_EXPORT int close(int fd)
{
    COUNT(closes);
    if (is_hidden(fd))
        return -1;
    if (ms_real_init())
        return ms_real.close(fd);
    long result = ms_sys_close(fd);
    if (result < 0)
        errno = (int)-result;
    return result < 0 ? -1 : 0;
}

static int real_close_range(unsigned first, unsigned last, int flags)
{
    if (ms_real_init() && ms_real.close_range != NULL)
        return ms_real.close_range(first, last, flags);
    errno = ENOSYS;
    return -1;
}

MS_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    COUNT(closes);
    int ours = ms_sink_descriptor();
    unsigned spared = (unsigned)ours;
    if (ours < 0 || spared < first || spared > last || !ms_sink_owns_descriptor())
        return real_close_range(first, last, flags);
    int result = 0;
    if (first < spared)
        result = real_close_range(first, spared - 1, flags);
    if (result == 0 && spared < last)
        result = real_close_range(spared + 1, last, flags);
    return result;
}

MS_EXPORT void closefrom(int lowest)
{
    COUNT(closes);
    int ours = ms_sink_descriptor();
    if (!ms_real_init() || ms_real.closefrom == NULL)
        return;
    if (lowest < 0)
        lowest = 0;
    if (ours < lowest || !ms_sink_owns_descriptor()) {
        ms_real.closefrom(lowest);
        return;
    }
    if (lowest < ours && real_close_range((unsigned)lowest, (unsigned)ours - 1, 0) != 0)
        for (int fd = lowest; fd < ours; fd++)
            ms_real.close(fd);
    ms_real.closefrom(ours + 1);
}

// The program wants this number: where it is the trace's, that moves. A vfork child has descriptors
// of its own but shares the memory that says which is the trace's: there the number is just taken.
static void vacate(int wanted)
{
    if (wanted >= 0 && wanted == ms_sink_descriptor() && ms_wiped.pid == ms_sys_pid())
        ms_sink_move_descriptor();
}

MS_EXPORT int dup2(int old, int wanted)
{
    COUNT(dups);
    if (is_hidden(old))
        return -1;
    vacate(wanted);
    if (!ms_real_init())
        return -1;
    return ms_real.dup2(old, wanted);
}

MS_EXPORT int dup3(int old, int wanted, int flags)
{
    COUNT(dups);
    if (is_hidden(old))
        return -1;
    vacate(wanted);
    if (!ms_real_init())
        return -1;
    return ms_real.dup3(old, wanted, flags);
}

// --- open, to be counted only -------------------------------------------------------------------

static int open_raw(int directory, const char *path, int flags, unsigned mode)
{
    long fd = ms_syscall(SYS_openat, directory, (long)path, flags, (long)mode, 0, 0);
    if (fd < 0)
        errno = (int)-fd;
    return fd < 0 ? -1 : (int)fd;
}

// The mode is there only with flags that may make a file (open(2)).
#define READ_MODE(flags, mode)                                                                     \
    do {                                                                                           \
        if (__OPEN_NEEDS_MODE(flags)) {                                                            \
            va_list list;                                                                          \
            va_start(list, flags);                                                                 \
            mode = va_arg(list, unsigned);                                                         \
            va_end(list);                                                                          \
        }                                                                                          \
    } while (0)
#ifndef __OPEN_NEEDS_MODE
#define __OPEN_NEEDS_MODE(flags) (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE)
#endif

MS_EXPORT int open(const char *path, int flags, ...)
{
    unsigned mode = 0;
    READ_MODE(flags, mode);
    COUNT(opens);
    if (!ms_real_init())
        return open_raw(AT_FDCWD, path, flags, mode);
    return ms_real.open(path, flags, mode);
}

MS_EXPORT int openat(int directory, const char *path, int flags, ...)
{
    unsigned mode = 0;
    READ_MODE(flags, mode);
    COUNT(opens);
    if (!ms_real_init())
        return open_raw(directory, path, flags, mode);
    return ms_real.openat(directory, path, flags, mode);
}

// Files are large on both machines.
MS_ALIAS(open) int open64(const char *path, int flags, ...);
MS_ALIAS(openat) int openat64(int directory, const char *path, int flags, ...);
