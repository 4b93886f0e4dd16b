// SPDX-License-Identifier: MIT
// A call that waits is left by pthread_cancel, and by a jump out of a signal handler: what is
// called afterwards is recorded as before.
#include "spawns.h"
#include <pthread.h>
#include <setjmp.h>

static sigjmp_buf back;
static pid_t child;

static void blocked(int way)
{
    siginfo_t info;
    if (way == 0)
        waitpid(child, NULL, 0);
    else if (way == 1)
        wait4(child, NULL, 0, NULL);
    else if (way == 2)
        waitid(P_PID, (id_t)child, &info, WEXITED);
    else
        wait(NULL);
}

static void cleanup(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5; i++)
        free(malloc(61));
}

static void *work(void *way)
{
    pthread_cleanup_push(cleanup, NULL);
    blocked((int)(long)way);
    pthread_cleanup_pop(0);
    return NULL;
}

static void jump(int number)
{
    siglongjmp(back, number);
}

static void by_cancel(int way)
{
    void *result = NULL;
    pthread_t thread;
    pthread_create(&thread, NULL, work, (void *)(long)way);
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    need(result == PTHREAD_CANCELED, "cancelled");
}

static void by_jump(int way)
{
    signal(SIGALRM, jump);
    if (sigsetjmp(back, 1) == 0) {
        ualarm(20000, 0);
        blocked(way);
        need(0, "the wait was left");
    }
    for (int i = 0; i < 7; i++)
        free(malloc(62));
}

int main(void)
{
    child = fork();
    if (child == 0)
        for (;;)
            pause();
    for (int way = 0; way < 4; way++) {
        by_cancel(way);
        by_jump(way);
    }
    kill(child, SIGKILL);
    need(reap(child) == -SIGKILL, "child");
    say("count pid=%d kind=malloc n=48 bytes=%d", getpid(), 4 * (5 * 61 + 7 * 62));
    say("count pid=%d kind=free n=48", getpid());
    return 0;
}
