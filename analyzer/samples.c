// SPDX-License-Identifier: MIT
// Sorting is put off until a quantile is asked for: lists are first filled, then read.
#include "samples.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"

void ms_samples_add(struct ms_samples *samples, double number)
{
    samples->list = ms_memory_grow(
            samples->list, samples->count + 1, &samples->capacity, sizeof *samples->list);
    samples->list[samples->count++] = number;
    samples->sum += number;
    samples->is_sorted = false;
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double ms_samples_quantile(struct ms_samples *samples, double q)
{
    if (samples->count == 0)
        return NAN;
    if (!samples->is_sorted)
        qsort(samples->list, samples->count, sizeof *samples->list, by_number);
    samples->is_sorted = true;
    double at = q * (double)(samples->count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= samples->count)
        return samples->list[samples->count - 1];
    double low = samples->list[below], high = samples->list[below + 1];
    return low + (high - low) * (at - (double)below);
}

void ms_samples_free(struct ms_samples *samples)
{
    free(samples->list);
    *samples = (struct ms_samples){0};
}
