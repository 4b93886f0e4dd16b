// SPDX-License-Identifier: MIT
// What programs started by this one need in their environment to join the trace.
#ifndef MEMSPY_ENV_CHILD_H
#define MEMSPY_ENV_CHILD_H

#include <memspy/base.h>

// Puts MEMSPY_TRACE=`session` and an absolute LD_PRELOAD into this process's environment, from
// which libc takes it for system, popen, posix_spawn and the exec functions without an environment
// of their own. The array is the shim's, never freed. Once, at start.
void ms_env_install(const char *session);

// An environment given to exec lacks what a child needs: how many pointers its repaired copy takes,
// room for a text behind the final NULL included; 0 when nothing is to be repaired.
size_t ms_env_repaired_size(char *const *environment);

// Writes the repaired copy into `copy`, which has that many pointers (on the caller's stack: no
// allocation is allowed in a vfork child).
void ms_env_repair(char *const *environment, char **copy);

#endif
