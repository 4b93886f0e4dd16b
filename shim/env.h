// SPDX-License-Identifier: MIT
// What programs started by this one need in their environment to join the trace.
#ifndef MEMSPY_SHIM_ENV_H
#define MEMSPY_SHIM_ENV_H

#include <memspy/base.h>

// Puts MEMSPY_TRACE=`join_value`, with this process's index, and an absolute LD_PRELOAD into this
// process's environment, from which libc takes it for system, popen, posix_spawn and the exec
// functions without an environment of their own. The array is the shim's, never freed. Without
// `follow` both are taken out instead, here and in what ms_env_repair copies. Once, at start.
void ms_env_install(const char *join_value, uint32_t index, bool follow);

// Changes the index in the value that programs will get: in a child, which is another process.
void ms_env_set_index(uint32_t index);

// The shim's absolute path; empty when it is not known.
const char *ms_env_library(void);

// An environment given to exec lacks what a child needs, or, without `follow`, has what would only
// make its loader complain: how many pointers its repaired copy takes, room for texts included; 0
// when nothing is to be repaired.
size_t ms_env_repaired_size(char *const *environment, bool follow);

// Writes the repaired copy into `copy`, which has that many pointers (on the caller's stack: no
// allocation is allowed in a vfork child). What another thread adds meanwhile may be left out.
void ms_env_repair(char *const *environment, bool follow, char **copy, size_t pointers);

// Whether `environ` has all that a child needs. system, popen and wordexp give it to their children
// as it is; to put in what the program took out would undo what other threads set meanwhile.
bool ms_env_is_complete(void);

#endif
