// SPDX-License-Identifier: MIT
// The names of the environment variables that memspy reads, each documented in README.md and
// memspy(1).
#ifndef MEMSPY_ENV_H
#define MEMSPY_ENV_H

// Where the trace goes: a path with the placeholders %p (pid), %e (program), %h (host), %% (%).
#define MS_ENV_OUT "MEMSPY_OUT"
// "exact" turns on exact mode; anything else, or nothing, leaves it off.
#define MS_ENV_KERNEL "MEMSPY_KERNEL"
// One predicted thread-cache hit in this many is timed: a power of two from 1 to 32768. By default
// 16, and 64 once a thread has recorded some 16 000 events.
#define MS_ENV_TIMING "MEMSPY_TIMING"
// "0": programs that this one starts are not followed.
#define MS_ENV_FOLLOW "MEMSPY_FOLLOW"
// "0": arguments of programs are not recorded.
#define MS_ENV_ARGV "MEMSPY_ARGV"
// Set by the shim for the programs that this one starts: "SESSION:INDEX:PATH", the trace to join,
// where SESSION is the session id of the trace's header and INDEX the index of this process, both
// in hexadecimal.
#define MS_ENV_TRACE "MEMSPY_TRACE"

#define MS_OUT_DEFAULT "memspy.%e.%p.mspy"

#endif
