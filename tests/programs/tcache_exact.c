// SPDX-License-Identifier: MIT
// Which calls the thread cache serves, known by construction: ten blocks of a size are freed (seven
// fit the cache, three go to the arena's bins) and taken again (seven from the cache; the eighth
// from a bin, and glibc then moves the other two to the cache). calloc passed it by before 2.41.
#include "say.h"
#include <gnu/libc-version.h>
#include <pthread.h>
#include <string.h>

static void path(const char *kind, void *p, size_t n, const char *path)
{
    say("event kind=%s ptr=%p size=%zu path=%s tid=%d", kind, p, n, path, gettid());
}

static void drop(void *p, const char *path)
{
    say("event kind=free ptr=%p path=%s tid=%d", p, path, gettid());
    free(p);
}

static void one_size(size_t n, int calloc_hits)
{
    void *p[10];
    void *wall[10]; // keeps freed neighbours from merging
    for (int i = 0; i < 10; i++) {
        path("malloc", p[i] = malloc(n), n, "tcache|arena|brk|heap");
        path("malloc", wall[i] = malloc(900), 900, "tcache|arena|brk|heap");
    }
    for (int i = 0; i < 10; i++)
        drop(p[i], i < 7 ? "tcache" : "arena");
    for (int i = 0; i < 10; i++)
        path("malloc", p[i] = malloc(n), n, i == 7 ? "arena" : "tcache");
    for (int i = 0; i < 5; i++)
        drop(p[i], "tcache");
    path("calloc", p[0] = calloc(n, 1), n, calloc_hits ? "tcache" : "arena|brk|heap");
    path("realloc", p[1] = realloc(NULL, n), n, "tcache");
    // Growing past the next blocks moves: the new size's bin is empty, the old block is cached.
    for (int i = 5; i < 10; i++)
        drop(p[i], i < 8 - calloc_hits ? "tcache" : "tcache|arena");
    drop(p[0], "tcache|arena");
    drop(p[1], "tcache|arena");
    for (int i = 0; i < 10; i++)
        drop(wall[i], "tcache|arena");
}

static void *all_sizes(void *unused)
{
    int calloc_hits = strverscmp(gnu_get_libc_version(), "2.41") >= 0;
    for (size_t n = 40; n <= 820; n += 260)
        one_size(hidden(n), calloc_hits);
    return unused;
}

int main(void)
{
    pthread_t thread;
    all_sizes(NULL);
    need(pthread_create(&thread, NULL, all_sizes, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
    return 0;
}
