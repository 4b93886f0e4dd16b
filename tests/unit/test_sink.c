// SPDX-License-Identifier: MIT
// The shim's trace file: its name, what it begins with, and live blocks that go round.
#define _GNU_SOURCE
#include "check.h"

#include <sink.h>

#include <fcntl.h>
#include <memspy/wire.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static char place[] = "/tmp/memspy-sink-XXXXXX";

static int enter(void **state)
{
    (void)state;
    return mkdtemp(place) == NULL || chdir(place) != 0;
}

static int leave(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", place);
    return chdir("/") != 0 || system(command) != 0;
}

// Makes a trace and compares its path with the one wanted, in this directory.
static void makes(const char *pattern, const char *wanted)
{
    char path[256];
    assert_true(ms_sink_create(pattern, true, NULL));
    snprintf(path, sizeof path, "%s/%s", place, wanted);
    assert_string_equal(ms_sink_path(), path);
    assert_int_equal(access(path, F_OK), 0);
}

static void placeholders(void **state)
{
    (void)state;
    struct utsname host;
    char wanted[128];
    uname(&host);
    snprintf(wanted, sizeof wanted, "a.%d.test_sink.%.64s.%%.b", (int)getpid(), host.nodename);
    makes("a.%p.%e.%h.%%.b", wanted);
    makes("plain", "plain");
    makes("%x-%", "%x-%"); // what is none stays
    makes("%%p", "%p");
}

static void never_replaced(void **state)
{
    (void)state;
    makes("twice", "twice");
    makes("twice", "twice.1");
    makes("twice", "twice.2");
    assert_int_equal(symlink("nowhere", "link"), 0);
    makes("link", "link.1");
}

static void impossible(void **state)
{
    (void)state;
    static char long_path[4200];
    memset(long_path, 'x', sizeof long_path - 1);
    assert_false(ms_sink_create("missing/directory/x", true, NULL));
    assert_false(ms_sink_create(long_path, true, NULL));
}

static void begin(void **state)
{
    (void)state;
    struct ms_file_header header;
    struct stat status;
    makes("begin", "begin");
    int fd = open("begin", O_RDONLY);
    assert_int_equal(read(fd, &header, sizeof header), sizeof header);
    assert_int_equal(fstat(fd, &status), 0);
    close(fd);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(header.magic == MS_FILE_MAGIC);
    assert_int_equal(header.crc, ms_crc32(&header, offsetof(struct ms_file_header, crc)));
    assert_int_equal(header.live_size, 131072);
    assert_int_equal(header.space_next, 4096);
    const char *join = ms_sink_join_value();
    for (unsigned i = 0; i < 16; i++) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", header.session[i]);
        assert_memory_equal(join + 2 * i, digits, 2);
    }
    assert_int_equal(join[32], ':');
    assert_memory_equal(join + MS_SINK_INDEX_AT, "00000000:", 9);
    assert_string_equal(join + MS_SINK_INDEX_AT + 9, ms_sink_path());
}

static void joining(void **state)
{
    (void)state;
    char join[4096];
    makes("joined", "joined");
    snprintf(join, sizeof join, "%s", ms_sink_join_value());
    assert_int_equal(ms_sink_new_process(), 1);
    memcpy(join + MS_SINK_INDEX_AT, "00a0001f", MS_SINK_INDEX_DIGITS);
    assert_true(ms_sink_join(join));
    assert_int_equal(ms_sink_ancestor(), 0xa0001f);
    join[MS_SINK_INDEX_AT] = 'x';
    assert_false(ms_sink_join(join)); // not a number
    join[MS_SINK_INDEX_AT] = '0';
    assert_int_equal(ms_sink_new_process(), 2); // the same header
    join[0] = join[0] == '0' ? '1' : '0';
    assert_false(ms_sink_join(join)); // another session
    join[32] = 0;
    assert_false(ms_sink_join(join));
    assert_false(ms_sink_join(""));
}

// A block that is given back is the next to be taken, and the number of threads at the same time
// decides how long the file gets.
static void live_blocks(void **state)
{
    (void)state;
    makes("live", "live");
    struct ms_live *one = ms_sink_take_live(), *two = ms_sink_take_live();
    uint32_t numbers[] = {one->next_free, two->next_free};
    assert_int_equal(one->block.type, MS_BLOCK_LIVE);
    assert_int_equal(one->block.crc, ms_crc32(&one->block, offsetof(struct ms_block, crc)));
    assert_int_equal(one->block.stored_size, MS_LIVE_SIZE - 64);
    assert_true(numbers[0] != 0 && numbers[1] != numbers[0]);
    uint64_t space = ms_sink_header->space_next;
    one->owner = two->owner = 1;
    ms_sink_give_live(one);
    ms_sink_give_live(two);
    for (unsigned i = 0; i < 100; i++) {
        one = ms_sink_take_live();
        assert_int_equal(one->owner, 0);
        assert_int_equal(one->next_free, numbers[1]); // last in, first out
        two = ms_sink_take_live();
        assert_int_equal(two->next_free, numbers[0]);
        ms_sink_give_live(two);
        ms_sink_give_live(one);
    }
    assert_int_equal(ms_sink_header->space_next, space);
}

static void sealed_blocks(void **state)
{
    (void)state;
    struct {
        struct ms_block block;
        char payload[100];
    } b = {.block = {.type = MS_BLOCK_END, .stored_size = 100}, .payload = "payload"}, back;
    makes("sealed", "sealed");
    assert_int_equal(ms_sink_write(&b.block), 0);
    assert_int_equal(ms_sink_write(&b.block), 0);
    assert_int_equal(ms_sink_header->space_next, 4096 + 2 * 192);
    int fd = open("sealed", O_RDONLY);
    assert_int_equal(pread(fd, &back, 164, 4096 + 192), 164);
    close(fd);
    assert_memory_equal(&back, &b, 164);
    assert_int_equal(back.block.crc, ms_crc32(&back.block, offsetof(struct ms_block, crc)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(placeholders),
            cmocka_unit_test(never_replaced),
            cmocka_unit_test(impossible),
            cmocka_unit_test(begin),
            cmocka_unit_test(joining),
            cmocka_unit_test(live_blocks),
            cmocka_unit_test(sealed_blocks),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
