// SPDX-License-Identifier: MIT
// No process can be made: every call says so, as it does untraced, and the program goes on.
// argv[1]: filter (a seccomp filter answers EAGAIN) or limit (RLIMIT_NPROC, as another user: root
// only).
#include "spawns.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pty.h>
#include <sched.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <wordexp.h>

#ifdef SYS_fork
#define OLD_FORK  SYS_fork
#define OLD_VFORK SYS_vfork
#else
#define OLD_FORK  SYS_clone
#define OLD_VFORK SYS_clone
#endif

static void refuse(void)
{
    struct sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 4, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 3, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OLD_FORK, 2, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OLD_VFORK, 1, 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new rights");
    need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "filter");
}

static int nothing(void *unused)
{
    return unused != NULL;
}

static void forks(void)
{
    static char stack[65536];
    int terminal = -1;
    pid_t pid;
    long long begin = now();
    pid = fork();
    say_fork("fork", pid, begin, now());
    begin = now();
    pid = _Fork();
    say_fork("_Fork", pid, begin, now());
    begin = now();
    pid = vfork();
    say_fork("vfork", pid, begin, now());
    begin = now();
    pid = clone(nothing, stack + sizeof stack, SIGCHLD, NULL);
    say_fork("clone", pid, begin, now());
    begin = now();
    pid = forkpty(&terminal, NULL, NULL, NULL);
    int error = errno;
    // Without a pseudo terminal the call fails earlier.
    say("fork kind=forkpty pid=%d child=%d errno=%d begin=%lld end=%lld", getpid(), pid, error,
            begin, now());
    begin = now();
    pid = daemon(1, 1);
    say_fork("daemon", pid, begin, now());
}

static void starts(void)
{
    char name[] = "/bin/true", *args[] = {name, NULL};
    wordexp_t words;
    pid_t pid;
    long long begin = now();
    errno = posix_spawn(&pid, name, NULL, NULL, args, environ);
    say_fork("posix_spawn", -1, begin, now());
    begin = now();
    errno = posix_spawnp(&pid, "true", NULL, NULL, args, environ);
    say_fork("posix_spawnp", -1, begin, now());
    begin = now();
    int status = system("true");
    say_fork("system", status == -1 ? -1 : 0, begin, now());
    begin = now();
    FILE *pipe = popen("true", "r");
    say_fork("popen", pipe ? 0 : -1, begin, now());
    begin = now();
    int error = wordexp("$(true)", &words, 0);
    // It has a result of its own, and errno as it may be.
    say("fork kind=wordexp pid=%d child=0 errno=0|11|12 begin=%lld end=%lld", getpid(), begin,
            now());
    say("note wordexp=%d", error);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "limit")) {
        struct rlimit none = {0, 0};
        if (setgid(65534) || setuid(65534) || setrlimit(RLIMIT_NPROC, &none)) {
            say("note unable");
            return 0;
        }
    } else
        refuse();
    for (int i = 0; i < 50; i++)
        free(malloc(60));
    errno = 0;
    forks();
    starts();
    for (int i = 0; i < 50; i++)
        free(malloc(60));
    say("count pid=%d kind=malloc n=100 bytes=6000", getpid());
    return 0;
}
