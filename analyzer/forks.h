// SPDX-License-Identifier: MIT
// What the calls of a trace that make and replace processes cost: added up over all of them, and
// over those of a process, a program or a command line.
#ifndef MEMSPY_ANALYZER_FORKS_H
#define MEMSPY_ANALYZER_FORKS_H

#include "clock.h"
#include "family.h"
#include "fork_model.h"
#include "samples.h"

struct ms_json;

// Kinds below this make processes; those of exec have greater numbers.
#define MS_FORK_KINDS (MS_SPAWN_WORDEXP + 1)

// Calls of one kind.
struct ms_fork_kind {
    uint64_t calls; // that succeeded
    uint64_t failed;
    double failed_ns;
    struct ms_samples ns; // of those that succeeded, as far as it is known
};

// Children that came to run a program in one way.
struct ms_fork_way {
    uint64_t children;
    struct ms_samples held;    // what the call took in the parent, in ns
    struct ms_samples to_main; // from the call to the main of the program, in ns
};

// Errors of exec that are told apart; the others count in none.
#define MS_FORK_ERRORS 8

struct ms_fork_error {
    uint64_t number; // errno
    uint64_t calls;
};

struct ms_fork_execs {
    uint64_t happened;
    uint64_t unsure; // nothing says what became of them
    uint64_t failed;
    double failed_ns;
    struct ms_fork_error errors[MS_FORK_ERRORS];
    struct ms_samples to_init, to_main; // of those that happened, in ns
};

struct ms_forks {
    struct ms_fork_kind kinds[MS_FORK_KINDS];
    struct ms_fork_point *points; // the calls that the model is about
    size_t point_count, point_capacity;
    struct ms_fork_model model;
    struct ms_samples reading; // what reading the sizes from /proc took, a call, in ns
    struct ms_fork_way ways[MS_WAYS];
    struct ms_fork_execs execs;
    struct ms_samples gap; // between fork and exec in the child, in ns
    uint64_t gap_dups, gap_closes, gap_opens;
    struct ms_samples latency; // from the call to the child's first step, in ns
};

enum ms_fork_by { MS_FORK_BY_NONE, MS_FORK_BY_PROCESS, MS_FORK_BY_EXE, MS_FORK_BY_ARGV };

struct ms_fork_group {
    char *name;   // executable or command line; "" if unknown
    uint64_t pid; // of BY_PROCESS; 0 if unknown
    struct ms_forks forks;
};

struct ms_fork_groups {
    struct ms_forks all;
    struct ms_fork_group *list; // the most time in calls first; none for BY_NONE
    size_t count;
};

// Adds up. Who made a call counts, not who came of it.
void ms_forks_run(struct ms_fork_groups *groups, const struct ms_family *family,
        const struct ms_clock_fit *clock, enum ms_fork_by by);
void ms_forks_free(struct ms_fork_groups *groups);

// Whether there is anything at all.
bool ms_forks_any(const struct ms_forks *forks);

// Whether the model is about calls of that kind.
bool ms_forks_models(uint64_t kind);

// The time in all calls, failed ones and execs that failed too.
double ms_forks_total(const struct ms_forks *forks);

// Calls whose resident memory, or page tables, are at least from_kb and less than twice that.
struct ms_fork_bucket {
    double from_kb;
    struct ms_samples ns;
    struct ms_samples ns_per_kb;
};

#define MS_FORK_BUCKETS 65

// Puts the points into buckets, which ms_forks_free_buckets frees. Returns the number of them.
size_t ms_forks_buckets(const struct ms_forks *forks, bool by_pte, struct ms_fork_bucket *buckets);
void ms_forks_free_buckets(struct ms_fork_bucket *buckets, size_t count);

// The octave of nanoseconds that costs of exec are told by: [2^octave, 2^(octave + 1)).
#define MS_FORK_OCTAVES 64

// Samples by octave; what is below 1 ns counts in the first.
void ms_forks_octaves(const struct ms_samples *samples, size_t counts[MS_FORK_OCTAVES]);

// "process", "exe", "argv"; NULL for none.
const char *ms_fork_by_name(enum ms_fork_by by);

// The two forms, to stdout. Quantiles sort the samples.
void ms_forks_print_text(struct ms_fork_groups *groups, enum ms_fork_by by, const char *path);
void ms_forks_print_json(struct ms_fork_groups *groups, enum ms_fork_by by,
        const struct ms_family *family, const struct ms_clock_fit *clock, const char *path);

// The member fork_model of an object, as report --json has it too.
void ms_forks_put_model(struct ms_json *json, const struct ms_fork_model *model);

#endif
