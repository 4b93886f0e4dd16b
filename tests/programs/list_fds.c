// SPDX-License-Identifier: MIT
// Prints the numbers of its open descriptors. Linked statically, so that no shim runs in it.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *d = readdir(dir); d; d = readdir(dir))
        if (d->d_name[0] != '.' && atoi(d->d_name) != dirfd(dir))
            printf("%s\n", d->d_name);
    closedir(dir);
    return 0;
}
