// SPDX-License-Identifier: MIT
// The calls that make, replace and await processes, as SPAWN blocks hold them. FORMAT.md section
// 8.6 describes the same tables in words.
#ifndef MEMSPY_SPAWN_H
#define MEMSPY_SPAWN_H

#include "base.h"

enum ms_spawn_class {
    MS_SPAWN_UNKNOWN, // a kind that this program does not know
    MS_SPAWN_FORKS,   // returns in parent and child
    MS_SPAWN_STARTS,  // makes a child that runs a program, and tells its pid
    MS_SPAWN_SHELLS,  // makes children inside libc and does not tell their pids
    MS_SPAWN_EXECS,   // replaces the program
    MS_SPAWN_WAITS,   // learned how a child ended
    MS_SPAWN_BEGINS,  // the program's main was entered
};

// X(NAME, number, "name in reports", class)
#define MS_SPAWN_KINDS(X)                                                                          \
    X(FORK, 1, "fork", FORKS)                                                                      \
    X(FORK_RAW, 2, "_Fork", FORKS)                                                                 \
    X(VFORK, 3, "vfork", FORKS)                                                                    \
    X(CLONE, 4, "clone", FORKS)                                                                    \
    X(DAEMON, 5, "daemon", FORKS)                                                                  \
    X(FORKPTY, 6, "forkpty", FORKS)                                                                \
    X(POSIX_SPAWN, 7, "posix_spawn", STARTS)                                                       \
    X(POSIX_SPAWNP, 8, "posix_spawnp", STARTS)                                                     \
    X(PIDFD_SPAWN, 9, "pidfd_spawn", STARTS)                                                       \
    X(PIDFD_SPAWNP, 10, "pidfd_spawnp", STARTS)                                                    \
    X(SYSTEM, 11, "system", SHELLS)                                                                \
    X(POPEN, 12, "popen", SHELLS)                                                                  \
    X(WORDEXP, 13, "wordexp", SHELLS)                                                              \
    X(EXECVE, 20, "execve", EXECS)                                                                 \
    X(EXECV, 21, "execv", EXECS)                                                                   \
    X(EXECVP, 22, "execvp", EXECS)                                                                 \
    X(EXECVPE, 23, "execvpe", EXECS)                                                               \
    X(EXECL, 24, "execl", EXECS)                                                                   \
    X(EXECLP, 25, "execlp", EXECS)                                                                 \
    X(EXECLE, 26, "execle", EXECS)                                                                 \
    X(EXECVEAT, 27, "execveat", EXECS)                                                             \
    X(FEXECVE, 28, "fexecve", EXECS)                                                               \
    X(WAIT, 40, "wait", WAITS)                                                                     \
    X(WAITPID, 41, "waitpid", WAITS)                                                               \
    X(WAIT3, 42, "wait3", WAITS)                                                                   \
    X(WAIT4, 43, "wait4", WAITS)                                                                   \
    X(WAITID, 44, "waitid", WAITS)                                                                 \
    X(PCLOSE, 45, "pclose", WAITS)                                                                 \
    X(MAIN, 60, "main", BEGINS)

enum ms_spawn_kind {
#define MS_SPAWN_ENUM(name, number, text, class) MS_SPAWN_##name = number,
    MS_SPAWN_KINDS(MS_SPAWN_ENUM)
#undef MS_SPAWN_ENUM
};

// X(NAME, tag, "key in dumps", is a text). Sizes are in KiB, times in ticks of the file's clock but
// for UTIME and STIME, which are in microseconds.
#define MS_SPAWN_PROPERTIES(X)                                                                     \
    X(KIND, 1, "kind", false)                                                                      \
    X(PID, 2, "pid", false)                                                                        \
    X(TID, 3, "tid", false)                                                                        \
    X(CHILD, 4, "child", false)                                                                    \
    X(START, 5, "start", false)                                                                    \
    X(COST, 6, "cost", false)                                                                      \
    X(ERRNO, 7, "errno", false)                                                                    \
    X(CALLER, 8, "caller", false)                                                                  \
    X(RSS, 9, "rss_kb", false)                                                                     \
    X(RSS_ANON, 10, "rss_anon_kb", false)                                                          \
    X(RSS_FILE, 11, "rss_file_kb", false)                                                          \
    X(RSS_SHMEM, 12, "rss_shmem_kb", false)                                                        \
    X(PTE, 13, "pte_kb", false)                                                                    \
    X(VSZ, 14, "vsz_kb", false)                                                                    \
    X(THREADS, 15, "threads", false)                                                               \
    X(READING, 16, "reading", false)                                                               \
    X(PATH, 17, "path", true)                                                                      \
    X(ARGV, 18, "argv", true)                                                                      \
    X(ENTRY, 19, "entry", false)                                                                   \
    X(TARGET, 20, "target", false)                                                                 \
    X(STATUS, 21, "status", false)                                                                 \
    X(UTIME, 22, "utime_us", false)                                                                \
    X(STIME, 23, "stime_us", false)                                                                \
    X(MAXRSS, 24, "maxrss_kb", false)                                                              \
    X(STREAM, 25, "stream", false)                                                                 \
    X(GAP_BEGIN, 26, "gap_begin", false)                                                           \
    X(GAP_DUPS, 27, "gap_dups", false)                                                             \
    X(GAP_CLOSES, 28, "gap_closes", false)                                                         \
    X(GAP_OPENS, 29, "gap_opens", false)                                                           \
    X(OWN, 30, "own", false)

enum ms_spawn_property {
#define MS_SPAWN_ENUM(name, tag, text, is_text) MS_SPAWN_P_##name = tag,
    MS_SPAWN_PROPERTIES(MS_SPAWN_ENUM)
#undef MS_SPAWN_ENUM
};

// What a program file is, looked at just before it was to be run.
enum ms_target {
    MS_TARGET_UNKNOWN,
    MS_TARGET_FOLLOWED, // linked dynamically, for this machine
    MS_TARGET_STATIC,   // no dynamic loader: nothing can be preloaded
    MS_TARGET_SECURE,   // set-uid, set-gid or with capabilities: the loader ignores preloads
    MS_TARGET_FOREIGN,  // another ELF class or machine than this process
    MS_TARGET_ABSENT,   // cannot be opened
    MS_TARGET_NO_SHIM,  // the shim's own file is not to be reached from here (another root)
    MS_TARGET_ALONE,    // MEMSPY_FOLLOW=0
    MS_TARGET_DROPPED,  // the program took the shim out of the environment that it will get
};

#define MS_SPAWN_PATH_MAX 1024 // longer paths are cut at their end
#define MS_SPAWN_ARGV_MAX 512

static inline enum ms_spawn_class ms_spawn_class(unsigned kind)
{
    switch (kind) {
#define MS_SPAWN_CLASS(name, number, text, class)                                                  \
    case number:                                                                                   \
        return MS_SPAWN_##class;
        MS_SPAWN_KINDS(MS_SPAWN_CLASS)
#undef MS_SPAWN_CLASS
    default:
        return MS_SPAWN_UNKNOWN;
    }
}

// The kind's name, NULL for an unknown one.
static inline const char *ms_spawn_name(unsigned kind)
{
    switch (kind) {
#define MS_SPAWN_NAME(name, number, text, class)                                                   \
    case number:                                                                                   \
        return text;
        MS_SPAWN_KINDS(MS_SPAWN_NAME)
#undef MS_SPAWN_NAME
    default:
        return NULL;
    }
}

#endif
