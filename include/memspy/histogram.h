// SPDX-License-Identifier: MIT
// The histogram of costs: log-linear, eight buckets to the octave, so a bucket is at most 12.5 %
// wide. Values below eight have a bucket each. Histograms of any number of threads, processes and
// hosts add up bucket by bucket. Pure functions: callable in every context.
#ifndef MEMSPY_HISTOGRAM_H
#define MEMSPY_HISTOGRAM_H

#include "base.h"

#define MS_HIST_SUB_BITS 3
#define MS_HIST_SUB      (1u << MS_HIST_SUB_BITS)
// Values of up to 2^40 - 1 (five minutes of a 3 GHz clock) have their own bucket; larger ones
// share the last.
#define MS_HIST_OCTAVES 37
#define MS_HIST_BUCKETS (MS_HIST_SUB * (MS_HIST_OCTAVES + 1))

// The bucket of value.
MS_INLINE unsigned ms_hist_bucket(uint64_t value)
{
    if (value < MS_HIST_SUB)
        return (unsigned)value;
    unsigned octave = 63u - (unsigned)__builtin_clzll(value) - MS_HIST_SUB_BITS;
    unsigned bucket = (octave << MS_HIST_SUB_BITS) + (unsigned)(value >> octave);
    return bucket < MS_HIST_BUCKETS ? bucket : MS_HIST_BUCKETS - 1;
}

// The least value of a bucket; that of bucket + 1 is the exclusive upper bound.
MS_INLINE uint64_t ms_hist_low(unsigned bucket)
{
    if (bucket < 2 * MS_HIST_SUB)
        return bucket;
    unsigned octave = (bucket >> MS_HIST_SUB_BITS) - 1;
    return (uint64_t)(MS_HIST_SUB + (bucket & (MS_HIST_SUB - 1))) << octave;
}

_Static_assert(MS_HIST_BUCKETS == 304, "the number of buckets is part of the trace format");

#endif
