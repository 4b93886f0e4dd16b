// SPDX-License-Identifier: MIT
// Messages to the person at the terminal, and the exit statuses they go with.
#ifndef MEMSPY_ANALYZER_DIAG_H
#define MEMSPY_ANALYZER_DIAG_H

// What memspy returns to its caller.
enum ms_exit {
    MS_EXIT_OK = 0,
    MS_EXIT_FOUND = 1,      // what was asked for is there: damage, findings
    MS_EXIT_USAGE = 2,      // the command line is wrong
    MS_EXIT_UNREADABLE = 3, // no trace could be read, or no output written
};

// Each prints "memspy: ", the formatted message and a newline to stderr.
void ms_diag_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ms_diag_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
