// SPDX-License-Identifier: MIT
// The only writer of messages to stderr. A message is one line: what is wrong, with which file,
// and what to do about it. Nothing here ends the program.
#include "diag.h"

#include <stdarg.h>
#include <stdio.h>

static void say(const char *prefix, const char *format, va_list arguments)
{
    fflush(stdout);
    fputs(prefix, stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void ms_diag_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("memspy: ", format, arguments);
    va_end(arguments);
}

void ms_diag_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("memspy: warning: ", format, arguments);
    va_end(arguments);
}
