// SPDX-License-Identifier: MIT
// Where processes end or become another program: exec, spawn, _exit. What is recorded is made
// complete first, and the environment of the program to come is repaired so that it joins the
// trace. The repaired copy lives on the caller's stack: exec may be called in a vfork child, whose
// heap is its parent's.
#define _GNU_SOURCE
#include "env.h"
#include "real.h"
#include "spy.h"
#include "sys.h"

#include <alloca.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

// Copies larger than this are mapped: the stack may be a small one. An exec that succeeds takes the
// mapping with it (but in a vfork child, whose parent keeps it), one that fails gives it back.
#define STACK_COPY 32768

struct copy {
    char **environment;
    size_t mapped; // bytes, 0 for a copy on the stack or none
};

static void give_back(const struct copy *copy)
{
    if (copy->mapped != 0)
        ms_sys_unmap(copy->environment, copy->mapped);
}

// Fills *c with `environment`, or a copy of it that lets the child join, in the caller's frame.
#define REPAIR(c, given)                                                                           \
    do {                                                                                           \
        size_t pointers = ms_env_repaired_size(given);                                             \
        size_t bytes = pointers * sizeof(char *);                                                  \
        char **copied = bytes == 0           ? NULL                                                \
                        : bytes < STACK_COPY ? alloca(bytes)                                       \
                                             : ms_sys_map(bytes);                                  \
        *(c) = (struct copy){(char **)(uintptr_t)(given), 0};                                      \
        if (copied != NULL) {                                                                      \
            ms_env_repair(given, copied);                                                          \
            *(c) = (struct copy){copied, bytes < STACK_COPY ? 0 : bytes};                          \
        }                                                                                          \
    } while (0)

// Only a failed exec returns.
static int exec_failed(int result, const struct copy *copy)
{
    int saved = errno;
    give_back(copy);
    ms_spy_end(MS_END_EXEC_FAILED, saved, NULL);
    errno = saved;
    return result;
}

MS_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    if (!ms_real_init())
        return -1;
    ms_spy_end(MS_END_EXEC, 0, path);
    struct copy c;
    REPAIR(&c, environment);
    return exec_failed(ms_real.execve(path, arguments, c.environment), &c);
}

MS_EXPORT int execv(const char *path, char *const arguments[])
{
    return execve(path, arguments, environ);
}

MS_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    if (!ms_real_init())
        return -1;
    ms_spy_end(MS_END_EXEC, 0, file);
    struct copy c;
    REPAIR(&c, environment);
    return exec_failed(ms_real.execvpe(file, arguments, c.environment), &c);
}

MS_EXPORT int execvp(const char *file, char *const arguments[])
{
    return execvpe(file, arguments, environ);
}

MS_EXPORT int execveat(int directory, const char *path, char *const arguments[],
        char *const environment[], int flags)
{
    if (!ms_real_init() || ms_real.execveat == NULL) {
        errno = ENOSYS;
        return -1;
    }
    ms_spy_end(MS_END_EXEC, 0, path);
    struct copy c;
    REPAIR(&c, environment);
    return exec_failed(ms_real.execveat(directory, path, arguments, c.environment, flags), &c);
}

MS_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    if (!ms_real_init())
        return -1;
    ms_spy_end(MS_END_EXEC, 0, NULL);
    struct copy c;
    REPAIR(&c, environment);
    return exec_failed(ms_real.fexecve(fd, arguments, c.environment), &c);
}

// The arguments of a variadic exec as an array in this function's frame; `list` is left behind
// the terminating null pointer.
#define COLLECT(first, list, arguments)                                                            \
    do {                                                                                           \
        va_list counting;                                                                          \
        size_t count = 1;                                                                          \
        va_copy(counting, list);                                                                   \
        for (const char *at = first; at != NULL; at = va_arg(counting, const char *))              \
            count++;                                                                               \
        va_end(counting);                                                                          \
        arguments = alloca(count * sizeof *arguments);                                             \
        arguments[0] = (char *)(uintptr_t)first;                                                   \
        for (size_t i = 1; i < count; i++)                                                         \
            arguments[i] = va_arg(list, char *);                                                   \
    } while (0)

MS_EXPORT int execl(const char *path, const char *first, ...)
{
    va_list list;
    char **arguments;
    va_start(list, first);
    COLLECT(first, list, arguments);
    va_end(list);
    return execve(path, arguments, environ);
}

MS_EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list list;
    char **arguments;
    va_start(list, first);
    COLLECT(first, list, arguments);
    va_end(list);
    return execvpe(file, arguments, environ);
}

MS_EXPORT int execle(const char *path, const char *first, ...)
{
    va_list list;
    char **arguments;
    va_start(list, first);
    COLLECT(first, list, arguments);
    char **environment = va_arg(list, char **);
    va_end(list);
    return execve(path, arguments, environment);
}

MS_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    if (!ms_real_init())
        return ENOSYS;
    struct copy c;
    REPAIR(&c, environment);
    int failed = ms_real.posix_spawn(pid, path, actions, attributes, arguments, c.environment);
    give_back(&c);
    return failed;
}

MS_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    if (!ms_real_init())
        return ENOSYS;
    struct copy c;
    REPAIR(&c, environment);
    int failed = ms_real.posix_spawnp(pid, file, actions, attributes, arguments, c.environment);
    give_back(&c);
    return failed;
}

MS_EXPORT void _exit(int status)
{
    ms_spy_end(MS_END_EXIT_NOW, status, NULL);
    ms_real_init();
    ms_real._exit(status);
    __builtin_unreachable();
}

MS_EXPORT void _Exit(int status) __attribute__((alias("_exit")));

MS_EXPORT void quick_exit(int status)
{
    ms_spy_end(MS_END_QUICK_EXIT, status, NULL);
    ms_real_init();
    ms_real.quick_exit(status);
    __builtin_unreachable();
}
