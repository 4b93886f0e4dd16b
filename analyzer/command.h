// SPDX-License-Identifier: MIT
// The commands: one cmd_NAME.c each, called by main.c through its table.
#ifndef MEMSPY_ANALYZER_COMMAND_H
#define MEMSPY_ANALYZER_COMMAND_H

#include "reader.h"

// Runs with argv[0] being the command's name. Returns an enum ms_exit.
int ms_cmd_report(int argc, char **argv);
int ms_cmd_dump(int argc, char **argv);
int ms_cmd_check(int argc, char **argv);
int ms_cmd_forks(int argc, char **argv);
int ms_cmd_tree(int argc, char **argv);

// An option: its text, "--json", and where to say that it was given or, if it takes a value, as
// "--by exe" or "--by=exe", what that is. One of the two is NULL.
struct ms_option {
    const char *text;
    bool *given;
    const char **value;
};

// Reads options, ended by one with a NULL text, and the trace's path. Returns NULL after a message
// about a usage error.
const char *ms_command_arguments(int argc, char **argv, const struct ms_option *options);

// Opens and indexes the trace. Returns false after a message. The reader must be zeroed.
bool ms_command_open(struct ms_reader *reader, const char *path);

// Both, for a command that needs no more of its arguments. Returns MS_EXIT_OK, or what to exit
// with.
int ms_command_begin(int argc, char **argv, const struct ms_option *options,
        struct ms_reader *reader, const char **path);

// How many events the sealed blocks hold: what a progress bar counts up to.
uint64_t ms_command_events(const struct ms_reader *reader);

#endif
