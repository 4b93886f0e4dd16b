// SPDX-License-Identifier: MIT
// What the commands have in common: their arguments and the opening of a trace, with the messages
// that go with failures. Library code below reports errors by value; this is where they get words.
#include "command.h"

#include <errno.h>

#include "diag.h"

// What follows "--by=" in an argument; NULL if it is another option.
static const char *value_in(const char *argument, const char *option)
{
    size_t size = strlen(option);
    bool is_it = strncmp(argument, option, size) == 0 && argument[size] == '=';
    return is_it ? argument + size + 1 : NULL;
}

// Takes the option that argv[0] is. Returns how many arguments that were; 0: no such option, or its
// value is missing.
static int take_option(char **argv, const struct ms_option *options)
{
    for (; options->text; options++) {
        bool is_it = strcmp(argv[0], options->text) == 0;
        if (is_it && options->given) {
            *options->given = true;
            return 1;
        }
        if (is_it && options->value && argv[1]) {
            *options->value = argv[1];
            return 2;
        }
        if (options->value && value_in(argv[0], options->text)) {
            *options->value = value_in(argv[0], options->text);
            return 1;
        }
    }
    return 0;
}

// About an argument that is no option, or one without its value.
static void complain(const char *command, const char *argument, const struct ms_option *options)
{
    while (options->text && strcmp(argument, options->text) != 0)
        options++;
    if (options->text)
        ms_diag_error("%s: option '%s' needs a value; see memspy --help", command, argument);
    else
        ms_diag_error("%s: unknown option '%s'; see memspy --help", command, argument);
}

const char *ms_command_arguments(int argc, char **argv, const struct ms_option *options)
{
    const char *path = NULL;
    bool only_paths = false;
    for (int i = 1; i < argc; i++) {
        if (!only_paths && strcmp(argv[i], "--") == 0) {
            only_paths = true;
        } else if (!only_paths && argv[i][0] == '-' && argv[i][1]) {
            int taken = take_option(argv + i, options);
            if (taken == 0) {
                complain(argv[0], argv[i], options);
                return NULL;
            }
            i += taken - 1;
        } else if (path) {
            ms_diag_error("%s: more than one trace given: '%s', '%s'", argv[0], path, argv[i]);
            return NULL;
        } else {
            path = argv[i];
        }
    }
    if (!path)
        ms_diag_error("%s: no trace given; see memspy --help", argv[0]);
    return path;
}

bool ms_command_open(struct ms_reader *reader, const char *path)
{
    int error = ms_source_open(&reader->source, path);
    if (error == EINVAL) {
        ms_diag_error("%s: not a regular file; write the trace to one first", path);
        return false;
    }
    if (error) {
        ms_diag_error("%s: %s", path, strerror(error));
        return false;
    }
    enum ms_err problem = ms_reader_open(reader);
    if (problem) {
        ms_diag_error("%s: %s", path, ms_err_text(problem));
        ms_source_close(&reader->source);
        return false;
    }
    return true;
}

int ms_command_begin(int argc, char **argv, const struct ms_option *options,
        struct ms_reader *reader, const char **path)
{
    *path = ms_command_arguments(argc, argv, options);
    if (!*path)
        return MS_EXIT_USAGE;
    return ms_command_open(reader, *path) ? MS_EXIT_OK : MS_EXIT_UNREADABLE;
}

uint64_t ms_command_events(const struct ms_reader *reader)
{
    uint64_t events = 0;
    for (size_t i = 0; i < reader->entry_count; i++)
        events += reader->entries[i].events;
    return events;
}
