// SPDX-License-Identifier: MIT
// The environment that the shim gives to programs which its own starts. Here the program itself is
// what the shim takes for its library.
#define _GNU_SOURCE
#include "check.h"

#include <env.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSION          "00112233445566778899aabbccddeeff"
#define JOIN             SESSION ":00000000:/tmp/trace"
#define TRACE            "MEMSPY_TRACE=" JOIN
#define TIMING           "MEMSPY_TIMING=64"
#define ENVIRONMENT(...) ((char *[]){__VA_ARGS__, NULL})

static char library[4096 + 16]; // the path that the shim found
static char preload[8192];      // the entry that it made of this program's own list
static char alone[4096 + 32];   // the entry with the library alone

// What names the library by another path is left out, the rest is kept.
static int install(void **state)
{
    (void)state;
    unsetenv("MEMSPY_TRACE");
    setenv("LD_PRELOAD", "/opt/a.so lib/test_env:/opt/b.so /test_env2", 1);
    setenv("MEMSPY_TIMING", "64", 1);
    ms_env_install(JOIN, 0, true);
    const char *list = getenv("LD_PRELOAD");
    if (list == NULL || list[0] != '/')
        return 1;
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", list);
    snprintf(library, sizeof library, "%.*s", (int)strcspn(list, ":"), list);
    snprintf(alone, sizeof alone, "LD_PRELOAD=%s", library);
    return 0;
}

static void installed(void **state)
{
    (void)state;
    size_t length = strlen(library);
    assert_true(length > 9 && strcmp(library + length - 9, "/test_env") == 0);
    assert_int_equal(access(library, X_OK), 0);
    assert_string_equal(
            preload + strlen("LD_PRELOAD=") + length, ":/opt/a.so:/opt/b.so:/test_env2");
    assert_string_equal(getenv("MEMSPY_TRACE"), JOIN);
    assert_int_equal(ms_env_repaired_size(environ, true), 0);
}

// Repairs an environment and compares with what is wanted, NULL at the end of both.
static void repairs(char *const *given, char *const *wanted)
{
    enum { SIZE = 4096 };
    static char *copy[SIZE];
    size_t size = ms_env_repaired_size(given, true), i = 0;
    assert_true(size > 0 && size <= SIZE);
    for (unsigned j = 0; j < SIZE; j++)
        copy[j] = "not written";
    ms_env_repair(given, true, copy, size);
    for (; wanted[i] != NULL; i++) {
        assert_non_null(copy[i]);
        assert_string_equal(copy[i], wanted[i]);
    }
    assert_null(copy[i]);
    assert_true(i < size);
    assert_int_equal(ms_env_repaired_size(copy, true), 0); // once is enough
}

// Where a program took LD_PRELOAD away, only the shim comes back.
static void without_anything(void **state)
{
    (void)state;
    repairs(NULL, ENVIRONMENT(alone, TIMING, TRACE));
    repairs(ENVIRONMENT(NULL), ENVIRONMENT(alone, TIMING, TRACE));
    repairs(ENVIRONMENT("A=1", "B"), ENVIRONMENT("A=1", "B", alone, TIMING, TRACE));
}

// The shim comes in front of a list of the program's own.
static void other_values(void **state)
{
    (void)state;
    char joined[8192];
    snprintf(joined, sizeof joined, "%s:/opt/c.so:/opt/d.so", alone);
    repairs(ENVIRONMENT("MEMSPY_TRACE=old", "A=1"), ENVIRONMENT("A=1", alone, TIMING, TRACE));
    repairs(ENVIRONMENT("LD_PRELOAD=/opt/c.so /opt/d.so", TRACE),
            ENVIRONMENT(joined, TIMING, TRACE));
    repairs(ENVIRONMENT("LD_PRELOAD=", TRACE, "A=1"), ENVIRONMENT(alone, "A=1", TIMING, TRACE));
    repairs(ENVIRONMENT(TRACE, "LD_PRELOAD_64=1"),
            ENVIRONMENT("LD_PRELOAD_64=1", alone, TIMING, TRACE));
}

// A list of the program's own that names the shim is left alone.
static void own_lists(void **state)
{
    (void)state;
    static const char *const good[] = {"LD_PRELOAD=%s", "LD_PRELOAD=/opt/c.so:%s",
            "LD_PRELOAD=/opt/c.so %s:/opt/d.so", "LD_PRELOAD=%s /opt/c.so"};
    // What has the shim's name in another place goes; what only looks like it stays.
    static const char *const bad[][2] = {{"LD_PRELOAD=%s.so", ":%s.so"}, {"LD_PRELOAD=/opt%s", ""},
            {"LD_PRELOAD=x%s:/opt/c.so", ":/opt/c.so"}};
    char entry[8192], rest[8192], wanted[16384];
    for (unsigned i = 0; i < 4; i++) {
        snprintf(entry, sizeof entry, good[i], library);
        assert_int_equal(ms_env_repaired_size(ENVIRONMENT(entry, TIMING, TRACE), true), 0);
        repairs(ENVIRONMENT("A=1", entry), ENVIRONMENT("A=1", entry, TIMING, TRACE));
    }
    for (unsigned i = 0; i < 3; i++) {
        snprintf(entry, sizeof entry, bad[i][0], library);
        snprintf(rest, sizeof rest, bad[i][1], library);
        snprintf(wanted, sizeof wanted, "%s%s", alone, rest);
        repairs(ENVIRONMENT(entry, TRACE), ENVIRONMENT(wanted, TIMING, TRACE));
    }
}

// The settings that a tree shares come along where an environment lacks them, and its own stay.
static void shared_settings(void **state)
{
    (void)state;
    repairs(ENVIRONMENT("A=1", TRACE, alone), ENVIRONMENT("A=1", alone, TIMING, TRACE));
    assert_int_equal(ms_env_repaired_size(ENVIRONMENT("MEMSPY_TIMING=1", TRACE, alone), true), 0);
}

// What a child learns of the trace names the process that it learned it from.
static void index_of_the_process(void **state)
{
    (void)state;
    char entry[] = "MEMSPY_TRACE=" SESSION ":0a1b2c3d:/tmp/trace";
    ms_env_set_index(0x0a1b2c3d);
    repairs(ENVIRONMENT(NULL), ENVIRONMENT(alone, TIMING, entry));
    assert_string_equal(getenv("MEMSPY_TRACE"), entry + strlen("MEMSPY_TRACE="));
    ms_env_set_index(0);
    assert_string_equal(getenv("MEMSPY_TRACE"), JOIN);
}

// What system and the like give to their children.
static void completeness(void **state)
{
    (void)state;
    char *own[] = {"A=1", NULL}, **before = environ;
    assert_true(ms_env_is_complete());
    environ = own;
    assert_false(ms_env_is_complete());
    environ = NULL;
    assert_false(ms_env_is_complete());
    environ = before;
}

// Another thread may add entries between the asking for the size and the copying.
static void grown_meanwhile(void **state)
{
    (void)state;
    char *given[40] = {"A=1", NULL}, *copy[64];
    size_t size = ms_env_repaired_size(given, true);
    assert_true(size < 16);
    for (unsigned i = 0; i < 39; i++)
        given[i] = i % 2 ? "LD_PRELOAD=/opt/c.so" : "B=2";
    for (unsigned i = 0; i < 64; i++)
        copy[i] = "not written";
    ms_env_repair(given, true, copy, size);
    for (size_t i = size; i < 64; i++)
        assert_string_equal(copy[i], "not written");
    size_t entries = 0;
    while (copy[entries] != NULL)
        entries++;
    assert_string_equal(copy[entries - 1], TRACE);
}

// A program whose loader could not load the shim is spared its complaint.
static void cannot_load(void **state)
{
    (void)state;
    char *given[] = {"A=1", alone, TIMING, TRACE, NULL}, *copy[4096];
    assert_int_equal(ms_env_repaired_size(given, true), 0);
    size_t size = ms_env_repaired_size(given, false);
    assert_in_range(size, 5, 4096);
    ms_env_repair(given, false, copy, size);
    assert_string_equal(copy[0], "A=1");
    assert_string_equal(copy[1], TIMING);
    assert_null(copy[2]);
    assert_int_equal(ms_env_repaired_size(copy, false), 0);
}

// Without following, nothing of the shim is left in what programs get. Last: it stays that way.
static void not_followed(void **state)
{
    (void)state;
    char entry[8192];
    ms_env_install("", 0, false);
    snprintf(entry, sizeof entry, "LD_PRELOAD=/opt/c.so %s:/opt/d.so", library);
    repairs(ENVIRONMENT("A=1", alone, TRACE), ENVIRONMENT("A=1"));
    repairs(ENVIRONMENT(entry, "B=2"), ENVIRONMENT("LD_PRELOAD=/opt/c.so:/opt/d.so", "B=2"));
    assert_int_equal(ms_env_repaired_size(ENVIRONMENT("A=1", "LD_PRELOAD=/opt/c.so"), true), 0);
    assert_int_equal(ms_env_repaired_size(NULL, true), 0);
    assert_null(getenv("MEMSPY_TRACE"));
    assert_string_equal(getenv("LD_PRELOAD"), "/opt/a.so:/opt/b.so:/test_env2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(installed),
            cmocka_unit_test(without_anything),
            cmocka_unit_test(other_values),
            cmocka_unit_test(own_lists),
            cmocka_unit_test(shared_settings),
            cmocka_unit_test(index_of_the_process),
            cmocka_unit_test(completeness),
            cmocka_unit_test(grown_meanwhile),
            cmocka_unit_test(cannot_load),
            cmocka_unit_test(not_followed),
    };
    return cmocka_run_group_tests(tests, install, NULL);
}
