// SPDX-License-Identifier: MIT
// What a test program says on stdout about its own calls, for harness.py to compare with the
// trace. Nothing here allocates or changes errno.
#ifndef MEMSPY_TESTS_SAY_H
#define MEMSPY_TESTS_SAY_H

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// One line, in one write.
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
    int saved = errno;
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    line[n] = '\n';
    if (write(1, line, (size_t)n + 1) != n + 1)
        abort();
    errno = saved;
}

// Says an allocation that succeeded.
static inline void *say_got(const char *kind, void *p, size_t size)
{
    say("event kind=%s ptr=%p size=%zu usable=%zu tid=%d", kind, p, size, malloc_usable_size(p),
            gettid());
    return p;
}

// Frees p and says so.
static inline void say_free(void *p)
{
    say("event kind=free ptr=%p usable=%zu tid=%d", p, malloc_usable_size(p), gettid());
    free(p);
}

// What must be true for the program to have tested anything.
static inline void need(int ok, const char *what)
{
    if (!ok)
        say("need failed: %s (errno %d)", what, errno);
}

// A size that the compiler cannot see.
static inline size_t hidden(size_t n)
{
    volatile size_t kept = n;
    return kept;
}

#endif
