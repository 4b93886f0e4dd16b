// SPDX-License-Identifier: MIT
// Allows its files argv[1] bytes, then allocates in all sizes. With argv[2], stderr's number is
// first taken by that file, which gets one line.
#include "say.h"
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
    rlim_t room = argc > 1 ? (rlim_t)atol(argv[1]) : 0;
    struct rlimit limit = {room, room};
    void *held[1000] = {0};
    unsigned random = 1;
    if (argc > 2) {
        close(2);
        need(open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600) == 2, "open");
        need(write(2, "mine\n", 5) == 5, "write");
    }
    free(malloc(1)); // from here on the thread has a buffer
    need(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
    for (int i = 0; i < 2000000; i++) {
        random = random * 1664525U + 1013904223U;
        unsigned at = (random >> 8) % 1000;
        free(held[at]);
        held[at] = malloc((random >> 12) % 500);
    }
    return 7;
}
