// SPDX-License-Identifier: MIT
// The ways out that run no handlers, or not all. exit itself is noticed by a handler (life.c).
// Context: any.
#include "real.h"
#include "life.h"
#include "sys.h"

#include <stdlib.h>
#include <unistd.h>

MS_EXPORT void _exit(int status)
{
    ms_life_end(MS_END_EXIT_NOW, status);
    ms_real_init();
    ms_real._exit(status);
    __builtin_unreachable();
}

MS_ALIAS(_exit) void _Exit(int status);

MS_EXPORT void quick_exit(int status)
{
    ms_life_end(MS_END_QUICK_EXIT, status);
    ms_real_init();
    ms_real.quick_exit(status);
    __builtin_unreachable();
}
