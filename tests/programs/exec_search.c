// SPDX-License-Identifier: MIT
// The search of PATH by execvp, execlp and execvpe, and what ends it. The directories are made by
// test_spawns.py in the current one; "good" holds this program as `tool`.
#include "spawns.h"

static const struct {
    const char *path; // NULL: PATH is unset
    const char *file;
} cases[] = {
        {"none1:none2:none3:good", "tool"},
        {"empty1:empty2:empty3:empty4:empty5:good", "tool"},
        {"empty1:none", "tool"},
        {"noaccess:good", "tool"},
        {"noaccess:none", "tool"},
        {"isdir:good", "tool"},
        {"isdir", "tool"},
        {"afile:good", "tool"},
        {"afile", "tool"},
        {"loop:good", "tool"},
        {"script", "tool"},
        {"none:script", "tool"},
        {"interpreted", "tool"},
        {"badinterpreter:good", "tool"},
        {"damaged:good", "tool"},
        {"", "here"},
        {":none", "here"},
        {"none:", "here"},
        {"none::good", "here"},
        {"none:none", "good/tool"},
        {"none:none", "./script/tool"},
        {"none", "./noaccess/tool"},
        {NULL, "true"},
        {NULL, "no-such-program"},
        {"good", ""},
        {"good", "tool/"},
        {"/bin:/usr/bin", "true"},
};

static char *args[] = {(char *)"as-argv0", (char *)"image", NULL};

static void attempt(int number)
{
    static char other[] = "PATH=/bin:/usr/bin", *environment[] = {other, NULL};
    if (cases[number].path)
        setenv("PATH", cases[number].path, 1);
    else
        unsetenv("PATH");
    errno = 0;
    if (number % 3 == 0)
        execvp(cases[number].file, args);
    else if (number % 3 == 1)
        execlp(cases[number].file, args[0], args[1], (char *)NULL);
    else
        execvpe(cases[number].file, args, environment);
    say("note case=%d errno=%d", number, errno);
    _exit(1);
}

// A file name that is too long: libc 2.36 lets the kernel say so.
static void attempt_long(void)
{
    static char file[300];
    memset(file, 'f', sizeof file - 1);
    setenv("PATH", "good", 1);
    errno = 0;
    execvp(file, args);
    say("note long errno=%d", errno);
    _exit(1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "image")) {
        say("note ran argv0=%s argc=%d", argv[0], argc);
        return 6;
    }
    int count = sizeof cases / sizeof *cases;
    for (int i = 0; i <= count; i++) {
        pid_t pid = fork();
        if (pid == 0 && i == count)
            attempt_long();
        if (pid == 0)
            attempt(i);
        say("note case=%d ended=%d", i, reap(pid));
    }
    return 0;
}
