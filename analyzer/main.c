// SPDX-License-Identifier: MIT
// memspy: reads traces of libmemspy.so. The shim's map stands in shim/spy.c; both programs share
// include/memspy, which is the trace format and nothing else.
//
//   commands   main            command table, help, version
//              cmd_report      where the time goes, findings: report_*
//              cmd_dump        every event, one JSON object a line
//              cmd_check       what of a trace is there, what is lost
//              cmd_tree        which process started which: tree_text, tree_json
//              cmd_forks       what fork and exec cost: forks_text, forks_json
//              command         arguments and opening, common to all
//
//   analysis   replay          one pass over a trace: heaps and totals
//              heap            the live blocks of a process
//              tally           sums by path, size, kind
//              site            call sites, the same in all processes
//              forks           the calls that make processes, added up
//              fork_model      what the cost of fork depends on
//              tree            the process tree as rows
//              model           findings: rule, evidence, advice, saving
//              model_spawn     those about making processes
//              samples         numbers with exact quantiles
//              report          what both forms of the report need computed
//
//   reading    reader          scan of the file, damage
//              index           which blocks belong together, what is missing
//              merge           the events of a process in order of time
//              unpack          blocks to events; the only user of zstd
//              process         the images of processes
//              spawn           the calls that make, replace and await them
//              family          how both hang together: the tree
//              lineage birth   who is whose child, and by which call
//              property        lists of tags and values
//              modules         addresses to objects
//              clock           ticks to nanoseconds
//              source          bytes by offset
//
//   output     text            terminal, units, tables, bars
//              out_json        JSON; the only user of yajl
//              utf8            which bytes are text
//              diag progress   stderr
//              memory          allocation that cannot fail
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "diag.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage;
    const char *summary;
} commands[] = {
        {"report", ms_cmd_report, "report [--json] TRACE", "where the time goes, and findings"},
        {"dump", ms_cmd_dump, "dump [--raw] TRACE", "every event, one JSON object a line"},
        {"tree", ms_cmd_tree, "tree [--json] TRACE", "which process started which, at what cost"},
        {"forks", ms_cmd_forks, "forks [--json] [--by process|exe|argv] TRACE",
                "what fork and exec cost, and why"},
        {"check", ms_cmd_check, "check [--json] TRACE", "what of a trace is there, what is lost"},
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(FILE *to)
{
    fputs("memspy - what a program pays for memory\n\nusage:\n", to);
    for (size_t i = 0; i < COMMANDS; i++) {
        // A usage that is too long has its summary on the next line.
        bool is_long = strlen(commands[i].usage) > 24;
        fprintf(to, is_long ? "  memspy %s\n%34s%s\n" : "  memspy %-24s%s %s\n", commands[i].usage,
                "", commands[i].summary);
    }
    fputs("\nRecord with LD_PRELOAD=libmemspy.so MEMSPY_OUT=TRACE CMD ARG...; see memspy(1).\n"
          "Exit status: 0 ok, 1 damage found, 2 usage, 3 unreadable trace or failed output.\n",
            to);
}

// Output counts as written when it has left the process: a full disk must not end in success.
static int finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno != EPIPE)
        ms_diag_error("could not write all output: %s", strerror(errno));
    return MS_EXIT_UNREADABLE;
}

static bool asks_for_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int run(const struct command *command, int argc, char **argv)
{
    if (argc > 1 && asks_for_help(argv[1])) {
        print_help(stdout);
        return MS_EXIT_OK;
    }
    return command->run(argc, argv);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return finish(run(&commands[i], argc - 1, argv + 1));
    if (strcmp(name, "--version") == 0) {
        puts("memspy " MEMSPY_VERSION);
        return finish(MS_EXIT_OK);
    }
    if (asks_for_help(name) || strcmp(name, "help") == 0) {
        print_help(stdout);
        return finish(MS_EXIT_OK);
    }
    if (*name)
        ms_diag_error("'%s' is not a command", name);
    print_help(stderr);
    return MS_EXIT_USAGE;
}
