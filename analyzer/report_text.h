// SPDX-License-Identifier: MIT
// What the parts of the text report share.
#ifndef MEMSPY_ANALYZER_REPORT_TEXT_H
#define MEMSPY_ANALYZER_REPORT_TEXT_H

#include "report.h"
#include "text.h"

struct ms_report_text {
    const struct ms_report *report;
    struct ms_text text;
};

// Draws the histograms of cost of `count` paths, on a logarithmic scale. Nothing is drawn when no
// call was timed.
void ms_report_chart_costs(const struct ms_report_text *out, const char *title,
        const struct ms_row *rows, unsigned count, const char *(*name)(unsigned));

// Draws how many allocations there were of which size.
void ms_report_chart_sizes(const struct ms_report_text *out);

// The sections about processes, and about the calls that made and replaced them. Nothing is printed
// of a single process that made none.
void ms_report_print_processes(const struct ms_report_text *out);
void ms_report_print_spawns(const struct ms_report_text *out);

#endif
