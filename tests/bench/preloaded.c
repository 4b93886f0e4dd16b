// SPDX-License-Identifier: MIT
// The floor under every preloaded library: one that does nothing but be loaded. Loading is all that
// it adds to a program's start.
int bench_preloaded(void);

int bench_preloaded(void)
{
    return 0;
}
