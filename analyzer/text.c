// SPDX-License-Identifier: MIT
// All knowledge of terminals. Nothing here knows what a trace is.
#include "text.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "memory.h"
#include "utf8.h"

#define WIDTH_DEFAULT 100
#define WIDTH_MIN     40
#define WIDTH_MAX     400

static unsigned width_of(int fd)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long width = 0;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (width == 0 && columns)
        width = strtol(columns, NULL, 10);
    if (width <= 0)
        return WIDTH_DEFAULT;
    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : (unsigned)width;
}

void ms_text_open(struct ms_text *text, FILE *file)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    setlocale(LC_CTYPE, "");
    text->file = file;
    text->width = width_of(fileno(file));
    text->has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    text->has_colour = isatty(fileno(file)) && !(no_colour && *no_colour) &&
                       !(terminal && strcmp(terminal, "dumb") == 0);
}

const char *ms_text_count(char *cell, uint64_t count)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRIu64, count);
    char *to = cell;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            *to++ = ' ';
        *to++ = digits[i];
    }
    *to = 0;
    return cell;
}

// Three digits that matter.
static const char *scaled(char *cell, double value, const char *unit)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(cell, MS_CELL, "%.*f %s", decimals, value, unit);
    return cell;
}

const char *ms_text_size(char *cell, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    for (; value >= 1023.5 && unit < 6; unit++)
        value /= 1024;
    if (unit == 0)
        snprintf(cell, MS_CELL, "%" PRIu64 " B", bytes);
    else
        scaled(cell, value, units[unit]);
    return cell;
}

const char *ms_text_ns(const struct ms_text *text, char *cell, double ns)
{
    if (!isfinite(ns)) {
        snprintf(cell, MS_CELL, "unknown");
        return cell;
    }
    if (ns < 999.5)
        snprintf(cell, MS_CELL, ns < 9.95 ? "%.1f ns" : "%.0f ns", ns);
    else if (ns < 999.5e3)
        scaled(cell, ns / 1e3, text->has_utf8 ? "µs" : "us");
    else if (ns < 999.5e6)
        scaled(cell, ns / 1e6, "ms");
    else
        scaled(cell, ns / 1e9, "s");
    return cell;
}

const char *ms_text_share(char *cell, double part, double whole)
{
    double share = whole > 0 ? 100 * part / whole : 0;
    if (whole <= 0 || part == 0)
        snprintf(cell, MS_CELL, "-");
    else if (part < whole && share >= 99.95)
        snprintf(cell, MS_CELL, ">99.9 %%");
    else if (share < 0.05)
        snprintf(cell, MS_CELL, "<0.1 %%");
    else
        snprintf(cell, MS_CELL, "%.1f %%", share);
    return cell;
}

const char *ms_text_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

static const char *style_begin(const struct ms_text *text, enum ms_style style)
{
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[31m", "\033[36m"};
    return text->has_colour ? codes[style] : "";
}

static const char *style_end(const struct ms_text *text, enum ms_style style)
{
    return text->has_colour && style != MS_STYLE_PLAIN ? "\033[0m" : "";
}

void ms_text_styled(const struct ms_text *text, enum ms_style style, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs(style_begin(text, style), text->file);
    vfprintf(text->file, format, arguments);
    fputs(style_end(text, style), text->file);
    va_end(arguments);
}

void ms_text_heading(const struct ms_text *text, const char *title)
{
    fputc('\n', text->file);
    ms_text_styled(text, MS_STYLE_BOLD, "%s", title);
    fputc('\n', text->file);
}

// Columns of UTF-8 text in which every character is one column wide.
static unsigned columns_of(const char *string)
{
    unsigned columns = 0;
    for (; *string; string++)
        columns += (*string & 0xc0) != 0x80;
    return columns;
}

void ms_text_bar(const struct ms_text *text, double fraction, unsigned width, enum ms_style style)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned units = text->has_utf8 ? 8 : 1;
    unsigned filled = (unsigned)(fraction * width * units + 0.5);
    if (filled == 0 && fraction > 0)
        filled = 1;
    fputs(style_begin(text, style), text->file);
    for (unsigned i = 0; i < filled / units; i++)
        fputs(text->has_utf8 ? "█" : "#", text->file);
    if (text->has_utf8)
        fputs(eighths[filled % units], text->file);
    fputs(style_end(text, style), text->file);
}

// One character of untrusted text; returns its bytes.
static size_t put_character(const struct ms_text *text, const char *at)
{
    unsigned char byte = (unsigned char)*at;
    size_t size = ms_utf8_size((const unsigned char *)at, strlen(at));
    // U+0080 to U+009F are control characters too.
    bool is_control = byte < 0x20 || byte == 0x7f || (byte == 0xc2 && (unsigned char)at[1] < 0xa0);
    // The micro sign of our own units has a common substitute.
    bool is_micro = byte == 0xc2 && (unsigned char)at[1] == 0xb5;
    if (size == 0 || is_control || (size > 1 && !text->has_utf8))
        fputc(is_micro ? 'u' : '?', text->file);
    else
        fwrite(at, 1, size, text->file);
    return size ? size : 1;
}

void ms_text_untrusted(const struct ms_text *text, const char *untrusted, unsigned most)
{
    unsigned columns = columns_of(untrusted);
    bool is_cut = columns > most && most > 3;
    for (unsigned skip = is_cut ? columns - most + 3 : 0; skip; untrusted++)
        skip -= (untrusted[1] & 0xc0) != 0x80;
    if (is_cut)
        fputs("...", text->file);
    while (*untrusted)
        untrusted += put_character(text, untrusted);
}

void ms_text_untrusted_begin(const struct ms_text *text, const char *untrusted, unsigned most)
{
    bool is_cut = columns_of(untrusted) > most && most > 3;
    unsigned left = is_cut ? most - 3 : most;
    for (; *untrusted && left; left--)
        untrusted += put_character(text, untrusted);
    if (is_cut)
        fputs("...", text->file);
}

void ms_text_continued(
        const struct ms_text *text, unsigned indent, unsigned column, const char *paragraph)
{
    bool is_first = true; // word of its line
    while (*paragraph) {
        size_t size = strcspn(paragraph, " ");
        const char *end = paragraph + size;
        unsigned columns = 0;
        for (size_t i = 0; i < size; i++)
            columns += (paragraph[i] & 0xc0) != 0x80;
        if (column > indent && column + !is_first + columns > text->width) {
            fprintf(text->file, "\n%*s", (int)indent, "");
            column = indent;
            is_first = true;
        }
        if (!is_first)
            fputc(' ', text->file);
        column += !is_first + columns;
        is_first = false;
        while (paragraph < end)
            paragraph += put_character(text, paragraph);
        paragraph += *paragraph == ' ';
    }
    fputc('\n', text->file);
}

void ms_text_paragraph(const struct ms_text *text, unsigned indent, const char *paragraph)
{
    fprintf(text->file, "%*s", (int)indent, "");
    ms_text_continued(text, indent, indent, paragraph);
}

void ms_table_cell(struct ms_table *table, const char *cell)
{
    table->cells =
            ms_memory_grow(table->cells, table->count + 1, &table->capacity, sizeof *table->cells);
    table->cells[table->count++] = ms_memory_text(cell, strlen(cell));
}

static void print_row(const struct ms_table *table, const struct ms_text *text, size_t row,
        const unsigned *widths)
{
    size_t columns = strlen(table->align);
    unsigned used = 2;
    fputs("  ", text->file);
    for (size_t i = 0; i < columns; i++) {
        const char *cell = table->cells[row * columns + i];
        bool is_last = i + 1 == columns;
        unsigned pad = widths[i] - columns_of(cell);
        if (table->align[i] == 'r')
            fprintf(text->file, "%*s", (int)pad, "");
        unsigned most = is_last && text->width > used ? text->width - used : 1000;
        if (table->align[i] == 'e')
            ms_text_untrusted_begin(text, cell, most);
        else
            ms_text_untrusted(text, cell, most);
        if (table->align[i] == 'l' && !is_last)
            fprintf(text->file, "%*s", (int)pad, "");
        if (!is_last)
            fputs("  ", text->file);
        used += widths[i] + 2;
    }
    fputc('\n', text->file);
}

// Finds the widths of the columns and returns that of the table.
static unsigned measure(const struct ms_table *table, unsigned *widths)
{
    size_t columns = strlen(table->align);
    unsigned all = 0;
    for (size_t i = 0; i < columns; i++)
        widths[i] = 0;
    for (size_t i = 0; i < table->count; i++) {
        unsigned width = columns_of(table->cells[i]);
        if (width > widths[i % columns])
            widths[i % columns] = width;
    }
    for (size_t i = 0; i < columns; i++)
        all += widths[i] + 2;
    return all;
}

void ms_table_narrow(struct ms_table *table, const struct ms_text *text, size_t column)
{
    unsigned widths[MS_TABLE_COLUMNS];
    size_t columns = strlen(table->align), kept = 0;
    if (measure(table, widths) <= text->width)
        return;
    for (size_t i = 0; i < table->count; i++) {
        if (i % columns == column)
            free(table->cells[i]);
        else
            table->cells[kept++] = table->cells[i];
    }
    table->count = kept;
    memmove(table->align + column, table->align + column + 1, columns - column);
}

void ms_table_print(struct ms_table *table, const struct ms_text *text)
{
    unsigned widths[MS_TABLE_COLUMNS];
    size_t columns = strlen(table->align);
    measure(table, widths);
    for (size_t row = 0; row < table->count / columns; row++) {
        fputs(style_begin(text, row == 0 ? MS_STYLE_DIM : MS_STYLE_PLAIN), text->file);
        print_row(table, text, row, widths);
        fputs(style_end(text, row == 0 ? MS_STYLE_DIM : MS_STYLE_PLAIN), text->file);
    }
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->count = table->capacity = 0;
}
