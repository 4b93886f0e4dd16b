// SPDX-License-Identifier: MIT
// What the file of a program is that is about to be run: whether the shim will get into it.
// Context: any, vfork children included; a few system calls.
#ifndef MEMSPY_PROGRAM_H
#define MEMSPY_PROGRAM_H

#include <memspy/spawn.h>

// In the shim only: the path cannot be read.
#define MS_TARGET_FAULT ((enum ms_target)255)

// Looks at `path`, relative to `directory` as openat(2) has it; an empty path is the descriptor
// itself. A script is judged by its interpreter.
enum ms_target ms_program_look(int directory, const char *path);

// The same for the first file of that name in the directories of PATH.
enum ms_target ms_program_find(const char *file);

// Whether such a program is to be told of the shim: not where its loader would only complain.
MS_INLINE bool ms_program_may_follow(enum ms_target target)
{
    return target != MS_TARGET_FOREIGN && target != MS_TARGET_NO_SHIM && target != MS_TARGET_FAULT;
}

#endif
