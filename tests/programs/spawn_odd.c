// SPDX-License-Identifier: MIT
// posix_spawn and posix_spawnp as programs may use them: without environment, without arguments of
// note, every descriptor closed, and for what cannot be run. argv[1]: this program, absolute.
#include "spawns.h"
#include <spawn.h>

static char word[] = "image", secret[] = "OWN=1";

static int image(char **argv)
{
    int entries = 0, descriptors = 0;
    for (char **e = environ; e && *e; e++)
        entries += !!strncmp(*e, "LD_PRELOAD=", 11) && !!strncmp(*e, "MEMSPY_", 7);
    for (int fd = 3; fd < 500; fd++) // memspy's own is high
        descriptors += fcntl(fd, F_GETFD) >= 0;
    say("note image %s entries=%d descriptors=%d", argv[2], entries, descriptors);
    say("proc pid=%d ppid=%d origin=posix_spawn by=%s end=exit status=4", getpid(), getppid(),
            argv[3]);
    return 4;
}

static void start(const char *how, const char *what, char *self, char **env, int p,
        const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes)
{
    const char *by = p ? "posix_spawnp" : "posix_spawn";
    char *args[] = {(char *)how, word, (char *)what, (char *)by, NULL};
    pid_t pid = -1;
    long long begin = now();
    int error = (p ? posix_spawnp : posix_spawn)(&pid, self, actions, attributes, args, env);
    long long end = now();
    errno = error;
    say_fork(by, error ? -1 : pid, begin, end);
    say("note %s: error=%d", what, error);
    if (!error)
        need(reap(pid) == 4, what);
}

static void environments(char *self, int p)
{
    char *empty[] = {NULL}, *own[] = {secret, NULL};
    start(self, "null", self, NULL, p, NULL, NULL);
    start(self, "empty", self, empty, p, NULL, NULL);
    start(self, "own", self, own, p, NULL, NULL);
}

static void with_actions(char *self, int p)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    start(self, "closefrom", self, environ, p, &actions, NULL);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawn_file_actions_init(&actions);
    for (int fd = 3; fd < 1024; fd++)
        posix_spawn_file_actions_addclose(&actions, fd);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    start(self, "closes", self, environ, p, &actions, NULL);
    posix_spawn_file_actions_addopen(&actions, 5, "/nonexistent/file", O_RDONLY, 0);
    start(self, "action-fails", self, environ, p, &actions, NULL);
    posix_spawn_file_actions_destroy(&actions);
}

static void with_attributes(char *self, int p)
{
    posix_spawnattr_t attributes;
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                  POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSID);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigdefault(&attributes, &all);
    start(self, "attributes", self, environ, p, NULL, &attributes);
    posix_spawnattr_destroy(&attributes);
}

static void failures(char *self, int p)
{
    start(self, "missing", "/nonexistent/program", environ, p, NULL, NULL);
    start(self, "not-in-path", "no-such-program", environ, p, NULL, NULL);
    start(self, "text", "./text", environ, p, NULL, NULL);
    start(self, "data", "./data", environ, p, NULL, NULL);
    start(self, "directory", ".", environ, p, NULL, NULL);
    start(self, "nothing", "", environ, p, NULL, NULL);
}

int main(int argc, char **argv)
{
    if (argc == 4)
        return image(argv);
    char *self = argv[1];
    for (int p = 0; p < 2; p++) {
        environments(self, p);
        with_actions(self, p);
        with_attributes(self, p);
        failures(self, p);
    }
    // The pid may be of no interest.
    char *args[] = {self, word, (char *)"no-pid", (char *)"posix_spawn", NULL};
    int status = -1;
    need(posix_spawn(NULL, self, NULL, NULL, args, environ) == 0, "no pid");
    pid_t pid = wait(&status);
    say("fork kind=posix_spawn pid=%d errno=0", getpid());
    say_wait("wait", pid, status);
    return 0;
}
