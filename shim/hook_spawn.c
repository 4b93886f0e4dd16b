// SPDX-License-Identifier: MIT
// The calls inside which libc makes a child and starts a program in it: posix_spawn and its
// relatives, system, popen, wordexp. libc does that by clones of its own that no hook sees, so that
// each is one event. Context: any thread.
#define _GNU_SOURCE
#include "env_copy.h"
#include "program.h"
#include "real.h"
#include "lineage.h"
#include "life.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <stdlib.h>
#include <string.h>

static bool has_slash(const char *name)
{
    return name != NULL && strchr(name, '/') != NULL;
}

typedef int spawn_function(pid_t *, const char *, const posix_spawn_file_actions_t *,
        const posix_spawnattr_t *, char *const[], char *const[]);

struct spawn {
    enum ms_spawn_kind kind;
    const void *caller;
    spawn_function *real;
    bool by_path; // the name is a path, not to be searched for
    bool by_pidfd;
};

static pid_t child_of(const struct spawn *how, int made)
{
    if (!how->by_pidfd)
        return made;
    int saved = errno;
    pid_t child = ms_real.pidfd_getpid == NULL ? 0 : ms_real.pidfd_getpid(made);
    errno = saved;
    return child > 0 ? child : 0;
}

// The child may change its directory first: then a relative path means another file.
static enum ms_target look(
        const struct spawn *how, const char *name, const posix_spawn_file_actions_t *actions)
{
    if (!how->by_path)
        return ms_program_find(name);
    return name[0] == '/' || actions == NULL ? ms_program_look(AT_FDCWD, name) : MS_TARGET_UNKNOWN;
}

// `made` is where the child's pid, or a descriptor of it, goes; it may be NULL for a pid.
static int spawn_by(const struct spawn *how, int *made, const char *name,
        const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
        char *const arguments[], char *const environment[])
{
    struct ms_env_copy copy;
    uint64_t entry = ms_sys_ticks();
    struct ms_birth birth;
    struct ms_spawn_result result = {.path = name, .arguments = arguments, .has_cost = true};
    int own = 0;
    if (how->real == NULL)
        return ENOSYS;
    if (ms_life_here() && name != NULL)
        result.target = look(how, name, actions);
    if (result.target == MS_TARGET_FAULT)
        result = (struct ms_spawn_result){.has_cost = true};
    MS_ENV_REPAIR(&copy, environment, ms_program_may_follow(result.target));
    bool on = ms_spawn_before(&birth, how->kind, how->caller, entry);
    if (made == NULL)
        made = &own;
    result.error = how->real(made, name, actions, attributes, arguments, copy.environment);
    if (on) {
        result.cost = ms_spawn_cost(&birth);
        result.child = result.error == 0 ? child_of(how, *made) : 0;
        ms_spawn_after(&birth, &result);
    }
    ms_env_give_back(&copy);
    return result.error;
}

MS_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    ms_real_init();
    const struct spawn how = {
            MS_SPAWN_POSIX_SPAWN, __builtin_return_address(0), ms_real.posix_spawn, true, false};
    return spawn_by(&how, pid, path, actions, attributes, arguments, environment);
}

MS_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    ms_real_init();
    const struct spawn how = {MS_SPAWN_POSIX_SPAWNP, __builtin_return_address(0),
            ms_real.posix_spawnp, has_slash(file), false};
    return spawn_by(&how, pid, file, actions, attributes, arguments, environment);
}

// glibc 2.39. Where libc has them not they say ENOSYS, as on a kernel that cannot.
int pidfd_spawn(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]);
int pidfd_spawnp(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]);

MS_EXPORT int pidfd_spawn(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    ms_real_init();
    const struct spawn how = {
            MS_SPAWN_PIDFD_SPAWN, __builtin_return_address(0), ms_real.pidfd_spawn, true, true};
    return spawn_by(&how, pidfd, path, actions, attributes, arguments, environment);
}

MS_EXPORT int pidfd_spawnp(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    ms_real_init();
    const struct spawn how = {MS_SPAWN_PIDFD_SPAWNP, __builtin_return_address(0),
            ms_real.pidfd_spawnp, has_slash(file), true};
    return spawn_by(&how, pidfd, file, actions, attributes, arguments, environment);
}

// --- with a shell -------------------------------------------------------------------------------

// libc gives the shell what stands in environ.
static enum ms_target look_at_shell(void)
{
    if (!ms_life_here())
        return MS_TARGET_UNKNOWN;
    enum ms_target target = ms_program_look(AT_FDCWD, _PATH_BSHELL);
    return target == MS_TARGET_FOLLOWED && !ms_env_is_complete() ? MS_TARGET_DROPPED : target;
}

MS_EXPORT int system(const char *command)
{
    uint64_t entry = ms_sys_ticks();
    struct ms_birth birth;
    if (!ms_real_init())
        return -1;
    if (command == NULL)
        return ms_real.system(command);
    enum ms_target target = look_at_shell();
    if (!ms_spawn_before(&birth, MS_SPAWN_SYSTEM, __builtin_return_address(0), entry))
        return ms_real.system(command);
    int status = ms_real.system(command);
    int saved = errno;
    struct ms_spawn_result result = {.cost = ms_spawn_cost(&birth),
            .has_cost = true,
            .has_status = status != -1,
            .status = status,
            .error = status == -1 ? saved : 0,
            .target = target,
            .command = command};
    ms_spawn_after(&birth, &result);
    errno = saved;
    return status;
}

MS_EXPORT FILE *popen(const char *command, const char *mode)
{
    uint64_t entry = ms_sys_ticks();
    struct ms_birth birth;
    if (!ms_real_init())
        return NULL;
    enum ms_target target = look_at_shell();
    if (!ms_spawn_before(&birth, MS_SPAWN_POPEN, __builtin_return_address(0), entry))
        return ms_real.popen(command, mode);
    FILE *stream = ms_real.popen(command, mode);
    int saved = errno;
    struct ms_spawn_result result = {.cost = ms_spawn_cost(&birth),
            .has_cost = true,
            .error = stream == NULL ? saved : 0,
            .target = target,
            .command = command,
            .stream = stream};
    ms_spawn_after(&birth, &result);
    errno = saved;
    return stream;
}

// $(command), but not $((arithmetic)).
static bool has_command(const char *words)
{
    const char *at = words;
    while ((at = strstr(at, "$(")) != NULL) {
        at += 2;
        if (*at != '(')
            return true;
    }
    return false;
}

// Only a command substitution makes a process.
MS_EXPORT int wordexp(const char *restrict words, wordexp_t *restrict result, int flags)
{
    uint64_t entry = ms_sys_ticks();
    struct ms_birth birth;
    if (!ms_real_init())
        return WRDE_NOSPACE;
    bool may_fork = !(flags & WRDE_NOCMD) && (strchr(words, '`') != NULL || has_command(words));
    if (!may_fork)
        return ms_real.wordexp(words, result, flags);
    enum ms_target target = look_at_shell();
    if (!ms_spawn_before(&birth, MS_SPAWN_WORDEXP, __builtin_return_address(0), entry))
        return ms_real.wordexp(words, result, flags);
    int failed = ms_real.wordexp(words, result, flags);
    int saved = errno;
    struct ms_spawn_result r = {
            .cost = ms_spawn_cost(&birth), .has_cost = true, .target = target, .command = words};
    ms_spawn_after(&birth, &r);
    errno = saved;
    return failed;
}
