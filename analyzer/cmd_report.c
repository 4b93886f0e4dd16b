// SPDX-License-Identifier: MIT
// memspy report: opens the trace, goes through it, prints one form of the report. A trace that is
// truncated or damaged is reported on as far as it goes, with a warning.
#include "command.h"

#include "diag.h"
#include "progress.h"
#include "report.h"

int ms_cmd_report(int argc, char **argv)
{
    static struct ms_report report;
    struct ms_reader reader = {0};
    bool is_json = false;
    const struct ms_option options[] = {{"--json", &is_json, NULL}, {NULL, NULL, NULL}};
    const char *path;
    int failure = ms_command_begin(argc, argv, options, &reader, &path);
    if (failure)
        return failure;
    memset(&report, 0, sizeof report);
    struct ms_progress progress;
    ms_progress_begin(&progress, ms_command_events(&reader));
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
