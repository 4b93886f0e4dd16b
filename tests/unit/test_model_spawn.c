// SPDX-License-Identifier: MIT
// model_spawn.h: each rule about making processes, with a trace that it holds for and those, not
// far from it, that it does not hold for.
#include "build.h"
#include "check.h"

#include <math.h>

#include "../../analyzer/model_spawn.h"

#define MIB       1024 // KiB
#define PLACE     0x401010
#define ELSEWHERE 0x401020
#define LIFETIME  1e9

// A trace being made: process 1 with pid 100, whose children get the indexes and pids that follow.
struct trace {
    struct build b;
    struct ms_reader reader;
    struct ms_replay *replay;
    struct ms_fork_groups groups;
    struct ms_findings findings;
    uint32_t next;
    uint32_t forker; // index of the image that makes children
};

// A child, and how it is made. Times are in ns, which a tick is.
struct child {
    uint64_t kind; // fork if 0
    uint64_t cost;
    uint64_t rss_kb;
    uint64_t caller; // PLACE if 0
    uint64_t lives;
    uint64_t gap;     // before the exec
    uint64_t closes;  // in the gap
    unsigned failing; // attempts to exec before it, by other paths
    bool runs;        // a program
    bool allocates;
    bool is_killed;
    uint64_t cpu_us; // told by a wait if it is not 0
};

static void begin(struct trace *t)
{
    memset(t, 0, sizeof *t);
    build_begin(&t->b, MS_HEADER_SIZE, 4096);
    build_process(&t->b, 1, 0);
    build_modules(&t->b, 1);
    t->next = 2;
    t->forker = 1;
}

static uint64_t pid_of(uint32_t index)
{
    return 4000 + index;
}

static void put_exec(struct trace *t, uint32_t index, const struct child *c, unsigned attempt)
{
    char path[32];
    struct build_property properties[8] = {{MS_SPAWN_P_PATH, 0, path},
            {MS_SPAWN_P_START, t->b.ticks, NULL}, {MS_SPAWN_P_CALLER, PLACE, NULL}};
    unsigned n = 3;
    snprintf(path, sizeof path, "/place%u/tool", attempt);
    if (attempt == 0) {
        properties[n++] = (struct build_property){MS_SPAWN_P_GAP_BEGIN, t->b.ticks - c->gap, NULL};
        properties[n++] = (struct build_property){MS_SPAWN_P_GAP_CLOSES, c->closes, NULL};
    }
    if (attempt < c->failing) {
        properties[n++] = (struct build_property){MS_SPAWN_P_ERRNO, 2, NULL};
        properties[n++] = (struct build_property){MS_SPAWN_P_COST, 700, NULL};
    }
    build_spawn(&t->b, index, MS_SPAWN_EXECVE, properties);
}

static void put_program(struct trace *t, uint32_t index, const struct child *c)
{
    t->b.ticks += c->gap;
    for (unsigned i = 0; i <= c->failing; i++)
        put_exec(t, index, c, i);
    build_image(&t->b, (struct build_image){.index = t->next,
                               .ancestor = index,
                               .pid = pid_of(index),
                               .ppid = pid_of(t->forker),
                               .start = t->b.ticks});
    build_spawn(&t->b, t->next, MS_SPAWN_MAIN,
            (const struct build_property[]){{MS_SPAWN_P_START, t->b.ticks, NULL}, {0, 0, NULL}});
}

static void put_allocation(struct trace *t, uint32_t index)
{
    static struct ms_counters counters;
    const struct ms_event event = {.kind = MS_KIND_MALLOC,
            .attr = MS_ALLOC_ARENA,
            .ptr = 0x5000,
            .size = 24,
            .usable = 24,
            .caller = PLACE};
    memset(&counters, 0, sizeof counters);
    build_events(&t->b, (struct build_block){.process = index, .thread = index, .sequence = 1},
            &event, 1, &counters);
}

static void put_wait(struct trace *t, uint64_t pid, const struct child *c)
{
    build_spawn(&t->b, t->forker, MS_SPAWN_WAIT4,
            (const struct build_property[]){{MS_SPAWN_P_CHILD, pid, NULL},
                    {MS_SPAWN_P_START, t->b.ticks, NULL},
                    {MS_SPAWN_P_STATUS, c->is_killed ? 9 : 0, NULL},
                    {MS_SPAWN_P_UTIME, c->cpu_us, NULL}, {MS_SPAWN_P_STIME, 1, NULL},
                    {0, 0, NULL}});
}

static void put_child(struct trace *t, struct child c)
{
    uint32_t index = t->next++;
    uint64_t kind = c.kind ? c.kind : MS_SPAWN_FORK;
    build_spawn(&t->b, t->forker, kind,
            (const struct build_property[]){{MS_SPAWN_P_START, t->b.ticks, NULL},
                    {MS_SPAWN_P_CHILD, pid_of(index), NULL}, {MS_SPAWN_P_COST, c.cost, NULL},
                    {MS_SPAWN_P_RSS, c.rss_kb, NULL}, {MS_SPAWN_P_PTE, 40 + c.rss_kb / 512, NULL},
                    {MS_SPAWN_P_VSZ, c.rss_kb, NULL},
                    {MS_SPAWN_P_CALLER, c.caller ? c.caller : PLACE, NULL}, {0, 0, NULL}});
    t->b.ticks += c.cost;
    build_image(&t->b, (struct build_image){.index = index,
                               .parent = t->forker,
                               .pid = pid_of(index),
                               .ppid = pid_of(t->forker),
                               .start = t->b.ticks});
    if (c.runs)
        put_program(t, index, &c);
    if (c.allocates)
        put_allocation(t, index);
    t->b.ticks += c.lives;
    if (!c.is_killed)
        build_ending(&t->b, c.runs ? t->next : index, MS_END_EXIT_NOW, 0, 0);
    if (c.cpu_us || c.is_killed)
        put_wait(t, pid_of(index), &c);
    t->next += c.runs;
}

static void put_children(struct trace *t, unsigned count, struct child child)
{
    for (unsigned i = 0; i < count; i++)
        put_child(t, child);
}

// A child of posix_spawn, which has no image before its program.
static void put_posix_spawns(struct trace *t, unsigned count, uint64_t cost)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t index = t->next++;
        build_spawn(&t->b, t->forker, MS_SPAWN_POSIX_SPAWN,
                (const struct build_property[]){{MS_SPAWN_P_START, t->b.ticks, NULL},
                        {MS_SPAWN_P_CHILD, pid_of(index), NULL}, {MS_SPAWN_P_COST, cost, NULL},
                        {MS_SPAWN_P_CALLER, ELSEWHERE, NULL}, {0, 0, NULL}});
        t->b.ticks += cost;
    }
}

// Reads the trace and applies the rules.
static void judge(struct trace *t)
{
    struct ms_file_header *header;
    build_end(&t->b);
    header = (struct ms_file_header *)(void *)t->b.bytes;
    header->process_next = t->next + 1;
    header->thread_next = t->next + 1;
    ms_source_memory(&t->reader.source, t->b.bytes, t->b.size);
    assert_int_equal(ms_reader_open(&t->reader), MS_OK);
    assert_false(ms_reader_is_damaged(&t->reader));
    t->replay = build_alloc(sizeof *t->replay);
    ms_replay_run(t->replay, &t->reader, NULL, NULL);
    ms_forks_run(&t->groups, &t->reader.family, &t->reader.clock, MS_FORK_BY_NONE);
    ms_model_find_spawns(&t->findings, t->replay, &t->groups.all, LIFETIME);
}

static const struct ms_finding *find(const struct trace *t, const char *id)
{
    const struct ms_finding *found = NULL;
    for (size_t i = 0; i < t->findings.count; i++) {
        if (strcmp(t->findings.list[i].id, id) != 0)
            continue;
        assert_null(found);
        found = &t->findings.list[i];
    }
    return found;
}

static void end(struct trace *t)
{
    ms_model_free(&t->findings);
    ms_forks_free(&t->groups);
    ms_replay_free(t->replay);
    free(t->replay);
    ms_reader_close(&t->reader);
    free(t->b.bytes);
}

static const struct ms_finding *must_find(struct trace *t, const char *id)
{
    judge(t);
    const struct ms_finding *finding = find(t, id);
    if (!finding)
        fail_msg("%s is not found", id);
    return finding;
}

// The trace has no such finding. Ends it.
static void must_not_find(struct trace *t, const char *id)
{
    judge(t);
    const struct ms_finding *finding = find(t, id);
    if (finding)
        fail_msg("%s: %s", finding->title, finding->evidence);
    end(t);
}

static const struct child large = {
        .cost = 2000000, .rss_kb = 256 * MIB, .runs = true, .lives = 1000000};

static void fork_to_exec(void **state)
{
    (void)state;
    struct trace t;
    begin(&t);
    put_posix_spawns(&t, 3, 50000);
    put_children(&t, 5, large);
    const struct ms_finding *finding = must_find(&t, "fork-to-exec");
    assert_float_equal(finding->saving_ns, 5 * (2000000 - 50000), 1);
    assert_int_equal(finding->severity, MS_SEVERITY_INFO);
    assert_non_null(strstr(finding->title, "/usr/bin/example+0x1010"));
    assert_non_null(strstr(finding->evidence, "5 of 5 forks led to an exec"));
    assert_non_null(strstr(finding->evidence, "posix_spawn holds its caller for 50.0 µs"));
    end(&t);
}

// Without a posix_spawn or vfork to compare with, the smallest fork of the model stands in.
static void fork_to_exec_by_the_model(void **state)
{
    (void)state;
    struct trace t;
    begin(&t);
    for (uint64_t mib = 1; mib <= 257; mib += 64)
        put_child(&t, (struct child){.cost = 40000 + 8000 * mib,
                              .rss_kb = mib * MIB,
                              .caller = ELSEWHERE,
                              .lives = 1000});
    put_children(&t, 5, large);
    const struct ms_finding *finding = must_find(&t, "fork-to-exec");
    assert_true(finding->saving_ns > 5 * 1900000.0 && finding->saving_ns < 5 * 2000000.0);
    assert_non_null(strstr(finding->evidence, "by the model"));
    end(&t);
}

static void fork_to_exec_at_an_unknown_price(void **state)
{
    (void)state;
    struct trace t;
    begin(&t);
    put_children(&t, 5, large);
    const struct ms_finding *finding = must_find(&t, "fork-to-exec");
    assert_true(isnan(finding->saving_ns));
    assert_int_equal(finding->severity, MS_SEVERITY_INFO);
    end(&t);
}

static void no_fork_to_exec(void **state)
{
    (void)state;
    struct trace t;
    struct child child = large;
    begin(&t); // a small process
    child.rss_kb = 8 * MIB;
    put_children(&t, 20, child);
    must_not_find(&t, "fork-to-exec");
    begin(&t); // children that do something else
    child = large;
    child.runs = false;
    put_children(&t, 20, child);
    must_not_find(&t, "fork-to-exec");
    begin(&t); // the same place also makes such children
    put_children(&t, 5, large);
    put_children(&t, 5, child);
    must_not_find(&t, "fork-to-exec");
    begin(&t); // fork is no dearer
    put_posix_spawns(&t, 3, 1500000);
    put_children(&t, 5, large);
    must_not_find(&t, "fork-to-exec");
    begin(&t); // now and then
    put_children(&t, 3, large);
    must_not_find(&t, "fork-to-exec");
}

static void fork_late(void **state)
{
    (void)state;
    struct trace t;
    struct child child = {.cost = 50000, .rss_kb = 4 * MIB, .lives = 1000000, .allocates = true};
    begin(&t);
    put_children(&t, 3, child);
    child.cost = 3000000;
    child.rss_kb = 512 * MIB;
    put_children(&t, 4, child);
    const struct ms_finding *finding = must_find(&t, "fork-late");
    assert_float_equal(finding->saving_ns, 4 * (3000000 - 50000), 1);
    assert_int_equal(finding->severity, MS_SEVERITY_WARNING);
    assert_non_null(strstr(finding->evidence, "4 forks took 3.00 ms (p50)"));
    assert_non_null(strstr(finding->evidence, "forked in 50.0 µs (p50)"));
    assert_non_null(strstr(finding->evidence, "512 MiB resident, against 4.00 MiB"));
    end(&t);
}

static void no_fork_late(void **state)
{
    (void)state;
    struct trace t;
    struct child child = {.cost = 3000000, .rss_kb = 512 * MIB, .lives = 1000};
    begin(&t); // large from the beginning
    put_children(&t, 20, child);
    must_not_find(&t, "fork-late");
    begin(&t); // it grew, and fork did not get dearer
    child.rss_kb = 4 * MIB;
    put_children(&t, 3, child);
    child.rss_kb = 512 * MIB;
    put_children(&t, 20, child);
    must_not_find(&t, "fork-late");
    begin(&t); // another process was small
    child.rss_kb = 4 * MIB;
    child.cost = 50000;
    put_children(&t, 3, child);
    t.forker = 2;
    child.rss_kb = 512 * MIB;
    child.cost = 3000000;
    put_children(&t, 20, child);
    must_not_find(&t, "fork-late");
}

static void path_search(void **state)
{
    (void)state;
    struct trace t;
    struct child child = {.cost = 50000, .rss_kb = 4 * MIB, .runs = true, .failing = 8};
    begin(&t);
    put_children(&t, 4, child);
    const struct ms_finding *finding = must_find(&t, "path-search");
    assert_float_equal(finding->saving_ns, 4 * 8 * 700, 1);
    assert_non_null(strstr(finding->evidence, "32 attempts failed in 4 searches, 8.0 each"));
    end(&t);
}

static void no_path_search(void **state)
{
    (void)state;
    struct trace t;
    struct child child = {.cost = 50000, .rss_kb = 4 * MIB, .runs = true, .failing = 3};
    begin(&t); // few
    put_children(&t, 5, child);
    must_not_find(&t, "path-search");
    begin(&t); // none
    child.failing = 0;
    put_children(&t, 50, child);
    must_not_find(&t, "path-search");
}

static void spawn_storm(void **state)
{
    (void)state;
    struct trace t;
    struct child child = {.cost = 60000, .rss_kb = 4 * MIB, .lives = 2000000, .allocates = true};
    begin(&t);
    put_children(&t, 150, child);
    const struct ms_finding *finding = must_find(&t, "spawn-storm");
    assert_float_equal(finding->saving_ns, 150 * 60000, 1);
    assert_non_null(strstr(finding->evidence, "150 children"));
    end(&t);
}

static void no_spawn_storm(void **state)
{
    (void)state;
    struct trace t;
    struct child child = {.cost = 60000, .rss_kb = 4 * MIB, .lives = 50000000};
    begin(&t); // at their leisure: 20 a second
    put_children(&t, 150, child);
    must_not_find(&t, "spawn-storm");
    begin(&t); // long-lived ones, at once
    child.lives = 0;
    child.is_killed = true;
    for (unsigned i = 0; i < 150; i++) {
        struct child worker = child;
        worker.lives = (uint64_t)MS_SPAWN_SHORT_NS + 1000;
        put_child(&t, worker);
        t.b.ticks -= worker.lives;
    }
    must_not_find(&t, "spawn-storm");
}

static void fork_gap(void **state)
{
    (void)state;
    struct trace t;
    struct child child = {.cost = 60000, .rss_kb = 4 * MIB, .runs = true, .gap = 100000};
    begin(&t);
    put_children(&t, 3, child); // the usual way
    child.gap = 20000000;
    child.closes = 1000;
    put_children(&t, 4, child);
    const struct ms_finding *finding = must_find(&t, "fork-gap");
    assert_true(finding->saving_ns > 4 * 19.8e6 && finding->saving_ns < 4 * 20e6);
    assert_non_null(strstr(finding->evidence, "4 children took 1 ms or more"));
    assert_non_null(strstr(finding->evidence, "4 000 of close"));
    assert_non_null(strstr(finding->advice, "close_range"));
    end(&t);
    begin(&t); // nothing to compare with, and no loop
    child.closes = 2;
    put_children(&t, 4, child);
    finding = must_find(&t, "fork-gap");
    assert_true(isnan(finding->saving_ns));
    assert_null(strstr(finding->advice, "close_range"));
    end(&t);
}

static void no_fork_gap(void **state)
{
    (void)state;
    struct trace t;
    struct child child = {.cost = 60000, .rss_kb = 4 * MIB, .runs = true, .gap = 900000};
    begin(&t); // short ones
    put_children(&t, 50, child);
    must_not_find(&t, "fork-gap");
    begin(&t); // now and then
    child.gap = 2000000;
    put_children(&t, 3, child);
    must_not_find(&t, "fork-gap");
}

static const struct child idle = {.cost = 60000, .rss_kb = 4 * MIB, .lives = 50000};

static void idle_child(void **state)
{
    (void)state;
    struct trace t;
    struct child child = idle;
    begin(&t);
    put_children(&t, 10, child);
    child.cpu_us = 500; // these are told by rusage, whatever they live
    child.lives = 3000000000;
    put_children(&t, 10, child);
    const struct ms_finding *finding = must_find(&t, "idle-child");
    assert_float_equal(finding->saving_ns, 20 * 60000, 1);
    assert_non_null(strstr(finding->evidence, "20 of the children of 20 forks"));
    end(&t);
}

static void no_idle_child(void **state)
{
    (void)state;
    struct trace t;
    struct child child = idle;
    begin(&t); // they allocate
    child.allocates = true;
    put_children(&t, 30, child);
    must_not_find(&t, "idle-child");
    begin(&t); // they run a program
    child = idle;
    child.runs = true;
    put_children(&t, 30, child);
    must_not_find(&t, "idle-child");
    begin(&t); // they use the processor
    child = idle;
    child.cpu_us = 20000;
    put_children(&t, 30, child);
    must_not_find(&t, "idle-child");
    begin(&t); // they are killed
    child = idle;
    child.is_killed = true;
    put_children(&t, 30, child);
    must_not_find(&t, "idle-child");
    begin(&t); // they live on, and nothing tells what they do
    child = idle;
    child.lives = 50000000;
    put_children(&t, 30, child);
    must_not_find(&t, "idle-child");
    begin(&t); // few
    put_children(&t, 15, idle);
    must_not_find(&t, "idle-child");
}

// Findings are by call site, the largest saving first, and those without one last.
static void by_place_and_saving(void **state)
{
    (void)state;
    struct trace t;
    struct child child = idle;
    begin(&t);
    put_children(&t, 5, large);
    put_children(&t, 16, child);
    child.caller = ELSEWHERE;
    child.cost = 90000;
    put_children(&t, 16, child);
    judge(&t);
    assert_true(t.findings.count >= 2);
    assert_non_null(strstr(t.findings.list[0].title, "/usr/bin/example+0x1020"));
    assert_non_null(strstr(t.findings.list[1].title, "/usr/bin/example+0x1010"));
    for (size_t i = 0; i + 1 < t.findings.count; i++)
        assert_true(isnan(t.findings.list[i + 1].saving_ns) ||
                    t.findings.list[i].saving_ns >= t.findings.list[i + 1].saving_ns);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(fork_to_exec),
            cmocka_unit_test(fork_to_exec_by_the_model),
            cmocka_unit_test(fork_to_exec_at_an_unknown_price),
            cmocka_unit_test(no_fork_to_exec),
            cmocka_unit_test(fork_late),
            cmocka_unit_test(no_fork_late),
            cmocka_unit_test(path_search),
            cmocka_unit_test(no_path_search),
            cmocka_unit_test(spawn_storm),
            cmocka_unit_test(no_spawn_storm),
            cmocka_unit_test(fork_gap),
            cmocka_unit_test(no_fork_gap),
            cmocka_unit_test(idle_child),
            cmocka_unit_test(no_idle_child),
            cmocka_unit_test(by_place_and_saving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
