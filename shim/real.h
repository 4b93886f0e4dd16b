// SPDX-License-Identifier: MIT
// The real functions: the next definition of each hooked name after ours, found with the shim's
// only dlsym. Until they are known (dlsym itself may allocate), the bootstrap pool serves.
#ifndef MEMSPY_REAL_H
#define MEMSPY_REAL_H

#include <memspy/base.h>
#include <signal.h>
#include <pty.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <wordexp.h>

// X(result, name, parameters). A function that libc lacks is NULL, and its hook says ENOSYS or
// falls back, as the hook's comment states.
//
// Those of MS_REAL_SINCE_* are looked for only where glibc is known to have them: a look-up that
// fails allocates its message, and frees it in the program's next call of dlsym, through whatever
// free is in front of ours.
#define MS_REAL_SINCE_243(X)                                                                       \
    X(void, free_sized, (void *, size_t))                                                          \
    X(void, free_aligned_sized, (void *, size_t, size_t))
#define MS_REAL_SINCE_239(X)                                                                       \
    X(int, pidfd_spawn,                                                                            \
            (int *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,   \
                    char *const[], char *const[]))                                                 \
    X(int, pidfd_spawnp,                                                                           \
            (int *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,   \
                    char *const[], char *const[]))                                                 \
    X(pid_t, pidfd_getpid, (int))
#define MS_REAL_FUNCTIONS(X)                                                                       \
    X(void *, malloc, (size_t))                                                                    \
    X(void *, calloc, (size_t, size_t))                                                            \
    X(void *, realloc, (void *, size_t))                                                           \
    X(void *, memalign, (size_t, size_t))                                                          \
    X(void *, aligned_alloc, (size_t, size_t))                                                     \
    X(int, posix_memalign, (void **, size_t, size_t))                                              \
    X(void *, valloc, (size_t))                                                                    \
    X(void *, pvalloc, (size_t))                                                                   \
    X(size_t, malloc_usable_size, (void *))                                                        \
    X(int, malloc_trim, (size_t))                                                                  \
    X(void, free, (void *))                                                                        \
    X(void *, mmap, (void *, size_t, int, int, int, off_t))                                        \
    X(int, munmap, (void *, size_t))                                                               \
    X(void *, mremap, (void *, size_t, size_t, int, ...))                                          \
    X(int, brk, (void *))                                                                          \
    X(void *, sbrk, (intptr_t))                                                                    \
    X(int, madvise, (void *, size_t, int))                                                         \
    X(pid_t, fork, (void))                                                                         \
    X(pid_t, _Fork, (void))                                                                        \
    X(pid_t, vfork, (void))                                                                        \
    X(int, clone, (int (*)(void *), void *, int, void *, ...))                                     \
    X(int, daemon, (int, int))                                                                     \
    X(pid_t, forkpty, (int *, char *, const struct termios *, const struct winsize *))             \
    X(int, system, (const char *))                                                                 \
    X(FILE *, popen, (const char *, const char *))                                                 \
    X(int, pclose, (FILE *))                                                                       \
    X(int, wordexp, (const char *, wordexp_t *, int))                                              \
    X(pid_t, wait4, (pid_t, int *, int, struct rusage *))                                          \
    X(int, waitid, (idtype_t, id_t, siginfo_t *, int))                                             \
    X(int, __libc_start_main,                                                                      \
            (int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),         \
                    void (*)(void), void *))                                                       \
    X(int, open, (const char *, int, ...))                                                         \
    X(int, openat, (int, const char *, int, ...))                                                  \
    X(int, execve, (const char *, char *const[], char *const[]))                                   \
    X(int, execvpe, (const char *, char *const[], char *const[]))                                  \
    X(int, execveat, (int, const char *, char *const[], char *const[], int))                       \
    X(int, fexecve, (int, char *const[], char *const[]))                                           \
    X(int, posix_spawn,                                                                            \
            (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
                    char *const[], char *const[]))                                                 \
    X(int, posix_spawnp,                                                                           \
            (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
                    char *const[], char *const[]))                                                 \
    X(void, _exit, (int))                                                                          \
    X(void, quick_exit, (int))                                                                     \
    X(ms_real_handler, signal, (int, ms_real_handler))                                             \
    X(ms_real_handler, __sysv_signal, (int, ms_real_handler))                                      \
    X(ms_real_handler, sigset, (int, ms_real_handler))                                             \
    X(int, sigaction, (int, const struct sigaction *, struct sigaction *))                         \
    X(int, close, (int))                                                                           \
    X(void, closefrom, (int))                                                                      \
    X(int, close_range, (unsigned, unsigned, int))                                                 \
    X(int, dup2, (int, int))                                                                       \
    X(int, dup3, (int, int, int))

typedef void (*ms_real_handler)(int);

struct ms_real {
#define MS_REAL_MEMBER(result, name, parameters) result(*name) parameters;
    MS_REAL_FUNCTIONS(MS_REAL_MEMBER)
    MS_REAL_SINCE_239(MS_REAL_MEMBER)
    MS_REAL_SINCE_243(MS_REAL_MEMBER)
#undef MS_REAL_MEMBER
};

// Read-only once ms_real_ready() is true. Unit tests put their own functions here.
extern MS_HIDDEN struct ms_real ms_real;
extern MS_HIDDEN bool ms_real_known;

// Whether the real functions are known.
MS_INLINE bool ms_real_ready(void)
{
    return __atomic_load_n(&ms_real_known, __ATOMIC_ACQUIRE);
}

// Looks the real functions up. Returns whether they are known; false while another call of it, in
// this thread further up or in another thread, is at work.
bool ms_real_init(void);

// Whether the libc is glibc.
bool ms_real_is_glibc(void);

// Looks up any other symbol, for instance libc's break. NULL when there is none.
void *ms_real_symbol(const char *name);

// The bootstrap pool. Blocks are never given back; free ignores them and realloc copies out.
// Returns NULL when the pool, MS_BOOT_SIZE bytes, is used up.
#define MS_BOOT_SIZE 65536
void *ms_boot_alloc(size_t size, size_t align);
extern MS_HIDDEN char ms_boot_pool[MS_BOOT_SIZE];
MS_INLINE bool ms_boot_owns(const void *block)
{
    return MS_UNLIKELY((uintptr_t)block - (uintptr_t)ms_boot_pool < MS_BOOT_SIZE);
}
size_t ms_boot_size(const void *block);
// Calls that the pool or the real functions served before recording could begin.
extern MS_HIDDEN uint64_t ms_boot_calls;

#endif
