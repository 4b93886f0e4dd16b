// SPDX-License-Identifier: MIT
// Programs that make processes as they should not (argv[2]: bad) and as they should (good). argv[1]
// is the finding; argv[3] a program that does nothing, "nothing" its name in the directory argv[4].
#include "spawns.h"
#include <spawn.h>
#include <sys/prctl.h>

static char *args[2], *directory;
static int is_bad;

static char *grown(size_t mib)
{
    char *block = malloc(mib << 20);
    memset(block, 1, mib << 20);
    return block;
}

static void wait_for(pid_t pid)
{
    need(pid > 0 && waitpid(pid, NULL, 0) == pid, "child");
}

static void fork_exec(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execv(args[0], args);
        _exit(1);
    }
    wait_for(pid);
}

static void spawn(void)
{
    pid_t pid = -1;
    posix_spawn(&pid, args[0], NULL, NULL, args, environ);
    wait_for(pid);
}

static void fork_working(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 10; i++)
            free(malloc(100));
        _exit(0);
    }
    wait_for(pid);
}

static void to_exec(void)
{
    for (int i = 0; i < 8; i++)
        is_bad ? fork_exec() : spawn();
    char *block = grown(128);
    for (int i = 0; i < 10; i++)
        is_bad ? fork_exec() : spawn();
    free(block);
}

static void late(void)
{
    for (int i = 0; i < 2; i++) {
        char *block = grown(i && is_bad ? 100 : 1);
        for (int k = 0; k < 8; k++)
            fork_working();
        free(block);
    }
}

static void search(void)
{
    char path[4096];
    snprintf(path, sizeof path, "/none1:/none2:/none3:/none4:%s", directory);
    setenv("PATH", path, 1);
    for (int i = 0; i < 8; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            is_bad ? execvp("nothing", args) : execv(args[0], args);
            _exit(1);
        }
        wait_for(pid);
    }
}

static void storm(void)
{
    for (int i = 0; i < (is_bad ? 250 : 20); i++)
        spawn();
}

static void gap(void)
{
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int fd = 3; fd < 300; fd++)
                close(fd);
            if (is_bad)
                usleep(3000);
            execv(args[0], args);
            _exit(1);
        }
        wait_for(pid);
    }
}

static void idle(void)
{
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (!is_bad)
                free(malloc(100));
            _exit(i % 2);
        }
        wait_for(pid);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } findings[] = {{"fork-to-exec", to_exec}, {"fork-late", late}, {"path-search", search},
            {"spawn-storm", storm}, {"fork-gap", gap}, {"idle-child", idle}};
    if (argc < 5)
        return 2;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); // huge pages need hardly any page tables
    is_bad = !strcmp(argv[2], "bad");
    args[0] = argv[3];
    directory = argv[4];
    for (size_t i = 0; i < sizeof findings / sizeof *findings; i++)
        if (!strcmp(findings[i].name, argv[1]))
            findings[i].run();
    return 0;
}
