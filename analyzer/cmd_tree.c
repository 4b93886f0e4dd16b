// SPDX-License-Identifier: MIT
// memspy tree: which process started which, by what and when, how it ended, and what it cost. Goes
// through the events for what each process allocated.
#include "command.h"

#include "diag.h"
#include "progress.h"
#include "tree.h"

int ms_cmd_tree(int argc, char **argv)
{
    static struct ms_replay replay;
    struct ms_reader reader = {0};
    bool is_json = false;
    const struct ms_option options[] = {{"--json", &is_json, NULL}, {NULL, NULL, NULL}};
    const char *path;
    int failure = ms_command_begin(argc, argv, options, &reader, &path);
    if (failure)
        return failure;
    memset(&replay, 0, sizeof replay);
    struct ms_progress progress;
    ms_progress_begin(&progress, ms_command_events(&reader));
    ms_replay_run(&replay, &reader, ms_progress_show, &progress);
    ms_progress_end(&progress);
    if (ms_reader_is_damaged(&reader))
        ms_diag_warning("%s is damaged, processes may be missing: see memspy check", path);
    if (is_json)
        ms_tree_print_json(&replay, path);
    else
        ms_tree_print_text(&replay, path);
    ms_replay_free(&replay);
    ms_reader_close(&reader);
    return MS_EXIT_OK;
}
