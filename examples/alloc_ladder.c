// SPDX-License-Identifier: MIT
// Allocation is a ladder, not a price: what one pair of malloc and free costs on each rung.
//
// Owns nothing but its own loops. Every row is measured twice, by a function of its own, so that a
// trace can tell the rows apart by their caller: NAME touches the first byte of each block,
// NAME_untouched does not. A tracer times only the calls, so compare it with the second column.
// The two differ less than one may think: glibc keeps the size of a block in front of it, in the
// same page, so the first page fault of a fresh mapping happens inside malloc itself.
//
// Each function runs (runs + 1) * pairs pairs, the first run being a warm-up that is not counted;
// the table's last column is that number, which is what a trace must count. Outside the rows the
// program allocates one block of 1 MiB, to raise glibc's threshold, and what stdio needs.
//
// Options: --pairs N (default 10000), --runs N (default 21, at most 101), --json.
//
//     $ build/examples/alloc_ladder
//     ns a pair, 21 runs of 10000 pairs (minimum, median)
//                                   touching one byte      not touching to kept faults   calls
//     stack, alloca(512)                0.79     0.86     0.77     0.81    0.04   0.00  220000
//     malloc(32), tcache               10.04    12.18     9.12    10.06    0.50   0.00  220000
//     malloc(512), tcache               9.36     9.60     8.53     9.47    0.47   0.00  220000
//     malloc(1 MiB), kept by glibc     19.93    24.22    21.03    28.15    1.00   0.00  220000
//     malloc(1 MiB), mmap each time  4271.32  4469.84  4021.00  4309.13  214.27   1.00  220000
//     mmap each time / kept: 214 touching, 191 not touching (minima)
//
// (Debian 12, glibc 2.36, x86-64 virtual machine.) Under memspy the same program's trace classes
// each row by its path and times its calls alone:
//
//     $ LD_PRELOAD=build/libmemspy.so MEMSPY_OUT=ladder.mspy build/examples/alloc_ladder
//     $ build/memspy report ladder.mspy

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_RUNS = 101, MIB = 1 << 20 };

struct samples {
    double min_ns;          // the best run, per pair
    double median_ns;       // the middle run, per pair
    double faults_per_pair; // page faults over all counted runs
};

struct row {
    const char *label;
    const char *function; // the symbol of the touching loop; + "_untouched" for the other
    const char *path;     // how a trace should class its allocations ("" for none)
    size_t bytes;
    void (*touched)(long pairs);
    void (*untouched)(long pairs);
    struct samples with;
    struct samples without;
};

#define NOINLINE __attribute__((noinline))
#define INLINE   static inline __attribute__((always_inline))

// The compiler may drop a malloc whose result is only freed, and may fold two equal functions into
// one. It can do neither here: the pointer escapes, and the row's number makes each loop unique.
#define KEEP(pointer, number) __asm__ volatile("" : : "r"(pointer), "i"(number) : "memory")

#define HEAP_ROW(name, number, size)                                                               \
    static NOINLINE void name(long pairs)                                                          \
    {                                                                                              \
        for (long i = 0; i < pairs; i++) {                                                         \
            char *block = malloc(size);                                                            \
            *(volatile char *)block = 1;                                                           \
            KEEP(block, number);                                                                   \
            free(block);                                                                           \
        }                                                                                          \
    }                                                                                              \
    static NOINLINE void name##_untouched(long pairs)                                              \
    {                                                                                              \
        for (long i = 0; i < pairs; i++) {                                                         \
            char *block = malloc(size);                                                            \
            KEEP(block, number + 100);                                                             \
            free(block);                                                                           \
        }                                                                                          \
    }

HEAP_ROW(malloc_32, 1, 32)
HEAP_ROW(malloc_512, 2, 512)
HEAP_ROW(malloc_1m_kept, 3, MIB)
HEAP_ROW(malloc_1m_mmap, 4, MIB)

// alloca's memory goes back when its function returns, so a call and a return are the pair.
static NOINLINE void use_stack_touched(void)
{
    char *block = __builtin_alloca(512);
    *(volatile char *)block = 1;
    KEEP(block, 5);
}

static NOINLINE void use_stack(void)
{
    char *block = __builtin_alloca(512);
    KEEP(block, 6);
}

static NOINLINE void stack_512(long pairs)
{
    for (long i = 0; i < pairs; i++)
        use_stack_touched();
}

static NOINLINE void stack_512_untouched(long pairs)
{
    for (long i = 0; i < pairs; i++)
        use_stack();
}

INLINE double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct samples measure(void (*loop)(long), long pairs, int runs)
{
    static double ns[MAX_RUNS];
    loop(pairs);
    long faults_before = faults();
    for (int i = 0; i < runs; i++) {
        double start = now_ns();
        loop(pairs);
        ns[i] = (now_ns() - start) / (double)pairs;
    }
    long new_faults = faults() - faults_before;
    qsort(ns, (size_t)runs, sizeof(ns[0]), by_value);
    return (struct samples){
            .min_ns = ns[0],
            .median_ns = ns[runs / 2],
            .faults_per_pair = (double)new_faults / ((double)pairs * runs),
    };
}

static struct row rows[] = {
        {.label = "stack, alloca(512)",
                .function = "stack_512",
                .path = "",
                .bytes = 512,
                .touched = stack_512,
                .untouched = stack_512_untouched},
        {.label = "malloc(32), tcache",
                .function = "malloc_32",
                .path = "tcache",
                .bytes = 32,
                .touched = malloc_32,
                .untouched = malloc_32_untouched},
        {.label = "malloc(512), tcache",
                .function = "malloc_512",
                .path = "tcache",
                .bytes = 512,
                .touched = malloc_512,
                .untouched = malloc_512_untouched},
        {.label = "malloc(1 MiB), kept by glibc",
                .function = "malloc_1m_kept",
                .path = "arena",
                .bytes = MIB,
                .touched = malloc_1m_kept,
                .untouched = malloc_1m_kept_untouched},
        {.label = "malloc(1 MiB), mmap each time",
                .function = "malloc_1m_mmap",
                .path = "mmap",
                .bytes = MIB,
                .touched = malloc_1m_mmap,
                .untouched = malloc_1m_mmap_untouched},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]), ROW_KEPT = 3, ROW_MMAP = 4 };

// Freeing a mapped block raises glibc's mmap threshold to its size: from then on blocks of that
// size come from the heap and stay in it. The block's volatile pointer keeps the pair alive.
static void raise_threshold(void)
{
    void *volatile block = malloc(MIB);
    free(block);
}

// Setting either option ends the dynamic threshold. A block that still lies free at the top of the
// heap would be used first, whatever its size: give it back.
static void force_mmap(void)
{
    mallopt(M_MMAP_THRESHOLD, 65536);
    mallopt(M_TRIM_THRESHOLD, 0);
    malloc_trim(0);
}

static void run_rows(long pairs, int runs)
{
    for (int i = 0; i < ROWS; i++) {
        if (i == ROW_KEPT)
            raise_threshold();
        if (i == ROW_MMAP)
            force_mmap();
        rows[i].with = measure(rows[i].touched, pairs, runs);
        rows[i].without = measure(rows[i].untouched, pairs, runs);
    }
}

static void print_table(long pairs, int runs)
{
    printf("ns a pair, %d runs of %ld pairs (minimum, median)\n", runs, pairs);
    printf("%-29s %17s %17s %7s %6s %7s\n", "", "touching one byte", "not touching", "to kept",
            "faults", "calls");
    double kept_ns = rows[ROW_KEPT].with.min_ns;
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];
        printf("%-29s %8.2f %8.2f %8.2f %8.2f %7.2f %6.2f %7ld\n", r->label, r->with.min_ns,
                r->with.median_ns, r->without.min_ns, r->without.median_ns,
                r->with.min_ns / kept_ns, r->without.faults_per_pair, (runs + 1) * pairs);
    }
    printf("mmap each time / kept: %.0f touching, %.0f not touching (minima)\n",
            rows[ROW_MMAP].with.min_ns / kept_ns,
            rows[ROW_MMAP].without.min_ns / rows[ROW_KEPT].without.min_ns);
}

static void print_samples(const char *key, const struct samples *s)
{
    printf(", \"%s\": {\"min_ns\": %.3f, \"median_ns\": %.3f, \"faults_per_pair\": %.4f}", key,
            s->min_ns, s->median_ns, s->faults_per_pair);
}

static void print_json(long pairs, int runs)
{
    printf("{\"pairs\": %ld, \"runs\": %d, \"calls_per_function\": %ld, \"rows\": [", pairs, runs,
            (runs + 1) * pairs);
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];
        printf("%s\n  {\"label\": \"%s\", \"function\": \"%s\", \"path\": \"%s\", \"bytes\": %zu",
                i ? "," : "", r->label, r->function, r->path, r->bytes);
        print_samples("touched", &r->with);
        print_samples("untouched", &r->without);
        printf("}");
    }
    printf("\n],\n \"ratio\": {\"touched\": %.3f, \"untouched\": %.3f}}\n",
            rows[ROW_MMAP].with.min_ns / rows[ROW_KEPT].with.min_ns,
            rows[ROW_MMAP].without.min_ns / rows[ROW_KEPT].without.min_ns);
}

// Whether text is a whole number from 1 to max, stored in *out.
static bool parse_count(const char *text, long max, long *out)
{
    char *end;
    long value = text ? strtol(text, &end, 10) : 0;
    if (!text || *end || value < 1 || value > max)
        return false;
    *out = value;
    return true;
}

int main(int argc, char **argv)
{
    long pairs = 10000;
    long runs = 21;
    bool json = false;
    bool ok = true;
    for (int i = 1; i < argc && ok; i++) {
        if (!strcmp(argv[i], "--json"))
            json = true;
        else if (!strcmp(argv[i], "--pairs"))
            ok = parse_count(argv[++i], 1000 * 1000 * 1000, &pairs);
        else if (!strcmp(argv[i], "--runs"))
            ok = parse_count(argv[++i], MAX_RUNS, &runs);
        else
            ok = false;
    }
    if (!ok) {
        fprintf(stderr, "usage: alloc_ladder [--pairs N] [--runs N] [--json]\n");
        return 2;
    }
    run_rows(pairs, (int)runs);
    if (json)
        print_json(pairs, (int)runs);
    else
        print_table(pairs, (int)runs);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
