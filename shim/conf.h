// SPDX-License-Identifier: MIT
// What the environment asks for, read once at start.
#ifndef MEMSPY_CONF_H
#define MEMSPY_CONF_H

#include <memspy/base.h>

#define MS_PATH_MAX 4096

struct ms_conf {
    const char *out;            // template of the trace's path
    const char *join;           // "SESSION:INDEX:PATH" of the trace to join, or NULL
    bool out_given;             // the user chose `out`
    bool exact;                 // exact mode is asked for
    bool follow;                // programs that this one starts are to join the trace
    bool argv;                  // arguments of programs may be recorded
    uint8_t timing_log2;        // one predicted cache hit in 2^n is timed
    uint8_t sparse_timing_log2; // the same once a thread has recorded much
    bool large_tcache;          // GLIBC_TUNABLES change which sizes the thread cache takes
    bool huge_heaps;            // GLIBC_TUNABLES give thread heaps another size
};

extern MS_HIDDEN struct ms_conf ms_conf;

// Reads the environment. Under AT_SECURE (set-uid programs) it is not read at all and the result
// is false: nothing is to be recorded. Says what it does not understand in one line each.
bool ms_conf_init(char *const *environment);

// The value of NAME in an environment, or NULL.
const char *ms_conf_value(char *const *environment, const char *name);

#endif
