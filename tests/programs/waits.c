// SPDX-License-Identifier: MIT
// wait, waitpid, wait3, wait4 and waitid, of children that work a little and end in different ways;
// argv[1]: a program that is not recorded, for the last child. Calls that reap nothing are no
// events.
#include "spawns.h"

static pid_t start(int number, char *other)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char *args[] = {other, NULL};
    if (number == 5)
        execv(other, args);
    char *page = malloc(8 << 20);
    memset(page, 1, 8 << 20);
    while (clock() < CLOCKS_PER_SEC / 50)
        ;
    if (number == 3)
        raise(SIGKILL);
    _exit(10 + number);
}

static int status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return info->si_status << 8;
    return info->si_status | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

static long micros(struct timeval t)
{
    return t.tv_sec * 1000000 + t.tv_usec;
}

static void reap_by(int number, pid_t child)
{
    static const char *const kinds[] = {"wait", "waitpid", "wait3", "wait4", "waitid", "wait4"};
    int status = -1;
    pid_t found = -1;
    siginfo_t info = {.si_pid = -1};
    struct rusage usage = {.ru_maxrss = -1};
    long long begin = now();
    if (number == 0)
        found = wait(&status);
    else if (number == 1)
        found = waitpid(child, &status, 0);
    else if (number == 2)
        found = wait3(&status, 0, &usage);
    else if (number == 4) {
        found = waitid(P_PID, (id_t)child, &info, WEXITED) == 0 ? info.si_pid : -1;
        status = status_of(&info);
    } else
        found = wait4(child, &status, 0, &usage);
    long long end = now();
    need(found == child, "wait");
    say("wait kind=%s pid=%d child=%d status=%d begin=%lld end=%lld utime=%ld stime=%ld "
        "maxrss=%ld",
            kinds[number], getpid(), child, status, begin, end, micros(usage.ru_utime),
            micros(usage.ru_stime), usage.ru_maxrss);
}

// Nothing is reaped here: not yet over, left where it is, stopped, not there.
static void reap_nothing(void)
{
    int status = -1;
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    need(waitpid(pid, &status, WNOHANG) == 0, "WNOHANG");
    kill(pid, SIGSTOP);
    need(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "WUNTRACED");
    kill(pid, SIGCONT);
    need(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status), "WCONTINUED");
    kill(pid, SIGTERM);
    need(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0, "WNOWAIT");
    need(reap(pid) == -SIGTERM, "child's end");
    need(waitpid(pid, &status, 0) == -1 && errno == ECHILD, "ECHILD");
    need(wait(NULL) == -1 && errno == ECHILD, "ECHILD");
}

int main(int argc, char **argv)
{
    for (int i = 0; i < (argc > 1 ? 6 : 5); i++)
        reap_by(i, start(i, argv[1]));
    reap_nothing();
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    need(wait(NULL) == pid, "wait without status");
    say_wait("wait", pid, 0);
    return 0;
}
