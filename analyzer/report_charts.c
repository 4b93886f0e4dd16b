// SPDX-License-Identifier: MIT
// Histograms in the terminal. Costs: one line an octave of nanoseconds, and each path its own bar
// in it, so that the rungs of the ladder show as peaks apart. Bars are logarithmic in the number of
// calls: a hundred dear calls must not vanish beside ten million cheap ones.
#include <math.h>

#include "report_text.h"

// Octaves of nanoseconds: 1 ns to 2^39 ns.
#define OCTAVES 40

struct chart {
    double count[MS_ALLOC_PATHS][OCTAVES];
    double most;
    unsigned first, last; // octaves in use
};

static unsigned octave_of(double ns)
{
    if (ns < 2)
        return 0;
    unsigned octave = (unsigned)log2(ns);
    return octave < OCTAVES ? octave : OCTAVES - 1;
}

// Spreads the buckets over the octaves, each by its middle.
static void chart_fill(struct chart *chart, const struct ms_report_text *out,
        const struct ms_row *rows, unsigned count)
{
    chart->first = OCTAVES;
    for (unsigned row = 0; row < count; row++) {
        for (unsigned i = 0; i < MS_HIST_BUCKETS; i++) {
            if (!rows[row].hist[i])
                continue;
            double ticks = ((double)ms_hist_low(i) + (double)ms_hist_low(i + 1)) / 2;
            double ns = ms_clock_ns(&out->report->reader->clock, ticks);
            // Below its resolution the timer tells nothing apart.
            unsigned octave = octave_of(fmax(ns, out->report->resolution_ns));
            chart->count[row][octave] += ms_row_bucket(&rows[row], i);
            chart->most = fmax(chart->most, chart->count[row][octave]);
            chart->first = octave < chart->first ? octave : chart->first;
            chart->last = octave > chart->last ? octave : chart->last;
        }
    }
}

static double log_share(double count, double most)
{
    return count > 0 ? log2(1 + count) / log2(1 + most) : 0;
}

static void chart_line(const struct ms_report_text *out, const struct chart *chart, unsigned octave,
        unsigned row, const char *name, bool is_kernel)
{
    char low[MS_CELL], cell[MS_CELL];
    unsigned bar = out->text.width > 60 ? out->text.width - 42 : 18;
    ms_text_ns(&out->text, low, ldexp(1, (int)octave));
    // The micro sign is one column and two bytes.
    int pad = 8 - (int)strlen(low) + (out->text.has_utf8 && strstr(low, "µ") != NULL);
    printf("  %*s%s  %-8s %13s  ", pad > 0 ? pad : 0, "", low, name,
            ms_text_count(cell, (uint64_t)fmax(1, round(chart->count[row][octave]))));
    ms_text_bar(&out->text, log_share(chart->count[row][octave], chart->most), bar,
            is_kernel ? MS_STYLE_HOT : MS_STYLE_COOL);
    fputc('\n', out->text.file);
}

void ms_report_chart_costs(const struct ms_report_text *out, const char *title,
        const struct ms_row *rows, unsigned count, const char *(*name)(unsigned))
{
    struct chart chart = {0};
    bool is_frees = rows != out->report->replay.totals.counters.rows;
    chart_fill(&chart, out, rows, count);
    if (chart.most == 0)
        return;
    ms_text_heading(&out->text, title);
    ms_text_styled(&out->text, MS_STYLE_DIM, "  %8s  %-8s %13s  bars are logarithmic\n", "from",
            "path", "calls");
    for (unsigned octave = chart.first; octave <= chart.last; octave++)
        for (unsigned i = 1; i <= count; i++)
            if (chart.count[i % count][octave] > 0)
                chart_line(out, &chart, octave, i % count, name(i % count),
                        ms_row_is_kernel(i % count + (is_frees ? MS_ROW_FREE : 0)));
}

void ms_report_chart_sizes(const struct ms_report_text *out)
{
    const struct ms_sum *sizes = out->report->replay.totals.sizes;
    char size[MS_CELL], calls[MS_CELL], bytes[MS_CELL];
    unsigned bar = out->text.width > 60 ? out->text.width - 42 : 18;
    uint64_t most = 0;
    for (unsigned i = 0; i < MS_SIZE_CLASSES; i++)
        most = sizes[i].calls > most ? sizes[i].calls : most;
    if (most == 0)
        return;
    ms_text_heading(&out->text, "Sizes of allocations");
    ms_text_styled(&out->text, MS_STYLE_DIM, "  %8s  %10s %11s  bars are logarithmic\n", "from",
            "bytes", "calls");
    for (unsigned i = 0; i < MS_SIZE_CLASSES; i++) {
        if (!sizes[i].calls)
            continue;
        printf("  %8s  %10s %11s  ", ms_text_size(size, i ? UINT64_C(1) << (i - 1) : 0),
                ms_text_size(bytes, sizes[i].bytes), ms_text_count(calls, sizes[i].calls));
        ms_text_bar(
                &out->text, log_share((double)sizes[i].calls, (double)most), bar, MS_STYLE_COOL);
        fputc('\n', out->text.file);
    }
}
