// SPDX-License-Identifier: MIT
// Nothing is printed unless stderr is a terminal and a second has passed.
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#define BAR_WIDTH 40

void ms_progress_begin(struct ms_progress *progress, uint64_t total)
{
    *progress = (struct ms_progress){.total = total, .is_on = isatty(STDERR_FILENO)};
    clock_gettime(CLOCK_MONOTONIC, &progress->begin);
}

void ms_progress_show(void *context, uint64_t done)
{
    struct ms_progress *progress = context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!progress->is_on || progress->total == 0 || now.tv_sec < progress->begin.tv_sec + 1)
        return;
    double share = (double)done / (double)progress->total;
    int filled = share < 1 ? (int)(share * BAR_WIDTH) : BAR_WIDTH;
    fprintf(stderr, "\r[%.*s%*s] %3.0f %%", filled, "########################################",
            BAR_WIDTH - filled, "", share < 1 ? share * 100 : 100);
    progress->is_shown = true;
}

void ms_progress_end(struct ms_progress *progress)
{
    if (progress->is_shown)
        fputs("\r\033[K", stderr);
}
