// SPDX-License-Identifier: MIT
// The process tree: each rule by which images, calls and waits are put together, and what traces
// may lie about.
#include "build.h"
#include "check.h"

#include "../../analyzer/reader.h"

// A trace being made, and read. Process 1 is the initial one, pid 100, from tick 2000 on.
struct tree {
    struct build b;
    struct ms_reader reader;
    const struct ms_family *family;
};

#define T(tick) (UINT64_C(1000000) + (tick))

#define PROPERTIES(...) ((const struct build_property[]){__VA_ARGS__, {0, 0, NULL}})
#define START(tick)                                                                                \
    {                                                                                              \
        MS_SPAWN_P_START, T(tick), NULL                                                            \
    }
#define COST(ticks)                                                                                \
    {                                                                                              \
        MS_SPAWN_P_COST, ticks, NULL                                                               \
    }
#define CHILD(pid)                                                                                 \
    {                                                                                              \
        MS_SPAWN_P_CHILD, pid, NULL                                                                \
    }
#define PID(pid)                                                                                   \
    {                                                                                              \
        MS_SPAWN_P_PID, pid, NULL                                                                  \
    }
#define ERRNO(number)                                                                              \
    {                                                                                              \
        MS_SPAWN_P_ERRNO, number, NULL                                                             \
    }
#define STATUS(number)                                                                             \
    {                                                                                              \
        MS_SPAWN_P_STATUS, number, NULL                                                            \
    }
#define TARGET(number)                                                                             \
    {                                                                                              \
        MS_SPAWN_P_TARGET, number, NULL                                                            \
    }
#define STREAM(number)                                                                             \
    {                                                                                              \
        MS_SPAWN_P_STREAM, number, NULL                                                            \
    }
#define PATH(text)                                                                                 \
    {                                                                                              \
        MS_SPAWN_P_PATH, 0, text                                                                   \
    }
#define ARGV(text)                                                                                 \
    {                                                                                              \
        MS_SPAWN_P_ARGV, 0, text                                                                   \
    }
#define SPAWN(t, process, kind, ...)                                                               \
    build_spawn(&(t)->b, process, MS_SPAWN_##kind, PROPERTIES(__VA_ARGS__))

static void image(struct tree *t, struct build_image image)
{
    image.start = T(image.start);
    if (image.made)
        image.made = T(image.made);
    build_image(&t->b, image);
}

static void begin(struct tree *t)
{
    memset(t, 0, sizeof *t);
    build_begin(&t->b, MS_HEADER_SIZE, 4096);
    image(t, (struct build_image){.index = 1, .pid = 100, .ppid = 1, .start = 2000});
}

static void read_tree(struct tree *t)
{
    build_end(&t->b);
    ms_source_memory(&t->reader.source, t->b.bytes, t->b.size);
    assert_int_equal(ms_reader_open(&t->reader), MS_OK);
    assert_int_equal(t->reader.damage_count, 0);
    t->family = &t->reader.family;
}

static void end(struct tree *t)
{
    ms_reader_close(&t->reader);
    free(t->b.bytes);
}

static struct ms_process *image_of(const struct tree *t, uint32_t index)
{
    struct ms_process *process = ms_process_find(&t->reader.processes, index);
    assert_non_null(process);
    return process;
}

static struct ms_node *node_of(const struct tree *t, uint32_t index)
{
    return ms_family_node(t->family, image_of(t, index));
}

// The only untraced node with that pid.
static struct ms_node *untraced(const struct tree *t, uint64_t pid)
{
    struct ms_node *found = NULL;
    for (size_t i = 0; i < t->family->count; i++) {
        struct ms_node *node = &t->family->nodes[i];
        if (node->first || node->pid != pid)
            continue;
        assert_null(found);
        found = node;
    }
    assert_non_null(found);
    assert_non_null(found->why_not);
    return found;
}

// Whether the tree holds each node once.
static void check_tree(const struct tree *t)
{
    size_t met = 0, below = 0;
    for (const struct ms_node *node = t->family->root; node; node = ms_node_next(node)) {
        assert_true(met++ < t->family->count);
        below += node->parent ? 0 : node->descendants + 1;
        assert_int_equal(node->depth, node->parent ? node->parent->depth + 1 : 0);
    }
    assert_int_equal(met, t->family->count);
    assert_int_equal(below, t->family->count);
}

static void fork_then_exec_twice(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, FORK, CHILD(200), START(3000), COST(100));
    image(&t,
            (struct build_image){.index = 2, .parent = 1, .pid = 200, .ppid = 100, .start = 3040});
    SPAWN(&t, 2, EXECVP, START(3300), COST(20), ERRNO(2), PATH("/a/x"),
            {MS_SPAWN_P_ENTRY, T(3290), NULL}, {MS_SPAWN_P_GAP_BEGIN, T(3100), NULL},
            {MS_SPAWN_P_GAP_DUPS, 2, NULL});
    SPAWN(&t, 2, EXECVP, START(3400), PATH("/b/x"), {MS_SPAWN_P_ENTRY, T(3290), NULL},
            {MS_SPAWN_P_GAP_BEGIN, T(3200), NULL});
    SPAWN(&t, 2, EXECV, START(3450), COST(30), ERRNO(7)); // another thread's
    SPAWN(&t, 2, EXECV, START(9000), PATH("/z"));         // later than what came of it
    image(&t, (struct build_image){
                      .index = 3, .ancestor = 2, .pid = 200, .ppid = 100, .start = 3500});
    SPAWN(&t, 3, MAIN, START(3600));
    SPAWN(&t, 3, EXECVE, START(3700), PATH("/y"));
    image(&t, (struct build_image){
                      .index = 4, .ancestor = 3, .pid = 200, .ppid = 100, .start = 3800});
    build_ending(&t.b, 4, MS_END_EXIT, 5, 0);
    SPAWN(&t, 1, WAIT, CHILD(200), START(4000), COST(90000), STATUS(0x600));
    read_tree(&t);
    const struct ms_node *node = node_of(&t, 2);
    assert_int_equal(t.family->count, 2);
    assert_ptr_equal(node, node_of(&t, 4));
    assert_ptr_equal(node->parent, node_of(&t, 1));
    assert_int_equal(node->images, 3);
    assert_string_equal(ms_node_origin(node, node->first), "fork");
    assert_string_equal(ms_node_origin(node, image_of(&t, 4)), "exec");
    assert_string_equal(ms_node_made_by(node, image_of(&t, 3)), "execvp");
    assert_string_equal(ms_node_made_by(node, image_of(&t, 4)), "execve");
    assert_true(node->has_latency && node->latency == 40);
    assert_true(node->has_to_main && node->to_main == 600);
    assert_true(node->has_gap && node->gap == 190 && node->gap_dups == 2);
    assert_int_equal(node->exec_count, 5);
    assert_int_equal(node->failed_execs, 2);
    assert_int_equal(node->failed_ticks, 50);
    assert_int_equal(node->execs[1].state, MS_EXEC_HAPPENED);
    assert_int_equal(node->execs[2].state, MS_EXEC_FAILED);
    assert_int_equal(node->execs[3].state, MS_EXEC_UNSURE);
    assert_true(node->execs[1].has_to_init && node->execs[1].to_init == 210);
    assert_true(node->execs[1].has_to_main && node->execs[1].to_main == 310);
    assert_int_equal(node->ending.fate, MS_FATE_EXIT);
    assert_int_equal(node->ending.status, 5);
    assert_int_equal(image_of(&t, 2)->ending.fate, MS_FATE_EXEC);
    assert_int_equal(image_of(&t, 3)->parent, 1);
    assert_null(node->why_not);
    assert_int_equal(ms_node_way(node), MS_WAY_FORK_EXEC);
    check_tree(&t);
    end(&t);
}

// An announcement and its failure are one call; the text comes from the first.
static void exec_taken_back(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, EXECVE, START(3000), PATH("/no"));
    SPAWN(&t, 1, EXECVE, START(3000), COST(7), ERRNO(13));
    build_ending(&t.b, 1, MS_END_EXIT_NOW, 127, 0);
    read_tree(&t);
    const struct ms_node *node = node_of(&t, 1);
    assert_int_equal(node->exec_count, 1);
    assert_int_equal(node->execs->state, MS_EXEC_FAILED);
    assert_string_equal(node->execs->call->path, "/no");
    assert_null(node->unseen);
    assert_int_equal(node->ending.fate, MS_FATE_EXIT_NOW);
    end(&t);
}

// The program that an exec led to is not traced: the parent's wait tells how that ended.
static void exec_to_static(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, FORK, CHILD(200), START(3000), COST(100));
    image(&t,
            (struct build_image){.index = 2, .parent = 1, .pid = 200, .ppid = 100, .start = 3040});
    t.b.ticks = T(2000);
    build_ending(&t.b, 2, MS_END_EXIT, 0, 0); // the exec is in a function that atexit was given
    SPAWN(&t, 2, EXECV, START(3400), PATH("/static"), TARGET(MS_TARGET_STATIC));
    SPAWN(&t, 1, WAIT4, CHILD(200), START(3500), COST(500), STATUS(9));
    read_tree(&t);
    const struct ms_node *node = node_of(&t, 2);
    assert_int_equal(t.family->count, 2);
    assert_non_null(node->unseen);
    assert_string_equal(node->why_not, "static");
    assert_string_equal(ms_node_program(node), "/static");
    assert_int_equal(image_of(&t, 2)->ending.fate, MS_FATE_EXEC);
    assert_int_equal(node->ending.fate, MS_FATE_KILLED);
    assert_int_equal(node->ending.ticks, T(4000));
    end(&t);
}

// An exec that nothing took back, in a process that went on, did not happen.
static void exec_unsure(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, EXECV, START(1500), PATH("/x"));
    build_ending(&t.b, 1, MS_END_EXIT, 1, 0);
    read_tree(&t);
    assert_int_equal(node_of(&t, 1)->execs->state, MS_EXEC_UNSURE);
    assert_int_equal(node_of(&t, 1)->ending.fate, MS_FATE_EXIT);
    end(&t);
}

static void posix_spawned(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, POSIX_SPAWNP, CHILD(200), START(3000), COST(400));
    image(&t, (struct build_image){
                      .index = 2, .ancestor = 1, .pid = 200, .ppid = 100, .start = 3300});
    SPAWN(&t, 2, MAIN, START(3350));
    SPAWN(&t, 1, POSIX_SPAWN, CHILD(201), START(5000), PATH("/su"), TARGET(MS_TARGET_SECURE));
    SPAWN(&t, 1, POSIX_SPAWN, CHILD(202), START(6000), TARGET(MS_TARGET_FOLLOWED));
    SPAWN(&t, 1, POSIX_SPAWN, START(7000), ERRNO(2));
    read_tree(&t);
    const struct ms_node *node = node_of(&t, 2);
    assert_int_equal(t.family->count, 4);
    assert_ptr_equal(node->parent, node_of(&t, 1));
    assert_string_equal(ms_node_origin(node, node->first), "posix_spawn");
    assert_string_equal(ms_node_made_by(node, node->first), "posix_spawnp");
    assert_true(node->has_to_main && node->to_main == 350);
    assert_false(node->has_latency);
    assert_int_equal(ms_node_way(node), MS_WAY_POSIX_SPAWN);
    assert_string_equal(untraced(&t, 201)->why_not, "set-uid, set-gid or with capabilities");
    assert_string_equal(ms_node_program(untraced(&t, 201)), "/su");
    assert_ptr_equal(untraced(&t, 202)->parent, node_of(&t, 1));
    check_tree(&t);
    end(&t);
}

// vfork, in the child an exec that failed and one that did not; and one that only ended.
static void vforked(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, EXECVE, PID(200), START(3100), COST(5), ERRNO(2));
    SPAWN(&t, 1, EXECVE, PID(200), START(3200), PATH("/x"));
    image(&t, (struct build_image){
                      .index = 2, .ancestor = 1, .pid = 200, .ppid = 100, .start = 3400});
    SPAWN(&t, 1, VFORK, CHILD(200), START(3000), COST(300));
    t.b.ticks = T(4100);
    build_ending(&t.b, 1, MS_END_EXIT_NOW, 127, 201);
    SPAWN(&t, 1, VFORK, CHILD(201), START(5000), COST(300));
    build_ending(&t.b, 1, MS_END_EXIT, 0, 0);
    read_tree(&t);
    const struct ms_node *node = node_of(&t, 2);
    assert_int_equal(t.family->count, 3);
    assert_string_equal(ms_node_origin(node, node->first), "vfork");
    assert_ptr_equal(node->parent, node_of(&t, 1));
    assert_int_equal(node->exec_count, 2);
    assert_ptr_equal(node->execs[1].image, node->first);
    assert_int_equal(node->execs[1].state, MS_EXEC_HAPPENED);
    assert_int_equal(ms_node_way(node), MS_WAY_VFORK_EXEC);
    node = untraced(&t, 201);
    assert_string_equal(node->why_not, "a vfork child: it ran in its parent's memory");
    assert_int_equal(node->ending.fate, MS_FATE_EXIT_NOW);
    assert_int_equal(node->ending.status, 127);
    assert_int_equal(node_of(&t, 1)->ending.fate, MS_FATE_EXIT);
    assert_int_equal(node_of(&t, 1)->exec_count, 0);
    end(&t);
}

// A vfork child's vfork child; and one whose parent was killed before it could tell of it.
static void vforked_nested(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, VFORK, PID(200), CHILD(201), START(3100));
    SPAWN(&t, 1, VFORK, CHILD(200), START(3000));
    SPAWN(&t, 1, EXECVE, PID(300), START(4000), PATH("/static"), TARGET(MS_TARGET_STATIC));
    read_tree(&t);
    assert_int_equal(t.family->count, 4);
    assert_ptr_equal(untraced(&t, 201)->parent, untraced(&t, 200));
    assert_ptr_equal(untraced(&t, 200)->parent, node_of(&t, 1));
    assert_ptr_equal(untraced(&t, 300)->parent, node_of(&t, 1));
    assert_string_equal(untraced(&t, 300)->why_not, "static");
    assert_string_equal(ms_node_origin(untraced(&t, 300), NULL), "vfork");
    assert_null(node_of(&t, 1)->unseen);
    check_tree(&t);
    end(&t);
}

// system covers its child's start, popen comes before it; a program between that is not traced.
static void shells(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, POPEN, START(2500), COST(100), ARGV("cat"), STREAM(0x1000));
    SPAWN(&t, 1, SYSTEM, START(3000), COST(1000), ARGV("x"), STATUS(0x300));
    image(&t, (struct build_image){
                      .index = 2, .ancestor = 1, .pid = 201, .ppid = 100, .start = 3500});
    image(&t, (struct build_image){
                      .index = 3, .ancestor = 1, .pid = 200, .ppid = 100, .start = 4500});
    image(&t, (struct build_image){
                      .index = 4, .ancestor = 1, .pid = 202, .ppid = 199, .start = 4600});
    SPAWN(&t, 1, PCLOSE, START(5000), COST(10), STREAM(0x1000), STATUS(0x400));
    SPAWN(&t, 1, SYSTEM, START(6000), COST(10), ARGV("true"), STATUS(0));
    SPAWN(&t, 1, SYSTEM, START(7000), COST(1000), ARGV("x"), PID(101));
    for (uint32_t i = 0; i < 2; i++)
        image(&t, (struct build_image){.index = 5 + i,
                          .ancestor = 1,
                          .pid = 203 + i,
                          .ppid = i ? 101 : 100,
                          .start = 7500});
    image(&t, (struct build_image){
                      .index = 7, .ancestor = 1, .pid = 205, .ppid = 101, .start = 7500});
    SPAWN(&t, 1, SYSTEM, START(8500), COST(10), ARGV("x"), STATUS(0));
    image(&t, (struct build_image){
                      .index = 8, .ancestor = 1, .pid = 206, .ppid = 100, .start = 8600});
    read_tree(&t);
    assert_null(node_of(&t, 5)->made); // the caller was a vfork child
    assert_string_equal(ms_node_made_by(node_of(&t, 6), image_of(&t, 6)), "system");
    assert_null(node_of(&t, 7)->made); // it has made another one
    assert_null(node_of(&t, 8)->made); // it is over
    assert_string_equal(ms_node_made_by(node_of(&t, 2), image_of(&t, 2)), "system");
    assert_string_equal(ms_node_made_by(node_of(&t, 3), image_of(&t, 3)), "popen");
    assert_int_equal(node_of(&t, 2)->ending.status, 3);
    assert_int_equal(node_of(&t, 3)->ending.status, 4);
    assert_false(node_of(&t, 3)->is_through);
    assert_null(ms_node_made_by(node_of(&t, 4), image_of(&t, 4)));
    assert_true(node_of(&t, 4)->is_through);
    assert_ptr_equal(node_of(&t, 4)->parent, node_of(&t, 1));
    assert_int_equal(node_of(&t, 4)->ending.fate, MS_FATE_OPEN);
    size_t unknown = 0;
    for (size_t i = 0; i < t.family->count; i++)
        unknown += t.family->nodes[i].pid == 0 && t.family->nodes[i].ending.fate == MS_FATE_EXIT;
    assert_int_equal(unknown, 2);
    check_tree(&t);
    end(&t);
}

// Calls in several threads at a time: the command tells them apart.
static void shells_at_once(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, SYSTEM, START(3000), COST(1000), ARGV("one"));
    SPAWN(&t, 1, SYSTEM, START(3001), COST(1000), ARGV("two"));
    SPAWN(&t, 1, POPEN, START(3002), COST(10), ARGV("three"));
    static const char *const commands[] = {"two", "three", "four", "one"};
    for (uint32_t i = 0; i < 4; i++)
        image(&t, (struct build_image){.index = 2 + i,
                          .ancestor = 1,
                          .pid = 200 + i,
                          .ppid = 100,
                          .start = 3500,
                          .command = commands[i]});
    read_tree(&t);
    assert_string_equal(node_of(&t, 2)->made->argv, "two");
    assert_string_equal(node_of(&t, 3)->made->argv, "three");
    assert_null(node_of(&t, 4)->made);
    assert_string_equal(node_of(&t, 5)->made->argv, "one");
    end(&t);
}

// The parent of a traced process is one that is not, and that a call is known to have made.
static void through_an_untraced_child(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, POSIX_SPAWN, CHILD(200), START(3000), TARGET(MS_TARGET_STATIC));
    image(&t, (struct build_image){
                      .index = 2, .ancestor = 1, .pid = 201, .ppid = 200, .start = 4600});
    read_tree(&t);
    assert_ptr_equal(node_of(&t, 2)->parent, untraced(&t, 200));
    assert_true(node_of(&t, 2)->is_through);
    check_tree(&t);
    end(&t);
}

// A pid is used three times: by time each image, wait and record finds its own.
static void pids_used_again(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    for (uint32_t i = 0; i < 3; i++) {
        SPAWN(&t, 1, FORK, CHILD(200), START(3000 + 1000 * i), COST(100));
        SPAWN(&t, 1, WAITPID, CHILD(200), START(3500 + 1000 * i), COST(100), STATUS(i << 8));
    }
    image(&t,
            (struct build_image){.index = 2, .parent = 1, .pid = 200, .ppid = 100, .start = 5040});
    image(&t,
            (struct build_image){.index = 3, .parent = 1, .pid = 200, .ppid = 100, .start = 3040});
    read_tree(&t);
    assert_int_equal(t.family->count, 4);
    assert_int_equal(node_of(&t, 3)->made->number[MS_SPAWN_P_START], T(3000));
    assert_int_equal(node_of(&t, 2)->made->number[MS_SPAWN_P_START], T(5000));
    assert_int_equal(node_of(&t, 3)->ending.status, 0);
    assert_int_equal(untraced(&t, 200)->ending.status, 1);
    assert_int_equal(node_of(&t, 2)->ending.status, 2);
    assert_string_equal(
            untraced(&t, 200)->why_not, "it had nothing to tell so far, or before it was killed");
    const struct ms_node *first = node_of(&t, 1)->first_child;
    assert_ptr_equal(first, node_of(&t, 3));
    assert_ptr_equal(first->next, untraced(&t, 200));
    end(&t);
}

// An image with the pid of its ancestor is not what that became, if that ended or became another;
// nor does a call make two.
static void ancestors_pid_used_again(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    image(&t, (struct build_image){.index = 2, .parent = 1, .pid = 200, .start = 2500});
    SPAWN(&t, 2, EXECV, START(3000));
    build_ending(&t.b, 1, MS_END_EXIT, 0, 0);
    image(&t, (struct build_image){.index = 3, .ancestor = 1, .pid = 100, .start = 4000});
    image(&t, (struct build_image){.index = 4, .ancestor = 2, .pid = 200, .start = 4000});
    image(&t, (struct build_image){.index = 5, .ancestor = 2, .pid = 200, .start = 5000});
    SPAWN(&t, 1, POSIX_SPAWN, CHILD(300), START(3000));
    image(&t, (struct build_image){.index = 6, .ancestor = 1, .pid = 300, .start = 4000});
    image(&t, (struct build_image){.index = 7, .ancestor = 1, .pid = 300, .start = 5000});
    read_tree(&t);
    assert_ptr_not_equal(node_of(&t, 3), node_of(&t, 1));
    assert_ptr_equal(node_of(&t, 4), node_of(&t, 2));
    assert_ptr_not_equal(node_of(&t, 5), node_of(&t, 2));
    assert_int_equal(image_of(&t, 4)->parent, 1);
    assert_non_null(node_of(&t, 6)->made);
    assert_null(node_of(&t, 7)->made);
    check_tree(&t);
    end(&t);
}

// A child of which only a wait tells; waits of another time do not count.
static void waits(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, WAIT, CHILD(300), START(2500), STATUS(11));
    SPAWN(&t, 1, FORK, CHILD(300), START(3000), COST(100));
    image(&t, (struct build_image){.index = 2,
                      .parent = 1,
                      .pid = 300,
                      .ppid = 100,
                      .start = 3040,
                      .made = 3000,
                      .flags = MS_PROCESS_LATE});
    SPAWN(&t, 1, WAIT, CHILD(300), START(2900), COST(1000), STATUS(0x7f),
            {MS_SPAWN_P_UTIME, 12, NULL});
    SPAWN(&t, 1, WAIT, CHILD(300), START(5000), STATUS(0)); // the second one counts no more
    read_tree(&t);
    assert_int_equal(t.family->count, 3);
    assert_int_equal(untraced(&t, 300)->ending.fate, MS_FATE_SIGNAL);
    assert_int_equal(untraced(&t, 300)->ending.status, 11);
    assert_ptr_equal(untraced(&t, 300)->parent, node_of(&t, 1));
    assert_int_equal(node_of(&t, 2)->wait->number[MS_SPAWN_P_UTIME], 12);
    assert_int_equal(node_of(&t, 2)->ending.fate, MS_FATE_OPEN);
    assert_non_null(node_of(&t, 2)->made);
    assert_false(node_of(&t, 2)->has_latency);
    end(&t);
}

// A pid comes again: what had ended is not taken for the new one, which no call is known to have
// made.
static void reused_pid(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, VFORK, CHILD(300), START(2000), COST(100));
    SPAWN(&t, 1, WAIT, CHILD(300), START(2200), COST(50), STATUS(4 << 8));
    SPAWN(&t, 1, SYSTEM, START(3000), COST(1000), STATUS(3 << 8));
    image(&t, (struct build_image){
                      .index = 2, .ancestor = 1, .pid = 300, .ppid = 100, .start = 3500});
    read_tree(&t);
    assert_int_equal(t.family->count, 3);
    assert_string_equal(ms_node_made_by(node_of(&t, 2), NULL), "system");
    assert_string_equal(ms_spawn_name_of(untraced(&t, 300)->made), "vfork");
    end(&t);
}

// In a PID namespace of its own a child has another pid than the one its parent was told, and waits
// for.
static void other_namespace(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, FORK, CHILD(300), START(2000), COST(100));
    image(&t, (struct build_image){
                      .index = 2, .parent = 1, .pid = 1, .ppid = 0, .start = 2050, .made = 2000});
    SPAWN(&t, 1, WAIT, CHILD(300), START(2200), COST(50), STATUS(7 << 8));
    read_tree(&t);
    assert_int_equal(t.family->count, 2);
    assert_int_equal(node_of(&t, 2)->pid, 300);
    assert_int_equal(node_of(&t, 2)->ending.status, 7);
    assert_int_equal(node_of(&t, 2)->latency, 50);
    end(&t);
}

// A child that no hook announced is not that of a call that was.
static void unannounced(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    SPAWN(&t, 1, FORK, CHILD(300), START(2000), COST(100));
    image(&t, (struct build_image){.index = 2,
                      .parent = 1,
                      .pid = 300,
                      .ppid = 100,
                      .start = 9000,
                      .flags = MS_PROCESS_LATE});
    read_tree(&t);
    assert_null(node_of(&t, 2)->made);
    assert_string_equal(ms_node_origin(node_of(&t, 2), node_of(&t, 2)->first), "clone");
    end(&t);
}

// daemon: the child tells of it; the parent's end counts unless the call failed.
static void daemons(void **state)
{
    (void)state;
    for (unsigned fails = 0; fails < 3; fails++) {
        struct tree t;
        begin(&t);
        uint64_t before = t.b.ticks - T(0);
        build_ending(&t.b, 1, MS_END_DAEMON, 0, 0);
        if (fails) {
            SPAWN(&t, 1, DAEMON, START(fails == 1 ? before : 99000), ERRNO(11));
        } else {
            image(&t, (struct build_image){
                              .index = 2, .parent = 1, .pid = 200, .ppid = 1, .start = 3040});
            SPAWN(&t, 2, DAEMON, CHILD(200), START(3000), PID(100));
        }
        read_tree(&t);
        assert_int_equal(node_of(&t, 1)->ending.fate, fails == 1 ? MS_FATE_OPEN : MS_FATE_EXIT_NOW);
        if (!fails) {
            assert_string_equal(ms_node_made_by(node_of(&t, 2), image_of(&t, 2)), "daemon");
            assert_ptr_equal(node_of(&t, 2)->parent, node_of(&t, 1));
            assert_int_equal(t.family->count, 2);
            assert_ptr_equal(ms_family_caller(t.family, node_of(&t, 2)->made), node_of(&t, 1));
        }
        end(&t);
    }
}

// What a forked process' blocks do not say is as in its parent; of two blocks the later one counts.
static void inherited(void **state)
{
    (void)state;
    struct tree t;
    memset(&t, 0, sizeof t);
    build_begin(&t.b, MS_HEADER_SIZE, 4096);
    build_process(&t.b, 1, 0);
    image(&t,
            (struct build_image){
                    .index = 2, .parent = 1, .pid = 200, .start = 3000, .flags = MS_PROCESS_LATE});
    image(&t, (struct build_image){.index = 3, .parent = 2, .pid = 201, .start = 3100});
    t.b.ticks -= 2500;
    build_image(&t.b, (struct build_image){.index = 2, .parent = 1, .pid = 999, .ppid = 77});
    read_tree(&t);
    assert_int_equal(image_of(&t, 3)->number[MS_PROCESS_FLOOR_TICKS], 20);
    assert_string_equal(image_of(&t, 3)->text[MS_PROCESS_EXE], "/usr/bin/example");
    assert_string_equal(ms_process_argument(image_of(&t, 3), NULL), "example");
    assert_int_equal(image_of(&t, 2)->number[MS_PROCESS_PID], 200);
    assert_int_equal(image_of(&t, 2)->number[MS_PROCESS_PPID], 77);
    assert_int_equal(image_of(&t, 3)->number[MS_PROCESS_PPID], 0);
    assert_string_equal(ms_node_origin(node_of(&t, 2), image_of(&t, 2)), "clone");
    assert_string_equal(ms_node_origin(node_of(&t, 3), image_of(&t, 3)), "fork");
    end(&t);
}

// Processes that are each other's parents and ancestors, calls that made each other.
static void circles(void **state)
{
    (void)state;
    struct tree t;
    begin(&t);
    image(&t, (struct build_image){.index = 2, .parent = 3, .pid = 200, .start = 3000});
    image(&t, (struct build_image){.index = 3, .parent = 2, .pid = 201, .start = 3000});
    image(&t, (struct build_image){.index = 4, .ancestor = 5, .pid = 202, .start = 3000});
    image(&t, (struct build_image){.index = 5, .ancestor = 4, .pid = 202, .start = 3000});
    image(&t, (struct build_image){.index = 6, .parent = 6, .pid = 203, .start = 3000});
    SPAWN(&t, 1, VFORK, PID(300), CHILD(301), START(3000));
    SPAWN(&t, 1, VFORK, PID(301), CHILD(300), START(3000));
    SPAWN(&t, 1, VFORK, PID(302), CHILD(302), START(3000));
    SPAWN(&t, 1, POPEN, START(UINT64_MAX), COST(UINT64_MAX), STREAM(1), ARGV("x"));
    SPAWN(&t, 1, FORK, CHILD(100), START(0));
    SPAWN(&t, 9, FORK, CHILD(100), START(0));
    SPAWN(&t, 0, WAIT, CHILD(1), START(0));
    read_tree(&t);
    check_tree(&t);
    assert_non_null(node_of(&t, 4));
    assert_ptr_equal(node_of(&t, 4), node_of(&t, 5));
    end(&t);
}

// Deep and wide: nothing recurses, nothing is looked at once for each of the others.
static void many(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    struct tree t;
    begin(&t);
    for (uint32_t i = 2; i < MANY; i++)
        build_image(
                &t.b, (struct build_image){.index = i, .parent = i - 1, .pid = 100, .start = i});
    for (uint32_t i = 0; i < MANY; i++) {
        SPAWN(&t, 1, SYSTEM, START(i), ARGV("x"), PID(55));
        SPAWN(&t, 1, EXECVE, START(i), ERRNO(2));
        build_image(&t.b,
                (struct build_image){
                        .index = MANY + i, .ancestor = 1, .pid = 100, .ppid = 7, .start = T(MANY)});
    }
    read_tree(&t);
    check_tree(&t);
    end(&t);
}

// A payload with a wrong checksum is damage of that block alone.
static void raw_checksums(void **state)
{
    (void)state;
    for (unsigned broken = 0; broken < 3; broken++) {
        struct tree t;
        begin(&t);
        size_t at = SPAWN(&t, 1, FORK, CHILD(200), START(3000));
        size_t after = t.b.size;
        SPAWN(&t, 1, FORK, CHILD(201), START(3000));
        struct ms_block *block = (struct ms_block *)(void *)(t.b.bytes + at);
        if (broken == 1)
            t.b.bytes[at + sizeof *block] ^= 1;
        if (broken == 2)
            block->raw_size--;
        block->crc = ms_crc32(block, offsetof(struct ms_block, crc));
        build_end(&t.b);
        ms_source_memory(&t.reader.source, t.b.bytes, t.b.size);
        assert_int_equal(ms_reader_open(&t.reader), MS_OK);
        assert_int_equal(t.reader.damage_count, broken != 0);
        assert_int_equal(t.reader.spawns.count, broken ? 1 : 2);
        if (broken) {
            assert_int_equal(t.reader.damage[0].offset, at);
            assert_int_equal(t.reader.damage[0].size, after - at);
        }
        end(&t);
    }
}

// Lists that do not end, numbers that do not: damage. Tags and kinds of a later format: none.
static void malformed_spawns(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        uint8_t size;
        bool is_good;
        uint8_t count;
    } payloads[] = {{{1, 1, 1, 4, 1, 5}, 6, true, 1}, {{1, 1, 1, 4, 1}, 5, false, 0},
            {{1, 1, 1, 4, 1, 0x80}, 6, false, 0}, {{1, 1, 1, 4, 0}, 5, false, 0},
            {{1, 1, 1, 17, 9, 'x'}, 6, false, 0}, {{1, 1, 1, 99, 1, 0x80}, 6, true, 1},
            {{1, 1, 99}, 3, true, 0}, {{1, 5, 0x81, 0x80, 0x80, 0x80, 0x10}, 7, true, 0},
            {{0}, 0, true, 0}, {{1}, 1, false, 0}};
    for (unsigned i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        struct tree t;
        begin(&t);
        build_put_raw(&t.b, &(struct build_block){.type = MS_BLOCK_SPAWN, .process = 1},
                payloads[i].bytes, payloads[i].size);
        build_end(&t.b);
        ms_source_memory(&t.reader.source, t.b.bytes, t.b.size);
        assert_int_equal(ms_reader_open(&t.reader), MS_OK);
        assert_int_equal(t.reader.damage_count, !payloads[i].is_good);
        assert_int_equal(t.reader.spawns.count, payloads[i].count);
        end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(fork_then_exec_twice),
            cmocka_unit_test(exec_taken_back),
            cmocka_unit_test(exec_to_static),
            cmocka_unit_test(exec_unsure),
            cmocka_unit_test(posix_spawned),
            cmocka_unit_test(vforked),
            cmocka_unit_test(vforked_nested),
            cmocka_unit_test(shells),
            cmocka_unit_test(shells_at_once),
            cmocka_unit_test(through_an_untraced_child),
            cmocka_unit_test(pids_used_again),
            cmocka_unit_test(ancestors_pid_used_again),
            cmocka_unit_test(waits),
            cmocka_unit_test(reused_pid),
            cmocka_unit_test(other_namespace),
            cmocka_unit_test(unannounced),
            cmocka_unit_test(daemons),
            cmocka_unit_test(inherited),
            cmocka_unit_test(circles),
            cmocka_unit_test(many),
            cmocka_unit_test(raw_checksums),
            cmocka_unit_test(malformed_spawns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
