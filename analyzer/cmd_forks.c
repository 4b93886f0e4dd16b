// SPDX-License-Identifier: MIT
// memspy forks: what the calls that make and replace processes cost, and what that depends on. Only
// the calls are read, not the events.
#include "command.h"

#include "diag.h"
#include "forks.h"

// Whether the word names a way to group.
static bool parse_by(const char *word, enum ms_fork_by *by)
{
    *by = MS_FORK_BY_NONE;
    if (!word)
        return true;
    for (unsigned i = MS_FORK_BY_PROCESS; i <= MS_FORK_BY_ARGV; i++)
        if (strcmp(word, ms_fork_by_name((enum ms_fork_by)i)) == 0)
            *by = (enum ms_fork_by)i;
    return *by != MS_FORK_BY_NONE;
}

int ms_cmd_forks(int argc, char **argv)
{
    struct ms_reader reader = {0};
    struct ms_fork_groups groups;
    enum ms_fork_by by;
    bool is_json = false;
    const char *word = NULL;
    const struct ms_option options[] = {
            {"--json", &is_json, NULL}, {"--by", NULL, &word}, {NULL, NULL, NULL}};
    const char *path = ms_command_arguments(argc, argv, options);
    if (!path)
        return MS_EXIT_USAGE;
    if (!parse_by(word, &by)) {
        ms_diag_error("%s: --by takes process, exe or argv, not '%s'", argv[0], word);
        return MS_EXIT_USAGE;
    }
    if (!ms_command_open(&reader, path))
        return MS_EXIT_UNREADABLE;
    if (ms_reader_is_damaged(&reader))
        ms_diag_warning("%s is damaged, calls may be missing: see memspy check", path);
    ms_forks_run(&groups, &reader.family, &reader.clock, by);
    if (is_json)
        ms_forks_print_json(&groups, by, &reader.family, &reader.clock, path);
    else
        ms_forks_print_text(&groups, by, path);
    ms_forks_free(&groups);
    ms_reader_close(&reader);
    return MS_EXIT_OK;
}
