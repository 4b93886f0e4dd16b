// SPDX-License-Identifier: MIT
// Takes every descriptor there is, allocates, forks, and still counts.
#include "say.h"
#include <fcntl.h>
#include <sys/wait.h>

int main(void)
{
    int taken = 0;
    while (open("/dev/null", O_RDONLY) >= 0)
        taken++;
    need(errno == EMFILE && taken > 0, "EMFILE");
    for (int i = 0; i < 20000; i++)
        free(malloc(31));
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 5000; i++)
            free(malloc(32));
        say("note child=%d", getpid());
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    need(status == 0, "child");
    say("count pid=%d kind=malloc n=20000 bytes=620000", getpid());
    return 0;
}
