// SPDX-License-Identifier: MIT
// tree.h and the groups of forks.h: which processes share a row, and that depth does no harm.
#include "build.h"
#include "check.h"

#include <stdio.h>
#include <unistd.h>

#include "../../analyzer/forks.h"
#include "../../analyzer/tree.h"

struct trace {
    struct build b;
    struct ms_reader reader;
    struct ms_tree tree;
    uint32_t next;
};

static void begin(struct trace *t)
{
    memset(t, 0, sizeof *t);
    build_begin(&t->b, MS_HEADER_SIZE, 4096);
    build_process(&t->b, 1, 0);
    t->next = 2;
}

static uint64_t pid_of(uint32_t index)
{
    return 4000 + index;
}

// A child by fork or _Fork that ends with that status. Returns its index.
static uint32_t put_child(struct trace *t, uint32_t parent, uint64_t kind, uint64_t status)
{
    uint32_t index = t->next++;
    build_spawn(&t->b, parent, kind,
            (const struct build_property[]){{MS_SPAWN_P_START, t->b.ticks, NULL},
                    {MS_SPAWN_P_CHILD, pid_of(index), NULL}, {MS_SPAWN_P_COST, 1000, NULL},
                    {MS_SPAWN_P_RSS, 2000, NULL}, {MS_SPAWN_P_PTE, 50, NULL}, {0, 0, NULL}});
    build_image(&t->b, (struct build_image){.index = index,
                               .parent = parent,
                               .pid = pid_of(index),
                               .ppid = pid_of(parent),
                               .start = t->b.ticks});
    build_ending(&t->b, index, MS_END_EXIT, status, 0);
    return index;
}

static void read_tree(struct trace *t)
{
    build_end(&t->b);
    struct ms_file_header *header = (struct ms_file_header *)(void *)t->b.bytes;
    header->process_next = t->next + 1;
    ms_source_memory(&t->reader.source, t->b.bytes, t->b.size);
    assert_int_equal(ms_reader_open(&t->reader), MS_OK);
    ms_tree_build(&t->tree, &t->reader.family);
}

static void end(struct trace *t)
{
    ms_tree_free(&t->tree);
    ms_reader_close(&t->reader);
    free(t->b.bytes);
}

static void check_row(const struct trace *t, size_t row, size_t count, size_t depth, bool is_last)
{
    assert_true(row < t->tree.count);
    assert_int_equal(t->tree.rows[row].count, count);
    assert_int_equal(t->tree.rows[row].depth, depth);
    assert_int_equal(t->tree.rows[row].is_last, is_last);
}

static void few_have_their_own_rows(void **state)
{
    (void)state;
    struct trace t;
    begin(&t);
    for (unsigned i = 0; i < MS_TREE_ALIKE - 1; i++)
        put_child(&t, 1, MS_SPAWN_FORK, 0);
    read_tree(&t);
    assert_int_equal(t.tree.count, MS_TREE_ALIKE);
    check_row(&t, 0, 1, 0, true);
    for (unsigned i = 1; i < MS_TREE_ALIKE; i++) {
        check_row(&t, i, 1, 1, i + 1 == MS_TREE_ALIKE);
        assert_int_equal(t.tree.rows[i].nodes[0]->pid, pid_of(i + 1));
    }
    end(&t);
}

static void many_share_one(void **state)
{
    (void)state;
    struct trace t;
    begin(&t);
    put_child(&t, 1, MS_SPAWN_FORK, 7); // ends otherwise
    for (unsigned i = 0; i < 2000; i++) {
        put_child(&t, 1, MS_SPAWN_FORK, 0);
        if (i == 1000)
            put_child(&t, 1, MS_SPAWN_FORK_RAW, 0); // is made otherwise
    }
    read_tree(&t);
    assert_int_equal(t.tree.count, 4);
    check_row(&t, 1, 1, 1, false);
    check_row(&t, 2, 2000, 1, false);
    check_row(&t, 3, 1, 1, true);
    for (unsigned i = 1; i < 2000; i++)
        assert_true(t.tree.rows[2].nodes[i - 1]->start < t.tree.rows[2].nodes[i]->start);
    end(&t);
}

// The children of those who share a row may share one too.
static void children_of_many(void **state)
{
    (void)state;
    struct trace t;
    begin(&t);
    for (unsigned i = 0; i < 20; i++) {
        uint32_t child = put_child(&t, 1, MS_SPAWN_FORK, 0);
        put_child(&t, child, MS_SPAWN_FORK, 0);
        put_child(&t, child, MS_SPAWN_FORK, 0);
        if (i == 7)
            put_child(&t, child, MS_SPAWN_FORK, 1);
    }
    read_tree(&t);
    assert_int_equal(t.tree.count, 4);
    check_row(&t, 1, 20, 1, true);
    check_row(&t, 2, 40, 2, false);
    check_row(&t, 3, 1, 2, true);
    end(&t);
}

// Printing to nowhere: a chain as long as the trace, with names that no terminal should see.
static void depth_does_no_harm(void **state)
{
    (void)state;
    enum { DEEP = 5000 };
    struct trace t;
    uint32_t parent = 1;
    begin(&t);
    for (unsigned i = 0; i < DEEP; i++)
        parent = put_child(&t, parent, MS_SPAWN_FORK, 0);
    read_tree(&t);
    assert_int_equal(t.tree.count, DEEP + 1);
    check_row(&t, DEEP, 1, DEEP, true);
    struct ms_replay *replay = build_alloc(sizeof *replay);
    ms_replay_run(replay, &t.reader, NULL, NULL);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_non_null(freopen("/dev/null", "w", stdout));
    ms_tree_print_text(replay, "trace");
    ms_tree_print_json(replay, "trace");
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    ms_replay_free(replay);
    free(replay);
    end(&t);
}

static void groups(void **state)
{
    (void)state;
    struct trace t;
    struct ms_fork_groups groups;
    begin(&t);
    uint32_t child = put_child(&t, 1, MS_SPAWN_FORK, 0);
    for (unsigned i = 0; i < 5; i++)
        put_child(&t, child, MS_SPAWN_FORK, 0);
    read_tree(&t);
    ms_forks_run(&groups, &t.reader.family, &t.reader.clock, MS_FORK_BY_NONE);
    assert_int_equal(groups.count, 0);
    assert_int_equal(groups.all.point_count, 6);
    ms_forks_free(&groups);
    ms_forks_run(&groups, &t.reader.family, &t.reader.clock, MS_FORK_BY_PROCESS);
    assert_int_equal(groups.count, 2); // of those who made calls, the most time first
    assert_int_equal(groups.list[0].pid, pid_of(child));
    assert_int_equal(groups.list[0].forks.point_count, 5);
    assert_int_equal(groups.list[1].pid, pid_of(1));
    assert_int_equal(groups.list[1].forks.kinds[MS_SPAWN_FORK].calls, 1);
    ms_forks_free(&groups);
    ms_forks_run(&groups, &t.reader.family, &t.reader.clock, MS_FORK_BY_EXE);
    assert_int_equal(groups.count, 1);
    assert_string_equal(groups.list[0].name, "/usr/bin/example");
    assert_int_equal(groups.list[0].forks.point_count, 6);
    ms_forks_free(&groups);
    ms_forks_run(&groups, &t.reader.family, &t.reader.clock, MS_FORK_BY_ARGV);
    assert_int_equal(groups.count, 1);
    assert_string_equal(groups.list[0].name, "example --flag");
    ms_forks_free(&groups);
    end(&t);
}

static void buckets(void **state)
{
    (void)state;
    static const double sizes[] = {0, 1, 1023, 1024, 2047, 1e18, 1.8e19};
    struct ms_fork_point points[7];
    struct ms_fork_bucket found[MS_FORK_BUCKETS];
    struct ms_forks forks = {.points = points, .point_count = 7};
    for (unsigned i = 0; i < 7; i++)
        points[i] = (struct ms_fork_point){.ns = 1000, .rss_kb = sizes[i]};
    size_t count = ms_forks_buckets(&forks, false, found);
    assert_int_equal(count, 5);
    assert_true(found[0].from_kb == 1 && found[0].ns.count == 1);
    assert_true(found[1].from_kb == 512 && found[1].ns.count == 1);
    assert_true(found[2].from_kb == 1024 && found[2].ns.count == 2);
    assert_true(ms_samples_quantile(&found[0].ns_per_kb, 0.5) == 1000);
    ms_forks_free_buckets(found, count);
    assert_int_equal(ms_forks_buckets(&forks, true, found), 0);
}

static void quantiles(void **state)
{
    (void)state;
    struct ms_samples samples = {0};
    for (unsigned i = 11; i-- > 0;)
        ms_samples_add(&samples, i * 10);
    assert_true(ms_samples_quantile(&samples, 0) == 0);
    assert_true(ms_samples_quantile(&samples, 0.5) == 50);
    assert_true(ms_samples_quantile(&samples, 0.95) == 95);
    assert_true(ms_samples_quantile(&samples, 1) == 100);
    ms_samples_add(&samples, -5);
    assert_true(ms_samples_quantile(&samples, 0) == -5);
    assert_int_equal(samples.count, 12);
    ms_samples_free(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(few_have_their_own_rows),
            cmocka_unit_test(many_share_one),
            cmocka_unit_test(children_of_many),
            cmocka_unit_test(depth_does_no_harm),
            cmocka_unit_test(groups),
            cmocka_unit_test(buckets),
            cmocka_unit_test(quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
