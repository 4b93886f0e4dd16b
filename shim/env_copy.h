// SPDX-License-Identifier: MIT
// The environment of a program to be started, repaired in the caller's frame: exec may be called in
// a vfork child, whose heap is its parent's. Used by hooks only.
#ifndef MEMSPY_ENV_COPY_H
#define MEMSPY_ENV_COPY_H

#include "env.h"
#include "sys.h"
#include "thread.h"

#include <alloca.h>

// Copies larger than this are mapped: the stack may be a small one. An exec that succeeds takes the
// mapping with it, one that fails gives it back.
#define MS_ENV_STACK_COPY 8192

struct ms_env_copy {
    char **environment;
    size_t mapped; // bytes, 0 for a copy on the stack or none
};

// An exec in a vfork child leaves the mapping in the parent, which gives it back (hook_vfork.c).
MS_INLINE void ms_env_leave(const struct ms_env_copy *copy)
{
    struct ms_vfork *vfork = ms_thread_vfork(&ms_tls);
    if (vfork != NULL) {
        vfork->environment = copy->environment;
        vfork->mapped = copy->mapped;
    }
}

// After an exec that failed.
MS_INLINE void ms_env_give_back(const struct ms_env_copy *copy)
{
    struct ms_vfork *vfork = ms_thread_vfork(&ms_tls);
    if (vfork != NULL)
        vfork->mapped = 0;
    if (copy->mapped != 0)
        ms_sys_unmap(copy->environment, copy->mapped);
}

// Fills *c with the given environment, or a copy of it, in the caller's frame, that lets the child
// join or, without `follow`, keeps it from trying. One that cannot be read is left to the kernel.
#define MS_ENV_REPAIR(c, given, follow)                                                            \
    do {                                                                                           \
        bool can_be_read = (given) == NULL || ms_sys_can_be_read(given);                           \
        size_t pointers = can_be_read ? ms_env_repaired_size(given, follow) : 0;                   \
        size_t bytes = pointers * sizeof(char *);                                                  \
        char **copied = bytes == 0                  ? NULL                                         \
                        : bytes < MS_ENV_STACK_COPY ? alloca(bytes)                                \
                                                    : ms_sys_map(bytes);                           \
        *(c) = (struct ms_env_copy){(char **)(uintptr_t)(given), 0};                               \
        if (copied != NULL) {                                                                      \
            ms_env_repair(given, follow, copied, pointers);                                        \
            *(c) = (struct ms_env_copy){copied, bytes < MS_ENV_STACK_COPY ? 0 : bytes};            \
            ms_env_leave(c);                                                                       \
        }                                                                                          \
    } while (0)

#endif
