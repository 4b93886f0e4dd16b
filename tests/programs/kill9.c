// SPDX-License-Identifier: MIT
// Allocates for ever and publishes, after each call, how many calls have returned, in a shared
// mapping of the file argv[1]. Somebody kills it. argv[2]: threads; each has a counter.
#include "say.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

static uint64_t *count;

_Noreturn static void *work(void *arg)
{
    size_t me = (size_t)arg;
    void *held[64] = {0};
    for (uint64_t n = 1;; n++) {
        free(held[n % 64]);
        held[n % 64] = malloc(n * 2654435761u % 4000);
        __atomic_store_n(&count[me * 8], n, __ATOMIC_RELEASE);
        for (volatile int i = 0; n > 5000 && i < 10000; i++)
            ; // fast over the first seal, then slow enough for the trace to stay small
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int fd = open(argv[1], O_RDWR);
    count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    for (size_t i = 1; i < (size_t)atoi(argv[2]); i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, (void *)i);
    }
    work((void *)0);
}
