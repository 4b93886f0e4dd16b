// SPDX-License-Identifier: MIT
// memspy report: opens the trace, goes through it, prints one form of the report. A trace that is
// truncated or damaged is reported on as far as it goes, with a warning.
#include "command.h"

#include "diag.h"
#include "progress.h"
#include "report.h"

static uint64_t events_of(const struct ms_reader *reader)
{
    uint64_t events = 0;
    for (size_t i = 0; i < reader->entry_count; i++)
        events += reader->entries[i].events;
    return events;
}

int ms_cmd_report(int argc, char **argv)
{
    static struct ms_report report;
    struct ms_reader reader = {0};
    bool is_json = false;
    const struct ms_option options[] = {{"--json", &is_json}, {NULL, NULL}};
    const char *path = ms_command_arguments(argc, argv, options);
    if (!path)
        return MS_EXIT_USAGE;
    if (!ms_command_open(&reader, path))
        return MS_EXIT_UNREADABLE;
    memset(&report, 0, sizeof report);
    struct ms_progress progress;
    ms_progress_begin(&progress, events_of(&reader));
    ms_report_run(&report, &reader, path, ms_progress_show, &progress);
    ms_progress_end(&progress);
    if (ms_reader_is_damaged(&reader))
        ms_diag_warning("%s is damaged, the report is of what is left: see memspy check", path);
    if (is_json)
        ms_report_print_json(&report);
    else
        ms_report_print_text(&report);
    ms_report_free(&report);
    ms_reader_close(&reader);
    return MS_EXIT_OK;
}
