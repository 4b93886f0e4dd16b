// SPDX-License-Identifier: MIT
// The fit in sentences.
#include "fork_model.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

// Sizes of a hostile trace may be as large as they like.
static uint64_t bytes_of(double kb)
{
    return kb < 0x1p53 ? (uint64_t)(kb * 1024) : UINT64_MAX;
}

static void say_unknown(const struct ms_fork_model *model, char *line)
{
    const struct ms_line *pte = &model->by_pte, *rss = &model->by_rss;
    char count[MS_CELL], r2[2][MS_CELL];
    if (!pte->is_known && !rss->is_known) {
        snprintf(line, MS_FORK_SENTENCE,
                "What the cost depends on is not known: %s %s at %zu %s of VmPTE and %zu of RSS "
                "that differ; it takes three.",
                ms_text_count(count, model->n), ms_text_plural(model->n, "call", "calls"),
                pte->levels, ms_text_plural(pte->levels, "size", "sizes"), rss->levels);
        return;
    }
    snprintf(r2[0], MS_CELL, isfinite(pte->r2) ? "%.2f" : "unknown", pte->r2);
    snprintf(r2[1], MS_CELL, isfinite(rss->r2) ? "%.2f" : "unknown", rss->r2);
    snprintf(line, MS_FORK_SENTENCE,
            "Neither VmPTE (r2 %s) nor RSS (r2 %s) explains the cost of the %s calls.", r2[0],
            r2[1], ms_text_count(count, model->n));
}

// The other variable's part of the sentence.
static void say_other(
        const struct ms_fork_model *model, const struct ms_text *text, char *line, size_t size)
{
    char cell[MS_CELL];
    bool is_pte = model->cause == MS_FORK_CAUSE_PTE;
    const struct ms_line *other = is_pte ? &model->by_rss : &model->by_pte;
    const char *name = is_pte ? "RSS" : "VmPTE";
    if (!other->is_known)
        snprintf(line, size, "; the sizes by %s differ too little to tell", name);
    else if (!other->explains)
        snprintf(line, size, "; %s does not explain it", name);
    else
        snprintf(line, size, "; %s it is %s for each %s with r2 %.2f",
                is_pte ? "by resident memory" : "by page tables",
                ms_text_ns(text, cell, other->slope_ns * (is_pte ? 1024 : 1)),
                is_pte ? "MiB" : "KiB", other->r2);
}

const char *ms_fork_model_cause(
        const struct ms_fork_model *model, const struct ms_text *text, char *line)
{
    char cells[5][MS_CELL], other[128];
    const struct ms_line *fit = ms_fork_model_best(model);
    if (model->cause == MS_FORK_CAUSE_UNKNOWN) {
        say_unknown(model, line);
        return line;
    }
    bool is_pte = model->cause == MS_FORK_CAUSE_PTE;
    say_other(model, text, other, sizeof other);
    // The base itself is no time that a fork takes: a process always has page tables and memory.
    snprintf(line, MS_FORK_SENTENCE,
            "%s the cost: %s at %s %s and %s for each %s more; r2 %.2f over %s calls at %zu sizes, "
            "%s of them far off the line and left out of r2%s.",
            model->is_tie ? "VmPTE and RSS alike explain"
            : is_pte      ? "VmPTE explains"
                          : "RSS explains",
            ms_text_ns(text, cells[0], fmax(0, fit->base_ns + fit->slope_ns * fit->least_kb)),
            ms_text_size(cells[1], bytes_of(fit->least_kb)), is_pte ? "of page tables" : "resident",
            ms_text_ns(text, cells[2], fit->slope_ns * (is_pte ? 1 : 1024)), is_pte ? "KiB" : "MiB",
            fit->r2, ms_text_count(cells[3], fit->n), fit->levels,
            ms_text_count(cells[4], fit->outliers), other);
    return line;
}

const char *ms_fork_model_untouched(
        const struct ms_fork_model *model, const struct ms_text *text, char *line)
{
    const struct ms_untouched *found = &model->untouched;
    char cells[6][MS_CELL];
    if (!found->is_known)
        return NULL;
    int size = snprintf(line, MS_FORK_SENTENCE,
            "Untouched memory did not matter: %s more of VmSize (%s instead of %s) at the same "
            "VmPTE of about %.0f KiB made it %s instead of %s (medians of %zu and %zu calls)",
            ms_text_size(cells[0], bytes_of(found->vsz_kb[1] - found->vsz_kb[0])),
            ms_text_size(cells[1], bytes_of(found->vsz_kb[1])),
            ms_text_size(cells[2], bytes_of(found->vsz_kb[0])), found->pte_kb,
            ms_text_ns(text, cells[3], found->ns[1]), ms_text_ns(text, cells[4], found->ns[0]),
            found->n[1], found->n[0]);
    if (isfinite(found->touched_ns))
        size += snprintf(line + size, MS_FORK_SENTENCE - (size_t)size,
                "; touched it would have added %s", ms_text_ns(text, cells[5], found->touched_ns));
    snprintf(line + size, MS_FORK_SENTENCE - (size_t)size, ".");
    return line;
}
