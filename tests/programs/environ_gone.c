// SPDX-License-Identifier: MIT
// Takes the environment away (argv[1]: clearenv, null or own); then threads and a child allocate.
#include "say.h"
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

static void *work(void *unused)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(333));
    return unused;
}

int main(int argc, char **argv)
{
    static char entry[] = "A=1", *own[] = {entry, NULL};
    const char *how = argc > 1 ? argv[1] : "clearenv";
    if (!strcmp(how, "clearenv"))
        clearenv();
    else
        environ = !strcmp(how, "null") ? NULL : own;
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        need(pthread_create(&thread, NULL, work, NULL) == 0, "pthread_create");
        pthread_join(thread, NULL);
    }
    if (fork() == 0) {
        work(NULL);
        say("process pid=%d ppid=%d origin=fork", getpid(), getppid());
        say("count pid=%d kind=malloc n=1000 bytes=333000", getpid());
        _exit(0);
    }
    wait(NULL);
    say("count pid=%d kind=malloc n=4000 bytes=1332000", getpid());
    say("count pid=%d kind=free n=4000", getpid());
    return 0;
}
