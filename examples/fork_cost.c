// SPDX-License-Identifier: MIT
// fork is priced by touched pages, not by allocated bytes; and exec is the dear half of a spawn.
//
// Four states of the process, one after the other: nothing extra; 64 and 256 MiB of which every
// page is touched; 256 MiB mapped and not touched. In each of them four rows: fork alone (the child
// _exits at once), and the three ways to run /bin/true. Two medians a row:
//
//   call   what the parent pays: the one call fork, vfork or posix_spawn, between two reads of
//          CLOCK_MONOTONIC. The latter two hold the parent until the child has begun the program.
//   whole  until the child has been reaped.
//
// Pages are of 4 KiB: huge pages, which need hardly any page tables, are turned off for the
// process. The touched memory comes from malloc, which maps blocks of that size afresh and unmaps
// them when they are freed, so that no state leaves pages to the next. All rows are run once before
// the first state without being counted: a process' first children are dearer by half.
//
// Options: --runs N (default 200; a quarter of them, at least 10, in the rows that run a program),
// --touched MIB,MIB,... (default 0,64,256), --rows: a line of key=value a row after the table,
// with begin_ns and end_ns by CLOCK_MONOTONIC, between which all calls of that row were made.
//
//     $ build/examples/fork_cost
//     medians of 200 calls of fork and 50 of each spawn of /bin/true, us
//                             VmPTE VmSize          fork     fork+exec    vfork+exec   posix_spawn
//                               KiB    MiB   call  whole   call  whole   call  whole   call  whole
//     nothing extra              48      2   28.7   74.7   35.5  779.5   30.2  718.3   50.0  739.4
//     +64 MiB, touched          176     66  352.5  885.8  380.4 1696.2   29.1  712.1   48.2  732.0
//     +256 MiB, touched         560    258 1514.0 3508.3 1528.7 4247.8   25.7  686.1   46.7  703.1
//     +256 MiB, not touched      48    258   29.0   73.6   34.8  752.5   29.4  686.6   47.7  688.0
//     fork+exec to fork alone, nothing extra: 10.4 times
//
// (Debian 12, Linux virtual machine, x86-64.) Touched pages cost page tables to copy; untouched
// ones cost nothing, and neither vfork nor posix_spawn copies any.
//
// Under memspy each call has its price in the trace, with the sizes it was made at (the process is
// then a little larger, and fork a little dearer, by the mappings of the recorder):
//
//     $ LD_PRELOAD=build/libmemspy.so MEMSPY_OUT=fork.mspy build/examples/fork_cost
//     $ build/memspy forks fork.mspy
//     What the cost of fork depends on
//       VmPTE and RSS alike explain the cost: 39.9 us at 2.09 MiB resident and 6.00 us for each
//       MiB more; r2 0.99 over 1 250 calls at 3 sizes, 69 of them far off the line and left out of
//       r2; by page tables it is 3.00 us for each KiB with r2 0.99.
//       Untouched memory did not matter: 256 MiB more of VmSize (262 MiB instead of 6.21 MiB) at
//       the same VmPTE of about 48 KiB made it 39.0 us instead of 40.3 us (medians of 250 and 500
//       calls); touched it would have added 1.54 ms.

#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "/bin/true"

enum { MAX_RUNS = 10000, MAX_TOUCHED = 16, UNTOUCHED_MIB = 256, MIB = 1 << 20, PAGE = 4096 };

extern char **environ;
static char *const arguments[] = {PROGRAM, NULL};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

// The ways to make a child. Each returns its pid and sets *call_ns; 127 is the status of a child
// that could not run its program.

static pid_t by_fork(int64_t *call_ns)
{
    int64_t before = now_ns();
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    *call_ns = now_ns() - before;
    return child;
}

static pid_t by_fork_exec(int64_t *call_ns)
{
    int64_t before = now_ns();
    pid_t child = fork();
    if (child == 0) {
        execv(PROGRAM, arguments);
        _exit(127);
    }
    *call_ns = now_ns() - before;
    return child;
}

static pid_t by_vfork_exec(int64_t *call_ns)
{
    // The child runs on this stack frame: what the parent needs afterwards must not live in a
    // register that it may spill over.
    volatile int64_t before = now_ns();
    pid_t child = vfork();
    if (child == 0) {
        execv(PROGRAM, arguments);
        _exit(127);
    }
    *call_ns = now_ns() - before;
    return child;
}

static pid_t by_posix_spawn(int64_t *call_ns)
{
    pid_t child;
    int64_t before = now_ns();
    int error = posix_spawn(&child, PROGRAM, NULL, NULL, arguments, environ);
    *call_ns = now_ns() - before;
    return error ? -1 : child;
}

static const struct way {
    const char *name; // in lines of --rows
    pid_t (*start)(int64_t *call_ns);
    bool runs_program;
} ways[] = {
        {"fork", by_fork, false},
        {"fork_exec", by_fork_exec, true},
        {"vfork_exec", by_vfork_exec, true},
        {"posix_spawn", by_posix_spawn, true},
};

enum { WAYS = sizeof ways / sizeof ways[0], STATES = MAX_TOUCHED + 1 };

struct row {
    int runs;
    int64_t call_ns;
    int64_t whole_ns;
    int64_t begin_ns;
    int64_t end_ns;
};

struct state {
    long touched;   // MiB
    long untouched; // MiB
    long rss_kb;
    long pte_kb;
    long vsz_kb;
    struct row rows[WAYS];
};

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median(int64_t *values, int count)
{
    qsort(values, (size_t)count, sizeof values[0], by_value);
    return values[count / 2];
}

static void run_child(const struct way *way, int64_t *call_ns, int64_t *whole_ns)
{
    int status = 0;
    int64_t before = now_ns();
    pid_t child = way->start(call_ns);
    if (child < 0 || waitpid(child, &status, 0) != child)
        fail(way->name);
    *whole_ns = now_ns() - before;
    if (status != 0) {
        fprintf(stderr, "fork_cost: %s does not run\n", PROGRAM);
        exit(1);
    }
}

static void measure(const struct way *way, int runs, struct row *row)
{
    static int64_t call_ns[MAX_RUNS], whole_ns[MAX_RUNS];
    row->runs = runs;
    row->begin_ns = now_ns();
    for (int i = 0; i < runs; i++)
        run_child(way, &call_ns[i], &whole_ns[i]);
    row->end_ns = now_ns();
    row->call_ns = median(call_ns, runs);
    row->whole_ns = median(whole_ns, runs);
}

static void read_sizes(struct state *state)
{
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "VmRSS: %ld", &state->rss_kb);
        sscanf(line, "VmPTE: %ld", &state->pte_kb);
        sscanf(line, "VmSize: %ld", &state->vsz_kb);
    }
    if (file)
        fclose(file);
}

static void measure_rows(struct state *state, int runs)
{
    int fewer = runs / 4 > 10 ? runs / 4 : 10;
    read_sizes(state);
    for (int i = 0; i < WAYS; i++)
        measure(&ways[i], ways[i].runs_program ? fewer : runs, &state->rows[i]);
}

static void measure_touched(struct state *state, int runs)
{
    size_t size = (size_t)state->touched * MIB;
    char *block = size ? malloc(size) : NULL;
    if (size && !block)
        fail("malloc");
    for (size_t i = 0; i < size; i += PAGE)
        ((volatile char *)block)[i] = 1;
    measure_rows(state, runs);
    free(block);
}

static void measure_untouched(struct state *state, int runs)
{
    size_t size = (size_t)state->untouched * MIB;
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        fail("mmap");
    measure_rows(state, runs);
    munmap(block, size);
}

static void print_table(const struct state *states, int count)
{
    const struct row *first = states[0].rows;
    printf("medians of %d calls of fork and %d of each spawn of %s, us\n", first[0].runs,
            first[1].runs, PROGRAM);
    printf("%22s %6s %6s %13s %13s %13s %13s\n", "", "VmPTE", "VmSize", "fork", "fork+exec",
            "vfork+exec", "posix_spawn");
    printf("%22s %6s %6s", "", "KiB", "MiB");
    for (int i = 0; i < WAYS; i++)
        printf(" %6s %6s", "call", "whole");
    printf("\n");
    for (int i = 0; i < count; i++) {
        const struct state *state = &states[i];
        char name[64] = "nothing extra";
        if (state->touched)
            snprintf(name, sizeof name, "+%ld MiB, touched", state->touched);
        if (state->untouched)
            snprintf(name, sizeof name, "+%ld MiB, not touched", state->untouched);
        printf("%-22s %6ld %6ld", name, state->pte_kb, state->vsz_kb / 1024);
        for (int j = 0; j < WAYS; j++)
            printf(" %6.1f %6.1f", (double)state->rows[j].call_ns / 1e3,
                    (double)state->rows[j].whole_ns / 1e3);
        printf("\n");
    }
    printf("fork+exec to fork alone, nothing extra: %.1f times\n",
            (double)first[1].whole_ns / (double)first[0].whole_ns);
}

static void print_rows(const struct state *state)
{
    for (int i = 0; i < WAYS; i++) {
        const struct row *row = &state->rows[i];
        printf("row %s touched=%ld untouched=%ld rss_kb=%ld pte_kb=%ld vsz_kb=%ld runs=%d "
               "median_ns=%lld whole_ns=%lld begin_ns=%lld end_ns=%lld\n",
                ways[i].name, state->touched, state->untouched, state->rss_kb, state->pte_kb,
                state->vsz_kb, row->runs, (long long)row->call_ns, (long long)row->whole_ns,
                (long long)row->begin_ns, (long long)row->end_ns);
    }
}

// Whether text begins with a whole number from min to max, stored in *out; *end is what follows it.
static bool parse_number(const char *text, long min, long max, long *out, char **end)
{
    *end = NULL;
    *out = text ? strtol(text, end, 10) : 0;
    return text && *end != text && *out >= min && *out <= max;
}

// Fills the states, the untouched one at the end. Returns their number, 0 for a malformed list.
static int parse_touched(const char *text, struct state *states)
{
    char *end;
    int count = 0;
    memset(states, 0, STATES * sizeof states[0]);
    do {
        if (count == MAX_TOUCHED ||
                !parse_number(text, 0, 1024 * 1024, &states[count++].touched, &end))
            return 0;
        text = end + 1;
    } while (*end == ',');
    states[count].untouched = UNTOUCHED_MIB;
    return *end ? 0 : count + 1;
}

int main(int argc, char **argv)
{
    static struct state states[STATES];
    int count = parse_touched("0,64,256", states);
    long runs = 200;
    bool has_rows = false;
    bool ok = true;
    char *end;
    for (int i = 1; i < argc && ok; i++) {
        if (!strcmp(argv[i], "--rows"))
            has_rows = true;
        else if (!strcmp(argv[i], "--runs"))
            ok = parse_number(argv[++i], 1, MAX_RUNS, &runs, &end) && !*end;
        else if (!strcmp(argv[i], "--touched"))
            ok = (count = parse_touched(argv[++i], states)) > 0;
        else
            ok = false;
    }
    if (!ok) {
        fprintf(stderr, "usage: fork_cost [--runs N] [--touched MIB,MIB,...] [--rows]\n");
        return 2;
    }
    struct state warm_up = {0};
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
        perror("huge pages stay on");
    measure_rows(&warm_up, (int)runs);
    for (int i = 0; i < count; i++)
        (states[i].untouched ? measure_untouched : measure_touched)(&states[i], (int)runs);
    print_table(states, count);
    for (int i = 0; i < count && has_rows; i++)
        print_rows(&states[i]);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
