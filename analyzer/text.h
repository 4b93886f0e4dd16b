// SPDX-License-Identifier: MIT
// Text for people: the terminal's width, colour and character set, numbers in human units, tables
// and bars. Texts from a trace are printed with control characters made harmless.
#ifndef MEMSPY_ANALYZER_TEXT_H
#define MEMSPY_ANALYZER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ms_text {
    FILE *file;
    unsigned width;
    bool has_colour;
    bool has_utf8;
};

// The form of numbers written into a cell's buffer.
#define MS_CELL 40

enum ms_style { MS_STYLE_PLAIN, MS_STYLE_BOLD, MS_STYLE_DIM, MS_STYLE_HOT, MS_STYLE_COOL };

// Finds out what `file` can show: width by the terminal, COLUMNS, or 100; colour on a terminal
// without NO_COLOR; UTF-8 by the locale.
void ms_text_open(struct ms_text *text, FILE *file);

// Each writes at most MS_CELL bytes, with the terminating 0, and returns `cell`.
const char *ms_text_count(char *cell, uint64_t count);                     // "12 345"
const char *ms_text_size(char *cell, uint64_t bytes);                      // "1.5 MiB"
const char *ms_text_ns(const struct ms_text *text, char *cell, double ns); // "2.3 us"
const char *ms_text_share(char *cell, double part, double whole); // "12.3 %", "-" of nothing

// "block" for a count of 1, else "blocks".
const char *ms_text_plural(uint64_t count, const char *one, const char *many);

// Prints formatted text in a style.
void ms_text_styled(const struct ms_text *text, enum ms_style style, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

// A blank line and a heading.
void ms_text_heading(const struct ms_text *text, const char *title);

// A paragraph, broken at the width, its lines indented by `indent`.
void ms_text_paragraph(const struct ms_text *text, unsigned indent, const char *paragraph);

// The same after `column` columns of the first line; the text is untrusted.
void ms_text_continued(
        const struct ms_text *text, unsigned indent, unsigned column, const char *paragraph);

// A bar of `fraction` (0 to 1) of `width` columns, not filled up; a fraction above 0 shows.
void ms_text_bar(const struct ms_text *text, double fraction, unsigned width, enum ms_style style);

// Untrusted text, cut at its end to `most` columns.
void ms_text_untrusted_begin(const struct ms_text *text, const char *untrusted, unsigned most);

// Untrusted text, cut in front to `most` columns.
void ms_text_untrusted(const struct ms_text *text, const char *untrusted, unsigned most);

#define MS_TABLE_COLUMNS 15

// A table of cells, printed when it is complete: columns as wide as they must be. `align` has a
// letter a column: 'l' or 'r', or as the last one 'e', which is 'l' cut at its end.
struct ms_table {
    char align[MS_TABLE_COLUMNS + 1];
    char **cells;
    size_t count;
    size_t capacity;
};

void ms_table_cell(struct ms_table *table, const char *cell);

// Takes a column out of a complete table when it is wider than the text.
void ms_table_narrow(struct ms_table *table, const struct ms_text *text, size_t column);

// Prints the table, its first row being the titles, and empties it. A last column that would go
// past the width is cut in front, or at its end if it is an 'e'.
void ms_table_print(struct ms_table *table, const struct ms_text *text);

#endif
