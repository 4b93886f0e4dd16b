// SPDX-License-Identifier: MIT
// A library to preload that says in which program it was loaded.
#include "say.h"

__attribute__((constructor)) static void mark(void)
{
    say("note mark pid=%d", getpid());
}
