// SPDX-License-Identifier: MIT
// What a program sees of its signals: each disposition, the mask, the alternate stack; then the
// same in a child and in a program that it becomes (argv[1]: this one), with SIGHUP and SIGUSR2
// ignored.
#include "spawns.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void print(const char *who)
{
    char text[65];
    sigset_t mask;
    stack_t stack;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int i = 1; i <= 64; i++) {
        struct sigaction action;
        int result = sigaction(i, NULL, &action);
        text[i - 1] = result ? '-' : action.sa_handler == SIG_DFL ? 'd' : 'i';
        if (!result && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
            text[i - 1] = 'H';
        if (sigismember(&mask, i) == 1)
            text[i - 1] = (char)(text[i - 1] - 32);
    }
    text[64] = 0;
    sigaltstack(NULL, &stack);
    say("note %s: %s stack=%d", who, text, stack.ss_flags);
}

static void nothing(int number)
{
    (void)number;
}

static void say_old(const char *what, sighandler_t old)
{
    say("note %s: %s", what,
            old == SIG_DFL    ? "default"
            : old == SIG_IGN  ? "ignored"
            : old == SIG_HOLD ? "held"
            : old == SIG_ERR  ? "error"
                              : "handler");
}

int main(int argc, char **argv)
{
    static char word[] = "again";
    char *args[] = {argv[1], word, NULL};
    print(argc > 2 ? "image" : "program");
    if (argc < 2 || !strcmp(argv[1], word))
        return 0;
    say_old("signal SIGHUP", signal(SIGHUP, SIG_IGN));
    say_old("signal SIGUSR2", signal(SIGUSR2, SIG_IGN));
    say_old("signal SIGSEGV", signal(SIGSEGV, SIG_DFL));
    say_old("ssignal SIGTERM", ssignal(SIGTERM, SIG_DFL));
    say_old("sigset SIGTERM", sigset(SIGTERM, SIG_DFL));
    say_old("sigset SIGABRT", sigset(SIGABRT, SIG_HOLD));
    say_old("sigset SIGABRT", sigset(SIGABRT, SIG_DFL));
    say_old("sysv_signal SIGFPE", sysv_signal(SIGFPE, SIG_DFL));
    // Where one function sets what another asks for, they must agree.
    say_old("ssignal SIGALRM", ssignal(SIGALRM, nothing));
    say_old("signal SIGALRM", signal(SIGALRM, SIG_DFL));
    say_old("sigset SIGPIPE", sigset(SIGPIPE, nothing));
    print("with handlers");
    say_old("signal SIGPIPE", signal(SIGPIPE, SIG_DFL));
    need(sigignore(SIGQUIT) == 0, "sigignore");
    need(siginterrupt(SIGBUS, 1) == 0, "siginterrupt");
    print("afterwards");
    pid_t pid = fork();
    if (pid == 0) {
        print("child");
        execv(argv[1], args);
        _exit(9);
    }
    need(reap(pid) == 0, "child");
    return 0;
}
