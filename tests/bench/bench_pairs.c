// SPDX-License-Identifier: MIT
// What a pair of malloc and free costs the program that runs it, by the program's own clock: run it
// bare and under a tool, and the difference is the tool's. Start-up is not part of any figure.
//
// usage: bench_pairs LOOP [--pairs N] [--runs N] [--threads N] [--live N]
//   malloc32    tight malloc(32) and free
//   malloc512   the same with 512 bytes
//   kept        1 MiB that glibc keeps in the heap
//   mmap        1 MiB that is mapped and unmapped each time
//   churn       every pair replaces one random block of --live (100000) by one of 16 to 1024 bytes;
//               the blocks are divided among --threads threads
//   fork        a "pair" is one child that ends at once, and the wait for it
//   fork_exec   a "pair" is one /bin/true, forked and executed; so vfork_exec, posix_spawn
//
// Runs --runs times --pairs pairs after one run to warm up, and prints one line:
//   LOOP threads=T pairs=N runs=R min=NS median=NS allocs=A frees=F
// NS is processor time as far as the machine has processors for the threads: wall time, times the
// smaller of threads and processors, over all the pairs of a run. allocs and frees are all calls of
// the loops, warm-up and preparation included, which is what a trace must have counted at least.

#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RUNS = 1001, MAX_THREADS = 64 };

struct options {
    long pairs;
    long runs;
    long threads;
    long live;
};

// The blocks of one thread, each a random size, replaced in random order.
struct blocks {
    void **slot;
    uint64_t count;
    uint64_t random; // state of the generator, never 0
};

struct loop {
    const char *name;
    void (*run)(struct blocks *blocks, long pairs);
    void (*prepare)(void);
    bool churns; // uses blocks, and may use several threads
    bool allocates;
};

// The compiler can neither drop the pair nor know what is in the block.
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

static inline __attribute__((always_inline)) void tight(long pairs, size_t size)
{
    for (long i = 0; i < pairs; i++) {
        char *block = malloc(size);
        *(volatile char *)block = 1;
        KEEP(block);
        free(block);
    }
}

static void run_malloc32(struct blocks *blocks, long pairs)
{
    (void)blocks;
    tight(pairs, 32);
}

static void run_malloc512(struct blocks *blocks, long pairs)
{
    (void)blocks;
    tight(pairs, 512);
}

static void run_big(struct blocks *blocks, long pairs)
{
    (void)blocks;
    tight(pairs, 1 << 20);
}

// Freeing a mapped block raises the mmap threshold: later ones stay in the heap.
static void prepare_kept(void)
{
    void *volatile block = malloc(1 << 20);
    free(block);
}

static void prepare_mmap(void)
{
    mallopt(M_MMAP_THRESHOLD, 65536);
    mallopt(M_TRIM_THRESHOLD, 0);
}

// xorshift64: a few instructions a number, so that the pair is what is measured.
static uint64_t next_random(struct blocks *blocks)
{
    uint64_t x = blocks->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return blocks->random = x;
}

static void *random_block(uint64_t random)
{
    char *block = malloc(16 + (random >> 40) % 1009);
    if (!block)
        abort();
    *block = 1;
    return block;
}

static void run_churn(struct blocks *blocks, long pairs)
{
    for (long i = 0; i < pairs; i++) {
        uint64_t random = next_random(blocks);
        void **slot = &blocks->slot[(random & 0xffffffff) % blocks->count];
        free(*slot);
        *slot = random_block(random);
    }
}

static void wait_for(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        abort();
}

static char *const true_argv[] = {"/bin/true", NULL};

static void run_fork(struct blocks *blocks, long pairs)
{
    (void)blocks;
    for (long i = 0; i < pairs; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        wait_for(child);
    }
}

static void run_fork_exec(struct blocks *blocks, long pairs)
{
    (void)blocks;
    for (long i = 0; i < pairs; i++) {
        pid_t child = fork();
        if (child == 0) {
            execv(true_argv[0], true_argv);
            _exit(127);
        }
        wait_for(child);
    }
}

static pid_t vfork_exec(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execv(true_argv[0], true_argv);
        _exit(127);
    }
    return child;
}

static void run_vfork_exec(struct blocks *blocks, long pairs)
{
    (void)blocks;
    for (long i = 0; i < pairs; i++)
        wait_for(vfork_exec());
}

static void run_posix_spawn(struct blocks *blocks, long pairs)
{
    (void)blocks;
    for (long i = 0; i < pairs; i++) {
        pid_t child = -1;
        if (posix_spawn(&child, true_argv[0], NULL, NULL, true_argv, environ))
            abort();
        wait_for(child);
    }
}

static const struct loop loops[] = {
        {.name = "malloc32", .run = run_malloc32, .allocates = true},
        {.name = "malloc512", .run = run_malloc512, .allocates = true},
        {.name = "kept", .run = run_big, .prepare = prepare_kept, .allocates = true},
        {.name = "mmap", .run = run_big, .prepare = prepare_mmap, .allocates = true},
        {.name = "churn", .run = run_churn, .churns = true, .allocates = true},
        {.name = "fork", .run = run_fork},
        {.name = "fork_exec", .run = run_fork_exec},
        {.name = "vfork_exec", .run = run_vfork_exec},
        {.name = "posix_spawn", .run = run_posix_spawn},
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// What the threads share. They start every run together; each notes when it really started and
// ended, since the thread that would watch them may itself wait for a processor.
static struct {
    const struct loop *loop;
    struct options options;
    pthread_barrier_t barrier;
    double start_ns[MAX_THREADS];
    double end_ns[MAX_THREADS];
} bench;

static void fill(struct blocks *blocks)
{
    blocks->slot = calloc(blocks->count, sizeof(*blocks->slot));
    if (!blocks->slot)
        abort();
    for (uint64_t i = 0; i < blocks->count; i++)
        blocks->slot[i] = random_block(next_random(blocks));
}

static void drain(struct blocks *blocks)
{
    for (uint64_t i = 0; i < blocks->count; i++)
        free(blocks->slot[i]);
    free(blocks->slot);
}

static void *work(void *argument)
{
    const struct options *o = &bench.options;
    uintptr_t number = (uintptr_t)argument;
    struct blocks blocks = {
            .count = (uint64_t)(o->live / o->threads),
            .random = 88172645463325252 + number,
    };
    if (bench.loop->churns)
        fill(&blocks);
    for (long run = 0; run <= o->runs; run++) {
        pthread_barrier_wait(&bench.barrier);
        bench.start_ns[number] = now_ns();
        bench.loop->run(&blocks, o->pairs / o->threads);
        bench.end_ns[number] = now_ns();
        pthread_barrier_wait(&bench.barrier);
    }
    if (bench.loop->churns)
        drain(&blocks);
    return NULL;
}

// From the first thread's start to the last one's end.
static double elapsed_ns(void)
{
    double start = bench.start_ns[0];
    double end = bench.end_ns[0];
    for (long i = 1; i < bench.options.threads; i++) {
        start = bench.start_ns[i] < start ? bench.start_ns[i] : start;
        end = bench.end_ns[i] > end ? bench.end_ns[i] : end;
    }
    return end - start;
}

static void measure_threads(double *ns)
{
    const struct options *o = &bench.options;
    pthread_t thread[MAX_THREADS];
    pthread_barrier_init(&bench.barrier, NULL, (unsigned)o->threads + 1);
    for (long i = 0; i < o->threads; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i))
            abort();
    for (long run = 0; run <= o->runs; run++) {
        pthread_barrier_wait(&bench.barrier);
        pthread_barrier_wait(&bench.barrier);
        if (run)
            ns[run - 1] = elapsed_ns();
    }
    for (long i = 0; i < o->threads; i++)
        pthread_join(thread[i], NULL);
}

// One thread runs in the main thread: a program without threads takes other ways through malloc.
static void measure_alone(double *ns)
{
    const struct options *o = &bench.options;
    struct blocks blocks = {.count = (uint64_t)o->live, .random = 88172645463325252};
    if (bench.loop->prepare)
        bench.loop->prepare();
    if (bench.loop->churns)
        fill(&blocks);
    for (long run = 0; run <= o->runs; run++) {
        double start = now_ns();
        bench.loop->run(&blocks, o->pairs);
        if (run)
            ns[run - 1] = now_ns() - start;
    }
    if (bench.loop->churns)
        drain(&blocks);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(double *ns)
{
    const struct options *o = &bench.options;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double scale = (double)(o->threads < processors ? o->threads : processors) / (double)o->pairs;
    long kept = bench.loop->churns ? o->live : 0;
    long calls = bench.loop->allocates ? o->pairs * (o->runs + 1) + kept : 0;
    qsort(ns, (size_t)o->runs, sizeof(ns[0]), by_value);
    printf("%s threads=%ld pairs=%ld runs=%ld min=%.2f median=%.2f allocs=%ld frees=%ld\n",
            bench.loop->name, o->threads, o->pairs, o->runs, ns[0] * scale, ns[o->runs / 2] * scale,
            calls, calls);
}

static bool parse_count(const char *text, long max, long *out)
{
    char *end;
    long value = text ? strtol(text, &end, 10) : 0;
    if (!text || *end || value < 1 || value > max)
        return false;
    *out = value;
    return true;
}

static bool parse(int argc, char **argv)
{
    struct options *o = &bench.options;
    *o = (struct options){.pairs = 1000000, .runs = 11, .threads = 1, .live = 100000};
    for (size_t i = 0; argc > 1 && i < sizeof(loops) / sizeof(loops[0]); i++)
        if (!strcmp(argv[1], loops[i].name))
            bench.loop = &loops[i];
    bool ok = bench.loop != NULL;
    for (int i = 2; ok && i < argc; i += 2) {
        if (!strcmp(argv[i], "--pairs"))
            ok = parse_count(argv[i + 1], 1000000000, &o->pairs);
        else if (!strcmp(argv[i], "--runs"))
            ok = parse_count(argv[i + 1], MAX_RUNS, &o->runs);
        else if (!strcmp(argv[i], "--threads"))
            ok = parse_count(argv[i + 1], MAX_THREADS, &o->threads);
        else if (!strcmp(argv[i], "--live"))
            ok = parse_count(argv[i + 1], 100000000, &o->live);
        else
            ok = false;
    }
    if (!ok || o->live < o->threads || (o->threads > 1 && !bench.loop->churns))
        return false;
    // Every thread does the same share, and the printed counts are exact.
    o->pairs -= o->pairs % o->threads;
    o->live -= o->live % o->threads;
    return o->pairs > 0;
}

int main(int argc, char **argv)
{
    static double ns[MAX_RUNS];
    if (!parse(argc, argv)) {
        fprintf(stderr, "usage: bench_pairs malloc32|malloc512|kept|mmap|churn|\n"
                        "                   fork|fork_exec|vfork_exec|posix_spawn\n"
                        "       [--pairs N] [--runs N] [--threads N (churn)] [--live N]\n");
        return 2;
    }
    if (bench.options.threads > 1)
        measure_threads(ns);
    else
        measure_alone(ns);
    report(ns);
    return fflush(stdout) ? 1 : 0;
}
