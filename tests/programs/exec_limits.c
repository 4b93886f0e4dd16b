// SPDX-License-Identifier: MIT
// exec with arguments and an environment as large as they may be, and larger; also from a thread
// with a small stack. argv[1]: this program, argv[2]: args, environ, toomany,
// faults or thread.
#include "spawns.h"
#include <pthread.h>

#define ARGUMENTS 100000
static char *arguments[ARGUMENTS + 4], *environment[20], *self;

static int image(int argc)
{
    size_t bytes = 0;
    for (char **e = environ; *e; e++)
        if (!strncmp(*e, "BIG", 3))
            bytes += strlen(*e);
    say("note image argc=%d environment=%zu", argc, bytes);
    say_image("exec", "", "exit", 6);
    return 6;
}

static void fails(const char *what, const char *path, char **args, char **env, int error)
{
    errno = 0;
    execve(path, args, env);
    need(errno == error, what);
    say_exec("execve", path, errno);
}

// The environment: so many entries of 70 KiB.
static void fill_environment(int entries)
{
    for (int i = 0; i < entries; i++) {
        environment[i] = malloc(71681);
        memset(environment[i], 'x', 71680);
        environment[i][71680] = 0;
        memcpy(environment[i], "BIG0=", 5);
        environment[i][3] = (char)('a' + i);
    }
}

static void fill_arguments(void)
{
    static char word[] = "arg";
    for (int i = 2; i < ARGUMENTS + 2; i++)
        arguments[i] = word;
}

// Pointers that lead nowhere are the kernel's to find out.
static void faults(void)
{
    char *none[] = {NULL}, *args[] = {self, NULL}, **nowhere = (char **)hidden(8);
    need(execve((char *)nowhere, args, none) == -1 && errno == EFAULT, "path");
    need(execve("/nonexistent/faults", nowhere, none) == -1 && errno != 0, "arguments");
    need(execve("/nonexistent/faults", args, nowhere) == -1 && errno != 0, "environment");
}

static void *work(void *unused)
{
    say_exec("execve", self, 0);
    execve(self, arguments, environment);
    return unused;
}

int main(int argc, char **argv)
{
    static char image_word[] = "image";
    if (argc >= 2 && !strcmp(argv[1], image_word))
        return image(argc);
    if (argc < 3)
        return 2;
    const char *how = argv[2];
    char *small[] = {argv[1], NULL}, *none[] = {NULL};
    self = arguments[0] = argv[1];
    arguments[1] = image_word;
    if (!strcmp(how, "args") || !strcmp(how, "thread"))
        fill_arguments();
    if (!strcmp(how, "environ") || !strcmp(how, "thread"))
        fill_environment(how[0] == 'e' ? 15 : 7); // all of it must stay below 2 MiB
    if (!strcmp(how, "toomany")) {
        char *huge = malloc(200001), *args[] = {self, huge, NULL};
        memset(huge, 'h', 200000);
        huge[200000] = 0;
        fails("one argument too long", self, args, none, E2BIG);
        fails("text file", "text", small, none, ENOEXEC);
        fails("not executable", "data", small, none, EACCES);
        fails("directory", ".", small, none, EACCES);
        fails("not there", "absent", small, none, ENOENT);
        fails("no directory", "text/file", small, none, ENOTDIR);
        fails("empty", "", small, none, ENOENT);
    }
    if (!strcmp(how, "faults"))
        faults();
    if (strcmp(how, "thread"))
        work(NULL);
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    need(pthread_create(&thread, &attr, work, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
    return 1;
}
