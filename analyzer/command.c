// SPDX-License-Identifier: MIT
// What the commands have in common: their arguments and the opening of a trace, with the messages
// that go with failures. Library code below reports errors by value; this is where they get words.
#include "command.h"

#include <errno.h>

#include "diag.h"

static bool option_matches(const char *argument, const struct ms_option *options)
{
    for (; options->text; options++) {
        if (strcmp(argument, options->text) == 0) {
            *options->given = true;
            return true;
        }
    }
    return false;
}

const char *ms_command_arguments(int argc, char **argv, const struct ms_option *options)
{
    const char *path = NULL;
    bool only_paths = false;
    for (int i = 1; i < argc; i++) {
        if (!only_paths && strcmp(argv[i], "--") == 0) {
            only_paths = true;
        } else if (!only_paths && argv[i][0] == '-' && argv[i][1]) {
            if (!option_matches(argv[i], options)) {
                ms_diag_error("%s: unknown option '%s'; see memspy --help", argv[0], argv[i]);
                return NULL;
            }
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
