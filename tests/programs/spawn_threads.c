// SPDX-License-Identifier: MIT
// Eight threads make children at once, each in its way, 12 times; argv[1] is what they run.
#include "spawns.h"
#include <pthread.h>
#include <spawn.h>

static char **args;

static void by_fork(int is_exec)
{
    long long begin = now();
    pid_t pid = fork();
    if (pid == 0) {
        free(malloc(10));
        if (is_exec)
            execv(args[0], args);
        _exit(0);
    }
    say_fork("fork", pid, begin, now());
    need(reap(pid) == 0, "forked child");
}

static void by_spawn(void)
{
    pid_t pid = -1;
    long long begin = now();
    int error = posix_spawn(&pid, args[0], NULL, NULL, args, environ);
    say_fork("posix_spawn", error ? -1 : pid, begin, now());
    need(reap(pid) == 0, "spawned child");
}

static void by_system(void)
{
    long long begin = now();
    int status = system("exit 3");
    say_fork("system", 0, begin, now());
    need(WEXITSTATUS(status) == 3, "system");
}

static void by_popen(void)
{
    char line[20] = "";
    long long begin = now();
    FILE *pipe = popen("echo a; exit 4", "r");
    say_fork("popen", pipe ? 0 : -1, begin, now());
    need(pipe && fgets(line, sizeof line, pipe) && line[0] == 'a', "popen");
    int status = pclose(pipe);
    say("wait kind=pclose pid=%d status=%d", getpid(), status);
    need(WEXITSTATUS(status) == 4, "pclose");
}

static void *work(void *number)
{
    int way = (int)(long)number;
    for (int i = 0; i < 12; i++) {
        free(malloc(90));
        if (way < 4)
            by_fork(way % 2);
        else if (way < 6)
            by_spawn();
        else if (way == 6)
            by_system();
        else
            by_popen();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[8];
    if (argc < 2)
        return 2;
    args = argv + 1;
    for (long i = 0; i < 8; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    say("count pid=%d kind=malloc n=96 bytes=8640", getpid());
    return 0;
}
