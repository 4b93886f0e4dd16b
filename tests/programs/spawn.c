// SPDX-License-Identifier: MIT
// Programs started in each way join the trace. argv[1]: this program, by absolute path.
#include "say.h"
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static int child(const char *how)
{
    say("process pid=%d origin=exec", getpid());
    for (int i = 0; i < 40; i++)
        free(malloc(66));
    if (strcmp(how, "popen") == 0)
        return 0;
    say("count pid=%d kind=malloc n=40 bytes=2640", getpid());
    return 0;
}

static void in_child(char *self, const char *how)
{
    char *args[] = {self, "child", (char *)how, NULL};
    pid_t pid = fork();
    if (pid == 0) {
        if (!strcmp(how, "execve"))
            execve(self, args, environ);
        if (!strcmp(how, "execv"))
            execv(self, args);
        if (!strcmp(how, "execvp"))
            execvp(self, args);
        if (!strcmp(how, "execl"))
            execl(self, self, "child", how, (char *)NULL);
        _exit(9);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    need(status == 0, how);
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return child(argv[2]);
    char *self = argv[1], line[4096];
    in_child(self, "execve");
    in_child(self, "execv");
    in_child(self, "execvp");
    in_child(self, "execl");
    snprintf(line, sizeof line, "'%s' child system", self);
    need(system(line) == 0, "system");
    snprintf(line, sizeof line, "'%s' child popen", self);
    FILE *pipe = popen(line, "r");
    while (pipe && fgets(line, sizeof line, pipe))
        say("%.*s", (int)strcspn(line, "\n"), line);
    need(pipe && pclose(pipe) == 0, "popen");
    pid_t pid;
    int status = -1;
    char *args[] = {self, "child", "posix_spawn", NULL};
    need(posix_spawn(&pid, self, NULL, NULL, args, environ) == 0, "posix_spawn");
    waitpid(pid, &status, 0);
    need(status == 0, "posix_spawn");
    for (int i = 0; i < 25; i++)
        free(malloc(7));
    say("count pid=%d kind=malloc n=25 bytes=175", getpid());
    return 0;
}
