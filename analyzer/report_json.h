// SPDX-License-Identifier: MIT
// What the parts of the JSON report share.
#ifndef MEMSPY_ANALYZER_REPORT_JSON_H
#define MEMSPY_ANALYZER_REPORT_JSON_H

#include "out_json.h"
#include "report.h"

// "processes".
void ms_report_put_processes(struct ms_json *json, const struct ms_report *report);

// "forks", "fork_model", "execs", "spawn_cost", "waits".
void ms_report_put_spawns(struct ms_json *json, const struct ms_report *report);

#endif
