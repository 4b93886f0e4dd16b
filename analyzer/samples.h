// SPDX-License-Identifier: MIT
// A list of measured numbers, kept one by one so that its quantiles are exact. For what happens
// once a process, not once an allocation.
#ifndef MEMSPY_ANALYZER_SAMPLES_H
#define MEMSPY_ANALYZER_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

struct ms_samples {
    double *list;
    size_t count;
    size_t capacity;
    double sum;
    bool is_sorted; // as it is as long as none is added
};

void ms_samples_add(struct ms_samples *samples, double number);

// The number below which a share `q` of them lies, between two neighbours in proportion; the
// greatest for 1. Not a number without any. Sorts the list.
double ms_samples_quantile(struct ms_samples *samples, double q);

void ms_samples_free(struct ms_samples *samples);

#endif
