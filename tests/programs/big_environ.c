// SPDX-License-Identifier: MIT
// Runs itself with 12000 entries in the environment, from a thread with a stack of 64 KiB.
#include "say.h"
#include <pthread.h>
#include <string.h>

#define ENTRIES 12000
static char entry[] = "A=1", *entries[ENTRIES + 1];

static void *work(void *self)
{
    static char word[] = "child";
    char *args[] = {self, word, NULL};
    execve(self, args, entries);
    return NULL;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 100; i++)
        free(malloc(50));
    if (argc > 1) {
        int n = 0;
        for (char **e = environ; *e; e++)
            n += !strcmp(*e, entry);
        need(n == ENTRIES, "the environment");
        say("process pid=%d origin=exec", getpid());
        say("count pid=%d kind=malloc n=200 bytes=10000", getpid()); // before exec and after
        return 7;
    }
    for (int i = 0; i < ENTRIES; i++)
        entries[i] = entry;
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    need(pthread_create(&thread, &attr, work, argv[0]) == 0, "pthread_create");
    pthread_join(thread, NULL);
    return 1;
}
