// SPDX-License-Identifier: MIT
// A library to preload: allocates and frees, in every way, before the shim's constructor runs when
// it stands behind the shim in LD_PRELOAD (constructors run from the last to the first).
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void *kept[4];

__attribute__((constructor(101))) static void early(void)
{
    free(NULL);
    free(malloc(10));
    kept[0] = memset(malloc(100), 1, 100);
    kept[1] = calloc(10, 10);
    kept[2] = realloc(NULL, 50);
    kept[3] = memalign(64, 64);
    for (size_t i = 0; i < 4; i++)
        kept[i] = realloc(kept[i], 3000 + 100000 * i);
    if (malloc_usable_size(kept[3]) < 64 || ((char *)kept[0])[99] != 1)
        abort();
}

// Late frees of early blocks.
__attribute__((destructor)) static void late(void)
{
    for (size_t i = 0; i < 4; i++)
        free(realloc(kept[i], 20));
}
