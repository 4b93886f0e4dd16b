// SPDX-License-Identifier: MIT
// Children that end in each way there is; each says how it is about to end, the parent what it saw.
#include "spawns.h"
#include <setjmp.h>
#include <sys/syscall.h>
#include <threads.h>
#include <pthread.h>

static sigjmp_buf back;

static void exit_in_handler(int number)
{
    exit(40 + (number == SIGUSR1));
}

static void end_in_handler(int number)
{
    _exit(50 + (number == SIGUSR1));
}

static void jump(int number)
{
    siglongjmp(back, number);
}

static int overflow(int depth)
{
    volatile char page[4096];
    page[0] = (char)depth;
    return depth < 0 ? 0 : overflow(depth + 1) + page[0];
}

static void *end_thread(void *how)
{
    if (!strcmp(how, "thread-exit"))
        exit(17);
    if (!strcmp(how, "thread-segv"))
        *(volatile int *)hidden(16) = 1;
    return how;
}

static void from_thread(const char *how)
{
    pthread_t thread;
    pthread_create(&thread, NULL, end_thread, (void *)how);
    pthread_join(thread, NULL);
}

static void by_call(const char *how)
{
    if (!strcmp(how, "exit"))
        exit(3);
    if (!strcmp(how, "_exit"))
        _exit(4);
    if (!strcmp(how, "_Exit"))
        _Exit(5);
    if (!strcmp(how, "quick_exit"))
        quick_exit(6);
    if (!strcmp(how, "exit256"))
        exit(0x1ff);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "syscall"))
        syscall(SYS_exit_group, 8);
    if (!strncmp(how, "thread-", 7))
        from_thread(how);
    if (!strcmp(how, "pthread_exit"))
        pthread_exit(NULL);
}

static void by_signal(const char *how)
{
    if (!strcmp(how, "segv"))
        *(volatile int *)hidden(16) = 1;
    if (!strcmp(how, "fpe"))
        raise(SIGFPE);
    if (!strcmp(how, "term"))
        kill(getpid(), SIGTERM);
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "ill"))
        __builtin_trap();
    if (!strcmp(how, "overflow"))
        overflow(1);
    if (!strcmp(how, "usr2"))
        raise(SIGUSR2);
    if (!strcmp(how, "realtime"))
        raise(SIGRTMIN + 3);
    if (!strcmp(how, "paused"))
        for (;;)
            pause();
}

// Signals that are not the end, and ends that come out of them.
static void by_handler(const char *how)
{
    if (!strcmp(how, "exit-in-handler") && signal(SIGUSR1, exit_in_handler) != SIG_ERR)
        raise(SIGUSR1);
    if (!strcmp(how, "_exit-in-handler") && signal(SIGUSR1, end_in_handler) != SIG_ERR)
        raise(SIGUSR1);
    if (!strcmp(how, "ignored") && signal(SIGTERM, SIG_IGN) != SIG_ERR)
        raise(SIGTERM);
    if (!strcmp(how, "default-ignored"))
        raise(SIGCHLD);
    if (!strcmp(how, "handled") && signal(SIGSEGV, jump) != SIG_ERR && !sigsetjmp(back, 1))
        *(volatile int *)hidden(16) = 1;
    if (!strcmp(how, "default-again")) {
        signal(SIGTERM, jump);
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    }
    if (!strcmp(how, "reset-hand")) {
        struct sigaction once = {.sa_handler = SIG_IGN, .sa_flags = (int)SA_RESETHAND};
        once.sa_handler = jump;
        sigaction(SIGTERM, &once, NULL);
        if (!sigsetjmp(back, 1))
            raise(SIGTERM);
        raise(SIGTERM);
    }
    exit(20);
}

static const char *const ways[] = {"exit", "_exit", "_Exit", "quick_exit", "exit256", "abort",
        "syscall", "thread-exit", "thread-segv", "pthread_exit", "segv", "fpe", "term", "kill",
        "ill", "overflow", "usr2", "realtime", "paused", "exit-in-handler", "_exit-in-handler",
        "ignored", "default-ignored", "handled", "default-again", "reset-hand"};

int main(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int k = 0; k < 10; k++)
                free(malloc(50));
            by_call(ways[i]);
            by_signal(ways[i]);
            by_handler(ways[i]);
        }
        if (!strcmp(ways[i], "paused")) {
            usleep(50000);
            kill(pid, SIGTERM);
        }
        say("note way=%s child=%d ended=%d", ways[i], pid, reap(pid));
    }
    return 0;
}
