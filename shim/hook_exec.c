// SPDX-License-Identifier: MIT
// The exec functions. What is recorded is made complete first, the attempt is announced, and the
// environment is repaired so that the new program joins the trace. A search of PATH is made here,
// as glibc makes it (posix/execvpe.c, 2.36), so that each attempt is seen. Context: any, vfork
// children included: all memory is the caller's stack.
#define _GNU_SOURCE
#include "env_copy.h"
#include "real.h"
#include "lineage.h"
#include "program.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

// Only a failed attempt returns.
static int end_attempt(struct ms_exec *x, const struct ms_env_copy *copy)
{
    int saved = errno;
    ms_env_give_back(copy);
    ms_exec_failed(x, saved);
    errno = saved;
    return -1;
}

static int attempt(
        struct ms_exec *x, const char *path, char *const arguments[], char *const environment[])
{
    struct ms_env_copy copy;
    ms_exec_before(x, AT_FDCWD, path, path, arguments, environment);
    MS_ENV_REPAIR(&copy, environment, ms_program_may_follow(x->target));
    ms_real.execve(path, arguments, copy.environment);
    return end_attempt(x, &copy);
}

static int exec_path(enum ms_spawn_kind kind, const void *caller, const char *path,
        char *const arguments[], char *const environment[])
{
    struct ms_exec x;
    ms_exec_enter(&x, kind, caller);
    if (!ms_real_init()) {
        errno = ENOMEM;
        return -1;
    }
    return attempt(&x, path, arguments, environment);
}

// A file that the kernel does not know how to run is taken for a shell script.
static int exec_script(
        struct ms_exec *x, const char *file, char *const arguments[], char *const environment[])
{
    size_t count = 0;
    while (arguments[count] != NULL)
        count++;
    char *for_shell[count + 3];
    for_shell[0] = (char *)(uintptr_t)_PATH_BSHELL;
    for_shell[1] = (char *)(uintptr_t)file;
    for_shell[2] = NULL;
    for (size_t i = 1; i <= count; i++)
        for_shell[i + 1] = arguments[i];
    return attempt(x, for_shell[0], for_shell, environment);
}

static int attempt_or_script(
        struct ms_exec *x, const char *file, char *const arguments[], char *const environment[])
{
    attempt(x, file, arguments, environment);
    return errno == ENOEXEC ? exec_script(x, file, arguments, environment) : -1;
}

// Whether a search goes on after this error.
static bool may_be_elsewhere(int error)
{
    return error == EACCES || error == ENOENT || error == ESTALE || error == ENOTDIR ||
           error == ENODEV || error == ETIMEDOUT;
}

static int search(
        struct ms_exec *x, const char *file, char *const arguments[], char *const environment[])
{
    const char *list = getenv("PATH");
    if (list == NULL)
        list = "/bin:/usr/bin"; // confstr(3), _CS_PATH
    // A longer name is cut where the kernel finds it too long.
    size_t file_length = strnlen(file, NAME_MAX) + 1;
    size_t path_length = strnlen(list, PATH_MAX - 1) + 1;
    bool was_refused = false;
    char buffer[path_length + file_length + 2];
    for (const char *at = list, *end;; at = end) {
        end = strchrnul(at, ':');
        size_t length = (size_t)(end - at);
        if (length >= path_length) {
            // Left out; what then stands at `end` is taken for an empty entry.
            if (*end == '\0')
                break;
            continue;
        }
        memcpy(buffer, at, length);
        buffer[length] = '/';
        memcpy(buffer + length + (length != 0), file, file_length);
        buffer[length + (length != 0) + file_length] = '\0';
        attempt_or_script(x, buffer, arguments, environment);
        if (!may_be_elsewhere(errno))
            return -1;
        was_refused |= errno == EACCES;
        if (*end++ == '\0')
            break;
    }
    if (was_refused)
        errno = EACCES;
    return -1;
}

// Another libc's own search is one attempt.
static int search_unseen(
        struct ms_exec *x, const char *file, char *const arguments[], char *const environment[])
{
    struct ms_env_copy copy;
    ms_exec_before(x, AT_FDCWD, NULL, file, arguments, environment);
    MS_ENV_REPAIR(&copy, environment, true);
    ms_real.execvpe(file, arguments, copy.environment);
    return end_attempt(x, &copy);
}

static int exec_file(enum ms_spawn_kind kind, const void *caller, const char *file,
        char *const arguments[], char *const environment[])
{
    struct ms_exec x;
    ms_exec_enter(&x, kind, caller);
    if (!ms_real_init()) {
        errno = ENOMEM;
        return -1;
    }
    if (!ms_real_is_glibc())
        return search_unseen(&x, file, arguments, environment);
    if (*file == '\0') {
        errno = ENOENT;
        return -1;
    }
    if (strchr(file, '/') != NULL)
        return attempt_or_script(&x, file, arguments, environment);
    return search(&x, file, arguments, environment);
}

MS_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    return exec_path(MS_SPAWN_EXECVE, __builtin_return_address(0), path, arguments, environment);
}

MS_EXPORT int execv(const char *path, char *const arguments[])
{
    return exec_path(MS_SPAWN_EXECV, __builtin_return_address(0), path, arguments, environ);
}

MS_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    return exec_file(MS_SPAWN_EXECVPE, __builtin_return_address(0), file, arguments, environment);
}

MS_EXPORT int execvp(const char *file, char *const arguments[])
{
    return exec_file(MS_SPAWN_EXECVP, __builtin_return_address(0), file, arguments, environ);
}

MS_EXPORT int execl(const char *path, const char *first, ...)
{
    va_list list;
    char **arguments;
    va_start(list, first);
    COLLECT(first, list, arguments);
    va_end(list);
    return exec_path(MS_SPAWN_EXECL, __builtin_return_address(0), path, arguments, environ);
}

MS_EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list list;
    char **arguments;
    va_start(list, first);
    COLLECT(first, list, arguments);
    va_end(list);
    return exec_file(MS_SPAWN_EXECLP, __builtin_return_address(0), file, arguments, environ);
}

MS_EXPORT int execle(const char *path, const char *first, ...)
{
    va_list list;
    char **arguments;
    va_start(list, first);
    COLLECT(first, list, arguments);
    char **environment = va_arg(list, char **);
    va_end(list);
    return exec_path(MS_SPAWN_EXECLE, __builtin_return_address(0), path, arguments, environment);
}

// --- by descriptor ------------------------------------------------------------------------------

// What an open descriptor refers to; empty when the system does not say.
static void name_descriptor(int fd, char *name, size_t size)
{
    char link[40] = "/proc/self/fd/";
    name[0] = '\0';
    if (fd < 0 || !ms_sys_append_number(link, sizeof link, (uint64_t)fd))
        return;
    long length = ms_sys_read_link(link, name, size - 1);
    name[length > 0 ? length : 0] = '\0';
}

MS_EXPORT int execveat(int directory, const char *path, char *const arguments[],
        char *const environment[], int flags)
{
    struct ms_exec x;
    struct ms_env_copy copy;
    char name[MS_SPAWN_PATH_MAX];
    ms_exec_enter(&x, MS_SPAWN_EXECVEAT, __builtin_return_address(0));
    if (!ms_real_init() || ms_real.execveat == NULL) {
        errno = ENOSYS;
        return -1;
    }
    bool by_descriptor = (flags & AT_EMPTY_PATH) && path[0] == '\0';
    if (by_descriptor)
        name_descriptor(directory, name, sizeof name);
    ms_exec_before(&x, directory, path, by_descriptor ? name : path, arguments, environment);
    MS_ENV_REPAIR(&copy, environment, ms_program_may_follow(x.target));
    ms_real.execveat(directory, path, arguments, copy.environment, flags);
    return end_attempt(&x, &copy);
}

MS_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    struct ms_exec x;
    struct ms_env_copy copy;
    char name[MS_SPAWN_PATH_MAX];
    ms_exec_enter(&x, MS_SPAWN_FEXECVE, __builtin_return_address(0));
    if (!ms_real_init()) {
        errno = ENOSYS;
        return -1;
    }
    name_descriptor(fd, name, sizeof name);
    ms_exec_before(&x, fd, "", name, arguments, environment);
    copy = (struct ms_env_copy){(char **)(uintptr_t)environment, 0};
    if (environment != NULL) // which is an error that libc finds
        MS_ENV_REPAIR(&copy, environment, ms_program_may_follow(x.target));
    ms_real.fexecve(fd, arguments, copy.environment);
    return end_attempt(&x, &copy);
}
