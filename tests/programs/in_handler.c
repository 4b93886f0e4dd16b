// SPDX-License-Identifier: MIT
// A signal comes in the middle of an allocation; its handler does what argv[1] says, which ends the
// program with status 7. Only what is safe in a handler; without a handler for `default`.
#include "spawns.h"
#include <spawn.h>
#include <sys/time.h>

// The compiler takes it that malloc does not come back here, so that nobody would read these.
static const char *volatile how;
static char *volatile path;

static void start(void)
{
    pid_t pid = -1;
    int status = -1;
    char *args[] = {path, NULL};
    if (!strcmp(how, "spawn"))
        posix_spawn(&pid, args[0], NULL, NULL, args, environ);
    else
        pid = !strcmp(how, "vfork") ? vfork() : _Fork();
    if (pid == 0) {
        execv(args[0], args);
        _exit(1);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        _exit(8);
}

static void handler(int number)
{
    char *args[] = {path, NULL};
    if (!strcmp(how, "spawn") || !strcmp(how, "vfork") || !strcmp(how, "_Fork"))
        start();
    if (!strcmp(how, "exec"))
        execv(args[0], args);
    if (!strcmp(how, "execfail"))
        execv("/nonexistent/program", args);
    if (!strcmp(how, "quick_exit"))
        quick_exit(7);
    if (!strcmp(how, "raise")) {
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    }
    _exit(number == SIGALRM ? 7 : 9);
}

int main(int argc, char **argv)
{
    struct itimerval soon = {{0, 0}, {0, 3000}};
    if (argc < 3)
        return 2;
    how = argv[1];
    path = argv[2];
    signal(SIGALRM, strcmp(how, "default") ? handler : SIG_DFL);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (;;) {
        free(malloc(hidden(55)));
        free(malloc(hidden(30000)));
    }
}
