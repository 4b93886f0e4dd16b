// SPDX-License-Identifier: MIT
// When the program's main is entered, told through the function that libc starts a program with.
// Context: the first thread, once. main itself is called last of all by a function of ours, which
// leaves no frame of its own behind.
#include "real.h"
#include "lineage.h"
#include "sys.h"

static int (*program_main)(int, char **, char **);

static int enter_main(int count, char **arguments, char **environment)
{
    ms_spawn_main();
    return program_main(count, arguments, environment);
}

// glibc has two versions of this name, which are one function (csu/libc-start.c since 2.34).
MS_EXPORT int __libc_start_main(int (*main)(int, char **, char **), int count, char **arguments,
        void (*init)(void), void (*fini)(void), void (*loader_fini)(void), void *stack_end);

MS_EXPORT int __libc_start_main(int (*main)(int, char **, char **), int count, char **arguments,
        void (*init)(void), void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    ms_real_init();
    program_main = main;
    return ms_real.__libc_start_main(
            enter_main, count, arguments, init, fini, loader_fini, stack_end);
}
