// SPDX-License-Identifier: MIT
// A bar on stderr for work that takes long enough to make one wonder.
#ifndef MEMSPY_ANALYZER_PROGRESS_H
#define MEMSPY_ANALYZER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct ms_progress {
    uint64_t total;
    struct timespec begin;
    bool is_on;    // stderr is a terminal
    bool is_shown; // there is a bar to clear
};

void ms_progress_begin(struct ms_progress *progress, uint64_t total);

// Shows how far it got, once a second has passed. A ms_replay_progress.
void ms_progress_show(void *progress, uint64_t done);

// Clears the bar.
void ms_progress_end(struct ms_progress *progress);

#endif
