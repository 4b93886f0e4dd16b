// SPDX-License-Identifier: MIT
// posix_spawn, posix_spawnp, pidfd_spawn, system, popen and wordexp (argv[1]), three times each.
// argv[2]: this program, by absolute path. As their child it says "child".
#include "spawns.h"
#include <dlfcn.h>
#include <spawn.h>
#include <wordexp.h>

typedef int spawn_function(pid_t *, const char *, const posix_spawn_file_actions_t *,
        const posix_spawnattr_t *, char *const[], char *const[]);

static int child(const char *how)
{
    for (int i = 0; i < 40; i++)
        free(malloc(66));
    if (!strncmp(how, "posix_", 6) || !strncmp(how, "pidfd_", 6))
        say_image("posix_spawn", how, "exit", 3);
    say("note child=%s main=%lld", how, now());
    return 3;
}

static void spawn(const char *how, char *self)
{
    static char word[] = "child";
    char *args[] = {self, word, (char *)how, NULL};
    spawn_function *function = !strcmp(how, "posix_spawnp") ? posix_spawnp : posix_spawn;
    int is_pidfd = !strncmp(how, "pidfd_", 6);
    if (is_pidfd)
        *(void **)&function = dlsym(RTLD_DEFAULT, how);
    pid_t pid = -1;
    long long begin = now();
    int error = function(&pid, self, NULL, NULL, args, environ);
    long long end = now();
    need(error == 0, how);
    say_fork(how, is_pidfd ? 0 : pid, begin, end);
    int status = -1;
    if (!is_pidfd)
        need(reap(pid) == 3, "child's status");
    else
        need(wait(&status) > 0 && WEXITSTATUS(status) == 3, "child's status");
}

static void by_system(const char *command)
{
    long long begin = now();
    int status = system(command);
    long long end = now();
    say_fork("system", 0, begin, end);
    need(WEXITSTATUS(status) == 3, "system");
}

static void by_popen(const char *command, const char *mode)
{
    char line[512];
    long long begin = now();
    FILE *pipe = popen(command, mode);
    long long end = now();
    say_fork("popen", pipe ? 0 : -1, begin, end);
    while (pipe && mode[0] == 'r' && fgets(line, sizeof line, pipe))
        say("note read %.*s", (int)strcspn(line, "\n"), line);
    int status = pipe ? pclose(pipe) : -1;
    say("wait kind=pclose pid=%d status=%d", getpid(), status);
    need(WEXITSTATUS(status) == 3, "pclose");
}

static void by_wordexp(void)
{
    wordexp_t words;
    long long begin = now();
    int error = wordexp("a $(echo b c) d", &words, 0);
    long long end = now();
    say_fork("wordexp", 0, begin, end);
    need(error == 0 && words.we_wordc == 4 && !strcmp(words.we_wordv[2], "c"), "wordexp");
    wordfree(&words);
}

int main(int argc, char **argv)
{
    char command[4096];
    if (argc < 3)
        return 2;
    const char *how = argv[1];
    if (!strcmp(how, "child"))
        return child(argv[2]);
    if (!strncmp(how, "pidfd_", 6) && !dlsym(RTLD_DEFAULT, how)) {
        say("note absent");
        return 0;
    }
    snprintf(command, sizeof command, "'%s' child %s", argv[2], how);
    for (int i = 0; i < 3; i++) {
        if (!strcmp(how, "system"))
            by_system(command);
        else if (!strcmp(how, "popen"))
            by_popen(command, i == 1 ? "w" : i ? "re" : "r");
        else if (!strcmp(how, "wordexp"))
            by_wordexp();
        else
            spawn(how, argv[2]);
    }
    return 0;
}
