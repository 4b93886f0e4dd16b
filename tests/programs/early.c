// SPDX-License-Identifier: MIT
// A plain program to preload things into.
#include "say.h"

int main(void)
{
    for (int i = 0; i < 500; i++)
        free(realloc(malloc(20), 200));
    say("count kind=realloc n=500 bytes=100000");
    say("count kind=free n=500");
    return 0;
}
