// SPDX-License-Identifier: MIT
// Each function of the exec family: in a child, first for a program that is not there, then for
// this one (argv[1], absolute), which says its arguments and environment.
#include "spawns.h"
#include <sys/mman.h>

static const char *const kinds[] = {"execve", "execv", "execvp", "execvpe", "execl", "execlp",
        "execle", "execveat", "fexecve", "execveat-path", "fexecve-memfd"};

// Whether an entry of the environment is the program's own.
static int is_own(const char *entry)
{
    return strncmp(entry, "LD_PRELOAD=", 11) && strncmp(entry, "MEMSPY_", 7);
}

static int image(int argc, char **argv)
{
    say("note main=%lld pid=%d", now(), getpid());
    say_image("exec", "", "exit", 6);
    for (int i = 2; i < argc; i++)
        say("note argv%d=%s", i, argv[i]);
    for (char **e = environ; *e; e++)
        if (is_own(*e) && !strncmp(*e, "OWN", 3))
            say("note environment %s", *e);
    return 6;
}

static int open_copy(const char *self)
{
    char block[65536];
    int from = open(self, O_RDONLY), to = memfd_create("copy", MFD_CLOEXEC);
    for (ssize_t n; (n = read(from, block, sizeof block)) > 0;)
        need(write(to, block, (size_t)n) == n, "copy");
    close(from);
    return to;
}

static void call_by_fd(int number, char *file, char **args, char **environment)
{
    char *slash = strrchr(file, '/');
    int directory;
    if (number == 7) {
        execveat(open(file, O_RDONLY | O_CLOEXEC), "", args, environment, AT_EMPTY_PATH);
    } else if (number == 9) {
        *slash = 0;
        directory = open(file, O_PATH | O_CLOEXEC);
        *slash = '/';
        execveat(directory, slash + 1, args, environment, 0);
    } else if (number == 8) {
        fexecve(open(file, O_RDONLY | O_CLOEXEC), args, environment);
    } else {
        fexecve(open_copy(file), args, environment);
    }
}

static void call(int number, char *file, char **args, char **environment)
{
    if (number == 0)
        execve(file, args, environment);
    else if (number == 1)
        execv(file, args);
    else if (number == 2)
        execvp(file, args);
    else if (number == 3)
        execvpe(file, args, environment);
    else if (number == 4)
        execl(file, args[0], args[1], args[2], args[3], (char *)NULL);
    else if (number == 5)
        execlp(file, args[0], args[1], args[2], args[3], (char *)NULL);
    else if (number == 6)
        execle(file, args[0], args[1], args[2], args[3], (char *)NULL, environment);
    else
        call_by_fd(number, file, args, environment);
}

static void child(int number, char *self)
{
    static char missing[] = "/nonexistent/program", image_word[] = "image", last[] = "last word",
                own[] = "OWN=1", empty[] = "OWNEMPTY=";
    char *args[] = {self, image_word, (char *)kinds[number], last, NULL};
    char *environment[] = {own, empty, NULL};
    char kind[20];
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(kinds[number], "-"), kinds[number]);
    errno = 0;
    // Without the file there is no descriptor for those that take one.
    call(number == 10 ? 8 : number, missing, args, environment);
    say_exec(kind, number < 7 ? missing : "-", errno);
    say_exec(kind, number < 7 ? self : "-", 0);
    call(number, self, args, environment);
    _exit(9);
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return image(argc, argv);
    setenv("OWNER", "me", 1);
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++) {
        long long begin = now();
        pid_t pid = fork();
        if (pid == 0)
            child(i, argv[1]);
        say_fork("fork", pid, begin, now());
        need(reap(pid) == 6, kinds[i]);
    }
    return 0;
}
