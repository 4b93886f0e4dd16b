// SPDX-License-Identifier: MIT
// Owns every system call that the shim makes and the choice of the clock. See sys.h for the
// contexts: all of them.
#define _GNU_SOURCE
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <memspy/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALL0(nr)             ms_syscall(nr, 0, 0, 0, 0, 0, 0)
#define CALL1(nr, a)          ms_syscall(nr, (long)(a), 0, 0, 0, 0, 0)
#define CALL2(nr, a, b)       ms_syscall(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(nr, a, b, c)    ms_syscall(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(nr, a, b, c, d) ms_syscall(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define CALL6(nr, a, b, c, d, e, f)                                                                \
    ms_syscall(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

uint32_t ms_sys_clock = MS_CLOCK_MONOTONIC;

uint64_t ms_sys_nanoseconds(int clock)
{
    struct timespec now = {0, 0};
    // libc's is the kernel's code in the vDSO, which makes a system call for what it does not know.
    // In exact mode that would be taken for the allocator's.
    if (clock == CLOCK_THREAD_CPUTIME_ID)
        CALL2(SYS_clock_gettime, clock, &now);
    else
        clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t ms_sys_ticks_slow(void)
{
    return ms_sys_nanoseconds(CLOCK_MONOTONIC);
}

// The kernel has chosen the counter as its own clock: it runs at one rate, never stops, and agrees
// between processors. (Documentation/virt/kvm/x86/timekeeping.rst; the file names one clock.)
static bool counter_is_trusted(void)
{
#if defined(__aarch64__)
    return true;
#else
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char name[16] = "";
    int fd = ms_sys_open(path, O_RDONLY, 0);
    if (fd < 0)
        return false;
    ms_sys_read(fd, name, sizeof name - 1);
    ms_sys_close(fd);
    return memcmp(name, "tsc\n", 4) == 0;
#endif
}

void ms_sys_clock_init(void)
{
#if defined(__aarch64__)
    uint32_t counter = MS_CLOCK_CNTVCT;
#else
    uint32_t counter = MS_CLOCK_TSC;
#endif
    ms_sys_clock = counter_is_trusted() ? counter : MS_CLOCK_MONOTONIC;
}

int ms_sys_open(const char *path, int flags, int mode)
{
    return ms_sys_open_at(AT_FDCWD, path, flags, mode);
}

int ms_sys_open_at(int directory, const char *path, int flags, int mode)
{
    return (int)CALL4(SYS_openat, directory, path, flags | O_CLOEXEC, mode);
}

int ms_sys_close(int fd)
{
    return (int)CALL1(SYS_close, fd);
}

int ms_sys_remove(const char *path)
{
    return (int)CALL3(SYS_unlinkat, AT_FDCWD, path, 0);
}

// Linux 4.11. libc's fstat would be taken for the allocator's in exact mode.
static int look_at(int directory, const char *path, int flags, struct statx *file)
{
    return (int)ms_syscall(
            SYS_statx, directory, (long)path, flags, STATX_BASIC_STATS, (long)file, 0);
}

bool ms_sys_is_special(const char *path)
{
    struct statx file;
    return look_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &file) == 0 && !S_ISREG(file.stx_mode) &&
           !S_ISLNK(file.stx_mode);
}

int ms_sys_dup_above(int fd, int lowest)
{
    return (int)CALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);
}

long ms_sys_read(int fd, void *buffer, size_t size)
{
    return CALL3(SYS_read, fd, buffer, size);
}

long ms_sys_read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
    return CALL4(SYS_pread64, fd, buffer, size, offset);
}

int ms_sys_file(int directory, const char *path, struct ms_sys_file *file)
{
    struct statx found;
    int result = look_at(directory, path, AT_EMPTY_PATH, &found);
    if (result != 0)
        return result;
    file->is_regular = S_ISREG(found.stx_mode);
    // bprm_fill_uid, Linux fs/exec.c; mounts without set-uid are not seen.
    bool to_user = (found.stx_mode & S_ISUID) && found.stx_uid != ms_sys_uid();
    bool to_group = (found.stx_mode & S_ISGID) && (found.stx_mode & S_IXGRP) &&
                    found.stx_gid != (uint32_t)CALL0(SYS_getgid);
    file->is_set_id = to_user || to_group;
    return 0;
}

bool ms_sys_has_capabilities(int fd)
{
    return ms_sys_uid() != 0 && CALL4(SYS_fgetxattr, fd, "security.capability", NULL, 0) > 0;
}

static int transfer(long nr, int fd, uint8_t *buffer, size_t size, uint64_t offset)
{
    while (size != 0) {
        long done = CALL4(nr, fd, buffer, size, offset);
        if (done == -EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? (int)done : -EIO;
        buffer += done;
        size -= (size_t)done;
        offset += (uint64_t)done;
    }
    return 0;
}

int ms_sys_pread(int fd, void *buffer, size_t size, uint64_t offset)
{
    return transfer(SYS_pread64, fd, buffer, size, offset);
}

int ms_sys_pwrite(int fd, const void *buffer, size_t size, uint64_t offset)
{
    if (!ms_sys_file_size_allowed(offset + size))
        return -EFBIG;
    return transfer(SYS_pwrite64, fd, (uint8_t *)(uintptr_t)buffer, size, offset);
}

int ms_sys_identity(int fd, uint64_t *device, uint64_t *inode)
{
    struct statx file;
    int result = look_at(fd, "", AT_EMPTY_PATH, &file);
    if (result == 0) {
        *device = (uint64_t)file.stx_dev_major << 32 | file.stx_dev_minor;
        *inode = file.stx_ino;
    }
    return result;
}

bool ms_sys_can_be_read(const void *address)
{
    // The kernel reads the set of signals before it finds that there is nothing to be done with it.
    return CALL4(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) != -EFAULT;
}

bool ms_sys_file_size_allowed(uint64_t size)
{
    struct rlimit limit;
    if (CALL4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0)
        return true;
    return limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

int ms_sys_reserve(int fd, uint64_t offset, uint64_t size)
{
    if (!ms_sys_file_size_allowed(offset + size))
        return -EFBIG;
    long result;
    do
        result = CALL4(SYS_fallocate, fd, 0, offset, size);
    while (result == -EINTR);
    if (result != -EOPNOTSUPP && result != -ENOSYS)
        return (int)result;
    // A file system without fallocate: writing zeros takes the space as well.
    static const uint8_t zeros[4096];
    for (uint64_t done = 0; done < size; done += sizeof zeros) {
        size_t piece = size - done < sizeof zeros ? (size_t)(size - done) : sizeof zeros;
        int failed = transfer(SYS_pwrite64, fd, (uint8_t *)(uintptr_t)zeros, piece, offset + done);
        if (failed)
            return failed;
    }
    return 0;
}

uint64_t ms_sys_descriptor_limit(void)
{
    struct rlimit limit;
    if (CALL4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) != 0)
        return 1024;
    return limit.rlim_cur;
}

// Below 1024, so that the kernel's table of descriptors, which every fork copies up to the highest
// one, stays small; as high as the limit allows, to be out of the program's way.
int ms_sys_move_up(int fd)
{
    uint64_t limit = ms_sys_descriptor_limit();
    for (uint64_t lowest = limit > 1000 ? 1000
                           : limit > 16 ? limit - 8
                                        : limit;
            lowest > 2; lowest /= 2) {
        int high = ms_sys_dup_above(fd, (int)lowest);
        if (high >= 0) {
            ms_sys_close(fd);
            return high;
        }
    }
    return fd;
}

static void *map(size_t size, int flags, int fd, uint64_t offset)
{
    long address = CALL6(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, flags, fd, offset);
    return (unsigned long)address >= (unsigned long)-4095L ? NULL : (void *)address;
}

void *ms_sys_map(size_t size)
{
    return map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void *ms_sys_map_file(int fd, uint64_t offset, size_t size)
{
    return map(size, MAP_SHARED, fd, offset);
}

int ms_sys_unmap(void *address, size_t size)
{
    return (int)CALL2(SYS_munmap, address, size);
}

int ms_sys_advise(void *address, size_t size, int advice)
{
    return (int)CALL3(SYS_madvise, address, size, advice);
}

int ms_sys_waitid(int type, int id, void *info, int options, void *usage)
{
    return (int)ms_syscall(SYS_waitid, type, id, (long)info, options, (long)usage, 0);
}

int ms_sys_pid(void)
{
    return (int)CALL0(SYS_getpid);
}

int ms_sys_parent_pid(void)
{
    return (int)CALL0(SYS_getppid);
}

int ms_sys_tid(void)
{
    return (int)CALL0(SYS_gettid);
}

uint32_t ms_sys_uid(void)
{
    return (uint32_t)CALL0(SYS_getuid);
}

void ms_sys_yield(void)
{
    CALL0(SYS_sched_yield);
}

void ms_sys_random(void *bytes, size_t size)
{
    if (CALL3(SYS_getrandom, bytes, size, 0) == (long)size)
        return;
    // No entropy service: the id need only differ from other traces' on this machine.
    uint64_t seed = ms_sys_nanoseconds(CLOCK_REALTIME) ^ ((uint64_t)ms_sys_pid() << 40);
    for (size_t i = 0; i < size; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ((uint8_t *)bytes)[i] = (uint8_t)(seed >> 56);
    }
}

long ms_sys_read_link(const char *path, char *buffer, size_t size)
{
    return CALL4(SYS_readlinkat, AT_FDCWD, path, buffer, size);
}

// The kernel's signal set is 64 bits on both machines.
struct ms_sys_signals ms_sys_block_signals(void)
{
    uint64_t all = ~UINT64_C(0);
    struct ms_sys_signals before = {0};
    CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before.mask, sizeof all);
    return before;
}

void ms_sys_restore_signals(struct ms_sys_signals signals)
{
    CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &signals.mask, NULL, sizeof signals.mask);
}

void ms_sys_default_action(int signal)
{
    // The kernel's own struct sigaction: handler, flags, restorer, mask. All 0 is the default.
    const uint64_t action[4] = {0};
    CALL4(SYS_rt_sigaction, signal, action, NULL, sizeof(uint64_t));
}

void ms_sys_send_again(int signal, const void *info)
{
    // A seccomp filter may know the older calls alone, which say less.
    if (CALL4(SYS_rt_tgsigqueueinfo, ms_sys_pid(), ms_sys_tid(), signal, info) != 0 &&
            CALL3(SYS_tgkill, ms_sys_pid(), ms_sys_tid(), signal) != 0)
        CALL2(SYS_kill, ms_sys_pid(), signal);
}

bool ms_sys_directory(char *buffer, size_t size)
{
    buffer[0] = '\0';
    return CALL2(SYS_getcwd, buffer, size) > 0 && buffer[0] == '/';
}
