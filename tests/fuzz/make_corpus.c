// SPDX-License-Identifier: MIT
// Writes the seeds in corpus/: small valid inputs of every kind of content, so that fuzzing begins
// behind the first checks. Run as make_corpus DIRECTORY after a change of the format.
#include "../unit/build.h"
#include "../unit/events.h"

#include <stdio.h>
#include <sys/stat.h>

#define LIVE_SIZE 1024
#define LIVE_FITS ((LIVE_SIZE - sizeof(struct ms_live)) / (2 * MS_SLOT_BYTES))

static const char *root;

static void save(const char *target, const char *name, const void *bytes, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", root, target, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static void usual(struct ms_event *events, size_t count, uint64_t seed, uint64_t base)
{
    struct events_heap heap;
    events_heap_open(&heap, seed, base);
    for (size_t i = 0; i < count; i++)
        events[i] = events_heap_next(&heap);
}

// One event of each kind, in the way of a program: paths, failures, old addresses, times.
static size_t of_each_kind(struct ms_event *events, uint64_t base)
{
    size_t count = 0;
    uint64_t seed = 3;
    for (unsigned kind = 1; kind < MS_KIND_LIMIT; kind++) {
        unsigned fields = ms_kind_fields(kind);
        if (fields == 0)
            continue;
        struct ms_event *e = &events[count++];
        *e = (struct ms_event){.kind = (uint8_t)kind, .ptr = 0x7f0000001010 + 64 * (count % 5)};
        e->attr = (uint8_t)(guard_random(&seed) % 5);
        e->size = fields & MS_F_SIZE ? UINT64_C(40) << (count % 16) : 0;
        e->usable = fields & MS_F_USABLE ? e->size + 8 : 0;
        e->caller = fields & MS_F_CALLER ? 0x401000 + count : 0;
        e->aux = fields & MS_F_AUX ? 0x7f0000001010 + 64 * (count % 3) : 0;
        e->align_log2 = fields & MS_F_ALIGN ? 6 : 0;
        if (count % 2) {
            e->attr |= MS_ATTR_TIMED;
            e->start = base + 100 * count;
            e->cost = UINT64_C(30) << (count % 12);
        }
    }
    events[count++] = (struct ms_event){.kind = MS_KIND_MALLOC,
            .attr = MS_ATTR_FAILED | MS_ALLOC_MMAP,
            .size = UINT64_MAX / 2,
            .caller = 0x401000};
    events[count++] = (struct ms_event){.kind = MS_KIND_REALLOC,
            .attr = MS_ATTR_FREED | MS_FREE_TCACHE,
            .ptr = 0x7f0000001010,
            .usable = 24,
            .caller = 0x401000};
    return count;
}

// What programs do most: loops over two and over four events, a timed call in between.
static void loops(struct ms_event *events, size_t count, uint64_t base)
{
    for (size_t i = 0; i < count; i++) {
        bool frees = i < count / 2 ? i % 2 : i % 4 >= 2;
        uint64_t place = i < count / 2 ? 0 : (i % 4 == 1 || i % 4 == 2);
        events[i] = (struct ms_event){.kind = frees ? MS_KIND_FREE : MS_KIND_MALLOC,
                .attr = frees ? MS_FREE_TCACHE : MS_ALLOC_TCACHE,
                .ptr = 0x5581c0a012a0 + 64 * place,
                .size = frees ? 0 : 20 + 16 * place,
                .usable = 24 + 16 * place,
                .caller = 0x401000 + 32 * place + frees};
        if (i % 24 == 20) {
            events[i].attr |= MS_ATTR_TIMED;
            events[i].start = base + i;
            events[i].cost = 100;
            events[i].weight_log2 = 4;
        }
    }
}

static void save_columns(const char *name, const struct ms_event *events, size_t count)
{
    static struct ms_counters counters;
    memset(&counters, 0, sizeof counters);
    for (size_t i = 0; i < count; i++)
        ms_counters_add(&counters, &events[i], 20, 1);
    uint8_t *raw;
    size_t size = build_columns(&raw, events, count, 1000, &counters, BUILD_RUNS);
    save("columns", name, raw, size);
    free(raw);
}

static void save_slots(const char *name, const struct ms_event *events, size_t count)
{
    uint64_t slots[128 * MS_SLOT_WORDS] = {0};
    uint64_t *slot = slots + MS_SLOT_WORDS; // the first is a hole
    for (size_t i = 0; i < count; i++) {
        ms_slot_store(slot, &events[i], 1000);
        slot += MS_SLOT_WORDS * (ms_slot_needs_ext(&events[i]) ? 2 : 1);
    }
    save("slots", name, slots, (size_t)(slot - slots) * sizeof *slots);
}

// Two processes, three threads, a buffer that is both sealed and live, a lost one, a free one.
static void save_trace(void)
{
    struct ms_event events[64];
    static struct ms_counters totals[4];
    struct build b;
    build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
    build_process(&b, 1, 0);
    build_modules(&b, 1);
    size_t count = of_each_kind(events, b.ticks);
    build_events(&b, (struct build_block){0, 1, 1, 1, 0}, events, count, &totals[1]);
    usual(events, 48, 5, b.ticks);
    loops(events + 24, 24, b.ticks);
    build_events(&b, (struct build_block){0, 1, 1, 2, 0}, events, 48, &totals[1]);
    build_live(&b, (struct build_block){0, 1, 1, 3, 0}, events, LIVE_FITS, &totals[1]);
    build_process(&b, 2, 1);
    usual(events, LIVE_FITS, 6, b.ticks);
    build_events(&b, (struct build_block){0, 2, 2, 1, 0}, events, LIVE_FITS, &totals[2]);
    b.ticks -= 1000;
    build_live(&b, (struct build_block){0, 2, 2, 1, 0}, events, LIVE_FITS, &totals[2]);
    build_live(&b, (struct build_block){0, 0, 0, 0, 0}, NULL, 0, NULL);
    build_events(&b, (struct build_block){0, 1, 3, 2, 0}, events, LIVE_FITS, &totals[3]);
    build_end_block(&b, 2, 2);
    build_end_block(&b, 1, 1);
    build_end(&b);
    save("reader", "tree", b.bytes, b.size);
    save("reader", "cut", b.bytes, b.size - b.size / 4);
    free(b.bytes);
}

// The shortest trace of a thread that was killed.
static void save_killed(void)
{
    struct ms_event events[64];
    struct build b;
    build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
    build_process(&b, 1, 0);
    of_each_kind(events, b.ticks);
    build_live(&b, (struct build_block){0, 1, 1, 1, 0}, events, LIVE_FITS, NULL);
    build_end(&b);
    save("reader", "killed", b.bytes, b.size);
    save("reader", "header", b.bytes, MS_HEADER_SIZE);
    free(b.bytes);
}

// What was found once, or nearly: an old address half of all units away from the last one, the
// widest numbers of all, weights and alignments beyond their limits, halves of events.
static void save_finds(void)
{
    const struct ms_event old[] = {{.kind = MS_KIND_MALLOC, .ptr = 0x1000, .size = 8, .usable = 8},
            {.kind = MS_KIND_REALLOC, .ptr = 0x1010, .size = 8, .usable = 8, .aux = 0x1008},
            {.kind = MS_KIND_FREE, .ptr = 0x1010, .usable = 8}};
    const struct ms_event wide[] = {{.kind = MS_KIND_MEMALIGN,
                                            .attr = MS_ATTR_TIMED,
                                            .ptr = UINT64_MAX,
                                            .size = UINT64_MAX,
                                            .usable = UINT64_MAX,
                                            .caller = MS_LOW48,
                                            .start = 1000 + MS_LOW40,
                                            .cost = MS_LOW40,
                                            .align_log2 = 63,
                                            .weight_log2 = 15},
            {.kind = MS_KIND_MMAP, .ptr = 1, .size = UINT64_MAX, .aux = UINT64_MAX}};
    struct ms_event beyond[] = {wide[0], wide[0], old[1], old[1]};
    beyond[0].weight_log2 = 16;
    beyond[1].align_log2 = 64;
    save_columns("old_address", old, 3);
    save_columns("wide", wide, 2);
    save_columns("beyond", beyond, 2);
    save_slots("old_address", old, 3);
    save_slots("wide", wide, 2);
    save_slots("beyond", beyond, 4);
    uint64_t halves[7 * MS_SLOT_WORDS] = {0};
    ms_slot_store(halves, &old[1], 1000);
    ms_slot_store(halves + 4, &old[0], 1000);
    ms_slot_store(halves + 8, &old[1], 1000);
    halves[8] = 0;
    ms_slot_store(halves + 20, &old[1], 1000);
    save("slots", "halves", halves, sizeof halves - MS_SLOT_BYTES);
}

#define PROPERTIES(...) ((const struct build_property[]){__VA_ARGS__, {0, 0, NULL}})

// A family: fork and exec, failed attempts, vfork, posix_spawn to a program that is not traced,
// shells, waits; a pid used again, a process that is its own parent.
static void save_family(void)
{
    struct build b;
    build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
    const uint64_t at = b.ticks;
    build_process(&b, 1, 0);
    build_spawn(&b, 1, MS_SPAWN_MAIN, PROPERTIES({MS_SPAWN_P_START, at + 10, NULL}));
    build_spawn(&b, 1, MS_SPAWN_FORK,
            PROPERTIES({MS_SPAWN_P_CHILD, 200, NULL}, {MS_SPAWN_P_START, at + 20, NULL},
                    {MS_SPAWN_P_COST, 30, NULL}, {MS_SPAWN_P_CALLER, 0x401100, NULL},
                    {MS_SPAWN_P_RSS, 9000, NULL}, {MS_SPAWN_P_PTE, 60, NULL},
                    {MS_SPAWN_P_VSZ, 90000, NULL}, {MS_SPAWN_P_THREADS, 1, NULL}));
    build_image(&b, (struct build_image){2, 1, 0, 200, 4001, at + 40, 0, NULL});
    build_spawn(&b, 2, MS_SPAWN_EXECVP,
            PROPERTIES({MS_SPAWN_P_START, at + 50, NULL}, {MS_SPAWN_P_ERRNO, 2, NULL},
                    {MS_SPAWN_P_PATH, 0, "/a/x"}, {MS_SPAWN_P_GAP_BEGIN, at + 45, NULL}));
    build_spawn(&b, 2, MS_SPAWN_EXECVP,
            PROPERTIES({MS_SPAWN_P_START, at + 60, NULL}, {MS_SPAWN_P_ENTRY, at + 50, NULL},
                    {MS_SPAWN_P_PATH, 0, "/b/x"}, {MS_SPAWN_P_ARGV, 0, "x"}));
    build_image(&b, (struct build_image){3, 0, 2, 200, 4001, at + 70, MS_PROCESS_UNSEEN, NULL});
    build_spawn(&b, 1, MS_SPAWN_EXECVE,
            PROPERTIES({MS_SPAWN_P_PID, 201, NULL}, {MS_SPAWN_P_START, at + 90, NULL}));
    build_image(&b, (struct build_image){4, 0, 1, 201, 4001, at + 95, 0, NULL});
    build_spawn(&b, 1, MS_SPAWN_VFORK,
            PROPERTIES({MS_SPAWN_P_CHILD, 201, NULL}, {MS_SPAWN_P_START, at + 80, NULL}));
    build_spawn(&b, 1, MS_SPAWN_POSIX_SPAWN,
            PROPERTIES({MS_SPAWN_P_CHILD, 202, NULL}, {MS_SPAWN_P_START, at + 100, NULL},
                    {MS_SPAWN_P_TARGET, MS_TARGET_STATIC, NULL}, {MS_SPAWN_P_PATH, 0, "/s"}));
    build_spawn(&b, 1, MS_SPAWN_POPEN,
            PROPERTIES({MS_SPAWN_P_START, at + 110, NULL}, {MS_SPAWN_P_STREAM, 0x1000, NULL},
                    {MS_SPAWN_P_ARGV, 0, "cat"}));
    build_spawn(&b, 1, MS_SPAWN_PCLOSE,
            PROPERTIES({MS_SPAWN_P_START, at + 120, NULL}, {MS_SPAWN_P_STREAM, 0x1000, NULL},
                    {MS_SPAWN_P_STATUS, 256, NULL}));
    build_image(&b, (struct build_image){5, 0, 1, 203, 4001, at + 115, 0, NULL});
    build_spawn(&b, 1, MS_SPAWN_WAIT4,
            PROPERTIES({MS_SPAWN_P_CHILD, 200, NULL}, {MS_SPAWN_P_START, at + 130, NULL},
                    {MS_SPAWN_P_STATUS, 9, NULL}, {MS_SPAWN_P_MAXRSS, 3000, NULL}));
    build_spawn(&b, 1, MS_SPAWN_FORK,
            PROPERTIES({MS_SPAWN_P_CHILD, 200, NULL}, {MS_SPAWN_P_START, at + 140, NULL}));
    build_image(&b, (struct build_image){6, 6, 0, 204, 204, at + 150, MS_PROCESS_LATE, NULL});
    build_ending(&b, 1, MS_END_EXIT_NOW, 127, 205);
    build_ending(&b, 1, MS_END_EXIT, 0, 0);
    build_end(&b);
    save("reader", "family", b.bytes, b.size);
    free(b.bytes);
}

static void put_block(struct build *b, uint8_t type, const char *raw, size_t size)
{
    build_put(b, &(struct build_block){.type = type, .process = 1}, (const uint8_t *)raw, size);
}

#define PUT(b, type, raw) put_block(b, type, raw, sizeof(raw) - 1)

// Whole frames with content that is strange or malformed, and a live block where a sealed one of
// the same buffer is.
static void save_strange(void)
{
    struct ms_event events[64];
    static const struct ms_counters counters;
    struct build b;
    uint8_t *raw;
    build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
    PUT(&b, MS_BLOCK_PROCESS, "\0\1x\1\1\7\0\0\30\1\x80\10\3a\0b\7\3a\0b\1\1\11");
    PUT(&b, MS_BLOCK_PROCESS, "\1\1\7\2\1\x80");
    PUT(&b, MS_BLOCK_END, "\1\5\x81\x80\x80\x80\x10\2\1\3");
    PUT(&b, MS_BLOCK_END, "\1\1\3\3\11/");
    PUT(&b, MS_BLOCK_SPAWN, "\1\1\1\4\2\x80\1\x63\1\x80");
    PUT(&b, MS_BLOCK_SPAWN, "\1\1\26\21\11/");
    PUT(&b, MS_BLOCK_MODULES, "\2\x10\x10\0\1b\xe8\xff\xff\xff\xff\xff\xff\xff\xff\1\4\0\1a");
    PUT(&b, MS_BLOCK_MODULES, "\1\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0");
    usual(events, LIVE_FITS, 8, b.ticks);
    size_t size = build_columns(&raw, events, LIVE_FITS, b.ticks, &counters, BUILD_RUNS);
    for (uint64_t sequence = 1; sequence <= 2; sequence++) {
        const struct build_block k = {MS_BLOCK_EVENTS, 1, 1, sequence, LIVE_FITS};
        raw[6] = sequence == 1 ? 9 : 1; // the width of the first column
        build_put(&b, &k, raw, size);
        build_put(&b, &k, raw, size);
        build_live(&b, k, events, LIVE_FITS, NULL);
    }
    free(raw);
    build_end(&b);
    save("reader", "strange", b.bytes, b.size);
    free(b.bytes);
}

int main(int argc, char **argv)
{
    struct ms_event events[64];
    if (argc != 2)
        return 2;
    root = argv[1];
    size_t count = of_each_kind(events, 1000);
    save_columns("kinds", events, count);
    save_slots("kinds", events, count);
    usual(events, 64, 7, 1000);
    save_columns("usual", events, 64);
    save_slots("usual", events, 64);
    loops(events, 64, 1000);
    save_columns("loops", events, 64);
    save_slots("loops", events, 64);
    save_columns("none", events, 0);
    save_finds();
    save_trace();
    save_killed();
    save_strange();
    save_family();
    return 0;
}
