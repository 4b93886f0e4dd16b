// SPDX-License-Identifier: MIT
// A whole file: the reader, the replay and both forms of the report on it in memory, then the
// commands that read it by path. All output goes to /dev/null. The mutator is in mutator_reader.c.
#define _GNU_SOURCE
#include "fuzz.h"

#include <command.h>
#include <diag.h>
#include <fcntl.h>
#include <report.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

// Every event of every block, each block on its own, as dump does.
static void read_blocks(struct ms_reader *reader)
{
    static struct ms_counters counters;
    struct ms_batch batch = {0};
    struct ms_event e;
    for (size_t i = 0; i < reader->entry_count; i++) {
        const struct ms_entry *entry = &reader->entries[i];
        if (entry->type != MS_BLOCK_EVENTS && entry->type != MS_BLOCK_LIVE)
            continue;
        if (!ms_reader_batch(reader, entry, &batch))
            continue;
        uint64_t events = 0;
        while (ms_batch_next(&batch, &e))
            events++;
        MUST(events <= MS_EVENTS_MAX);
        if (batch.live == NULL)
            ms_batch_counters(&batch, &counters);
    }
    ms_batch_free(&batch);
}

static void read_memory(const uint8_t *data, size_t size)
{
    struct ms_reader reader = {0};
    ms_source_memory(&reader.source, data, size);
    if (ms_reader_open(&reader) != MS_OK) {
        ms_source_close(&reader.source);
        return;
    }
    struct ms_report *report = calloc(1, sizeof *report);
    MUST(report != NULL);
    ms_report_run(report, &reader, "trace", NULL, NULL);
    ms_report_print_text(report);
    ms_report_print_json(report);
    ms_report_free(report);
    free(report);
    read_blocks(&reader);
    ms_reader_close(&reader);
}

static void run_command(
        int (*command)(int, char **), const char *name, const char *option, const char *path)
{
    char words[3][64];
    char *argv[4] = {words[0], words[1], NULL, NULL};
    int argc = 2;
    snprintf(words[0], sizeof words[0], "%s", name);
    snprintf(words[1], sizeof words[1], "%s", option ? option : path);
    if (option) {
        snprintf(words[2], sizeof words[2], "%s", path);
        argv[argc++] = words[2];
    }
    int status = command(argc, argv);
    MUST(status >= MS_EXIT_OK && status <= MS_EXIT_UNREADABLE && status != MS_EXIT_USAGE);
}

// The program's own words would be as long as the fuzzer's, many times a second.
static void silence(void)
{
    static bool is_silent;
    if (is_silent)
        return;
    is_silent = true;
    MUST(freopen("/dev/null", "w", stdout) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    silence();
    read_memory(data, size);
    int fd = memfd_create("trace", MFD_CLOEXEC);
    MUST(fd >= 0);
    MUST(write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    run_command(ms_cmd_check, "check", NULL, path);
    run_command(ms_cmd_dump, "dump", NULL, path);
    run_command(ms_cmd_dump, "dump", "--raw", path);
    run_command(ms_cmd_tree, "tree", NULL, path);
    run_command(ms_cmd_tree, "tree", "--json", path);
    run_command(ms_cmd_forks, "forks", "--by=process", path);
    run_command(ms_cmd_forks, "forks", "--by=exe", path);
    run_command(ms_cmd_forks, "forks", "--json", path);
    close(fd);
    return 0;
}
