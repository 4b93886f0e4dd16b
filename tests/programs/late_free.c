// SPDX-License-Identifier: MIT
// 200 threads, one after the other, each with a buffer of libc's own (argv[1]: strerror or dlsym)
// that libc frees when the thread's destructors have all run.
#include "say.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static void *work(void *how)
{
    if (!strcmp(how, "strerror"))
        need(strerror(99999) != NULL, "strerror");
    else
        need(dlsym(RTLD_DEFAULT, "no_such_function") == NULL, "dlsym");
    return NULL;
}

int main(int argc, char **argv)
{
    char *how = argc > 1 ? argv[1] : "strerror";
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        need(pthread_create(&thread, NULL, work, how) == 0, "pthread_create");
        pthread_join(thread, NULL);
    }
    return 0;
}
