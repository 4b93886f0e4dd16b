// SPDX-License-Identifier: MIT
// memspy check: whether a trace is complete, truncated or damaged, and what is lost. Every event is
// decoded, and what a thread's events add up to is compared with the exact counters that the thread
// itself kept: two ways from the same calls to the same numbers.
#include "command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "diag.h"
#include "out_json.h"
#include "text.h"

// Processes that are listed: as many as one can read; there may be thousands.
#define PROCESSES_SHOWN 20

struct check {
    struct ms_reader *reader;
    const char *path;
    uint64_t events;
    uint64_t live_events; // of them, in live blocks
    uint64_t blocks;      // with events
    uint64_t unfinished;
    uint64_t lost;          // counted by the shim
    uint64_t missing;       // events of missing buffers, as far as counters tell
    uint64_t inconsistent;  // threads whose counters and events differ
    uint64_t next;          // number of the buffer that follows the last one read; 0 if unknown
    struct ms_counters sum; // of the thread at hand
    struct ms_counters exact;
};

static bool is_equal(const struct ms_counters *a, const struct ms_counters *b)
{
    for (unsigned i = 0; i < MS_ROWS; i++)
        if (a->rows[i].calls != b->rows[i].calls || a->rows[i].bytes != b->rows[i].bytes ||
                a->rows[i].timed != b->rows[i].timed)
            return false;
    return memcmp(a->kinds, b->kinds, sizeof a->kinds) == 0 && a->failed_calls == b->failed_calls &&
           a->failed_bytes == b->failed_bytes;
}

static uint64_t floor_of(const struct check *check, uint32_t index)
{
    const struct ms_process *process = ms_process_find(&check->reader->processes, index);
    return process ? process->number[MS_PROCESS_FLOOR_TICKS] : 0;
}

static uint64_t events_in(const struct ms_counters *counters)
{
    uint64_t events = 0;
    for (unsigned i = 0; i < MS_KIND_LIMIT; i++)
        events += counters->kinds[i];
    return events;
}

// Compares the thread's events so far with its counters, which then count. Returns whether they
// agree; across a gap the difference is what is missing.
static bool compare(struct check *check, const struct ms_entry *entry)
{
    uint64_t read = events_in(&check->sum), exact = events_in(&check->exact);
    bool follows = entry->sequence == check->next;
    bool agrees = !follows || is_equal(&check->sum, &check->exact);
    if (!follows && exact > read)
        check->missing += exact - read;
    check->sum = check->exact;
    check->next = entry->sequence + 1;
    return agrees;
}

// Decodes a block. Returns whether its events agree with its counters.
static bool check_block(struct check *check, struct ms_entry *entry, struct ms_batch *batch)
{
    struct ms_event event;
    uint64_t floor = floor_of(check, entry->process);
    bool is_good = ms_reader_batch(check->reader, entry, batch);
    check->blocks++;
    while (is_good && ms_batch_next(batch, &event)) {
        ms_counters_add(&check->sum, &event, floor, 1);
        check->events++;
        check->live_events += entry->type == MS_BLOCK_LIVE;
    }
    check->unfinished += batch->holes;
    if (batch->bad) {
        ms_reader_malformed(check->reader, entry);
        check->next = 0;
        return true;
    }
    if (entry->type == MS_BLOCK_LIVE)
        return true;
    ms_batch_counters(batch, &check->exact);
    return compare(check, entry);
}

static void check_thread(
        struct check *check, const struct ms_thread *thread, struct ms_batch *batch)
{
    uint64_t lost = 0;
    bool agrees = true;
    memset(&check->sum, 0, sizeof check->sum);
    check->next = 1;
    for (size_t i = 0; i < thread->count; i++) {
        struct ms_entry *entry = &check->reader->entries[thread->first + i];
        if (entry->stale)
            continue;
        agrees &= check_block(check, entry, batch);
        lost = batch->live && !batch->bad ? batch->live->tally[MS_TALLY_LOST]
                                          : check->sum.tally[MS_TALLY_LOST];
    }
    check->missing += thread->tail_events;
    check->lost += lost;
    check->inconsistent += !agrees;
}

static const char *verdict(const struct check *check)
{
    const struct ms_reader *reader = check->reader;
    if (ms_reader_is_damaged(reader) || check->inconsistent)
        return "damaged";
    bool is_whole = check->lost == 0 && check->unfinished == 0 && reader->header.lost_threads == 0;
    return ms_reader_is_truncated(reader) || !is_whole ? "truncated" : "complete";
}

static void put_processes(const struct check *check, struct ms_json *json)
{
    ms_json_key(json, "processes");
    ms_json_list(json);
    for (size_t i = 0; i < check->reader->processes.count; i++) {
        const struct ms_process *process = &check->reader->processes.list[i];
        ms_json_begin(json);
        ms_json_put_number(json, "process", process->index);
        ms_json_put_number(json, "pid", process->number[MS_PROCESS_PID]);
        ms_json_put_text(json, "exe", process->text[MS_PROCESS_EXE]);
        ms_json_put_bool(json, "known", process->known);
        ms_json_put_text(json, "end", ms_fate_name(process->ending.fate));
        ms_json_key(json, "status");
        if (ms_ending_tells_status(&process->ending))
            ms_json_number(json, process->ending.status);
        else
            ms_json_null(json);
        ms_json_end(json);
    }
    ms_json_list_end(json);
}

// Processes, and programs that processes turned into, of which nothing could be recorded.
static void put_untraced(const struct check *check, struct ms_json *json)
{
    const struct ms_family *family = &check->reader->family;
    ms_json_key(json, "untraced");
    ms_json_list(json);
    for (size_t i = 0; i < family->count; i++) {
        const struct ms_node *node = &family->nodes[i];
        if (!node->why_not)
            continue;
        ms_json_begin(json);
        if (node->pid)
            ms_json_put_number(json, "pid", node->pid);
        else
            ms_json_put_null(json, "pid");
        ms_json_put_text(json, "program", ms_node_program(node));
        ms_json_put_text(json, "why_not", node->why_not);
        ms_json_end(json);
    }
    ms_json_list_end(json);
}

static void put_damage(const struct check *check, struct ms_json *json)
{
    const struct ms_reader *reader = check->reader;
    ms_json_key(json, "damage");
    ms_json_list(json);
    for (size_t i = 0; i < reader->damage_count; i++) {
        ms_json_begin(json);
        ms_json_put_number(json, "offset", reader->damage[i].offset);
        ms_json_put_number(json, "size", reader->damage[i].size);
        ms_json_put_text(json, "what", reader->damage[i].what);
        ms_json_end(json);
    }
    ms_json_list_end(json);
    ms_json_key(json, "missing");
    ms_json_list(json);
    for (size_t i = 0; i < reader->thread_count; i++) {
        if (!reader->threads[i].missing)
            continue;
        ms_json_begin(json);
        ms_json_put_number(json, "process", reader->threads[i].process);
        ms_json_put_number(json, "thread", reader->threads[i].thread);
        ms_json_put_number(json, "buffers", reader->threads[i].missing);
        ms_json_end(json);
    }
    ms_json_list_end(json);
}

// Good blocks of a type.
static size_t blocks_of(const struct ms_reader *reader, uint8_t type)
{
    size_t count = 0;
    for (size_t i = 0; i < reader->entry_count; i++)
        count += reader->entries[i].type == type && !reader->entries[i].failed;
    return count;
}

static void print_json(const struct check *check)
{
    struct ms_json json;
    ms_json_open(&json, stdout, true);
    ms_json_begin(&json);
    ms_json_put_number(&json, "schema", 1);
    ms_json_put_text(&json, "file", check->path);
    ms_json_put_text(&json, "verdict", verdict(check));
    ms_json_put_number(&json, "bytes_on_disk", check->reader->source.size);
    ms_json_put_number(&json, "events", check->events);
    ms_json_put_number(&json, "live_events", check->live_events);
    ms_json_put_number(&json, "blocks", check->blocks);
    ms_json_put_number(&json, "spawns", blocks_of(check->reader, MS_BLOCK_SPAWN));
    ms_json_put_number(&json, "threads", check->reader->thread_count);
    ms_json_put_bool(&json, "cut_short", check->reader->cut_short);
    ms_json_put_number(&json, "lost_events", check->lost);
    ms_json_put_number(&json, "lost_threads", check->reader->header.lost_threads);
    ms_json_put_number(&json, "unfinished_events", check->unfinished);
    ms_json_put_number(&json, "missing_buffers", check->reader->missing_buffers);
    ms_json_put_number(&json, "missing_events", check->missing);
    ms_json_put_number(&json, "damaged_bytes", check->reader->damage_bytes);
    ms_json_put_number(&json, "inconsistent_threads", check->inconsistent);
    put_processes(check, &json);
    put_untraced(check, &json);
    put_damage(check, &json);
    ms_json_end(&json);
    ms_json_close(&json);
    if (check->reader->processes.count == 0)
        ms_diag_warning("%s holds no process", check->path);
}

static void print_process(const struct ms_text *text, const struct ms_process *process)
{
    printf("  process %" PRIu32 ": pid %" PRIu64 ", ", process->index,
            process->number[MS_PROCESS_PID]);
    ms_text_untrusted(
            text, process->text[MS_PROCESS_EXE] ? process->text[MS_PROCESS_EXE] : "unknown", 60);
    const struct ms_ending *ending = &process->ending;
    const char *end = ms_fate_name(ending->fate);
    if (ending->fate == MS_FATE_OPEN)
        printf(": no end recorded (killed, or still running)\n");
    else if (ending->fate == MS_FATE_EXEC)
        printf(": replaced itself by exec\n");
    else if (!ending->has_status)
        printf(": %s with unknown status\n", end);
    else if (ending->fate == MS_FATE_SIGNAL)
        printf(": ended by signal %" PRIu64 "\n", ending->status);
    else if (ending->fate == MS_FATE_KILLED)
        printf(": killed\n");
    else
        printf(": %s with status %" PRIu64 "\n", end, ending->status);
}

// Of more processes than one can read those are listed of which something is to be said.
static void print_processes(const struct check *check, const struct ms_text *text)
{
    const struct ms_processes *processes = &check->reader->processes;
    size_t shown = 0;
    for (size_t i = 0; i < processes->count && shown < PROCESSES_SHOWN; i++) {
        if (processes->count > PROCESSES_SHOWN && processes->list[i].ending.fate != MS_FATE_OPEN)
            continue;
        print_process(text, &processes->list[i]);
        shown++;
    }
    if (shown < processes->count)
        printf("  ... and %zu more processes\n", processes->count - shown);
}

static void print_untraced(const struct check *check, const struct ms_text *text)
{
    const struct ms_family *family = &check->reader->family;
    size_t count = 0;
    for (size_t i = 0; i < family->count; i++) {
        const struct ms_node *node = &family->nodes[i];
        const char *program = ms_node_program(node);
        if (!node->why_not || count++ >= PROCESSES_SHOWN)
            continue;
        fputs("  not traced: ", stdout);
        if (node->pid)
            printf("pid %" PRIu64 ", ", node->pid);
        ms_text_untrusted(text, program ? program : "unknown", 60);
        printf(": %s\n", node->why_not);
    }
    if (count > PROCESSES_SHOWN)
        printf("  ... and %zu more that are not traced\n", count - PROCESSES_SHOWN);
}

static void print_losses(const struct check *check)
{
    const struct ms_reader *reader = check->reader;
    if (reader->cut_short)
        printf("  %s: the file ends at byte %" PRIu64 " of %" PRIu64 "\n",
                reader->header.lost_events || reader->header.lost_threads ? "no space"
                                                                          : "cut short",
                reader->source.size, reader->header.space_next);
    if (check->lost)
        printf("  lost: %" PRIu64 " %s for which there was no room\n", check->lost,
                ms_text_plural(check->lost, "event", "events"));
    if (reader->header.lost_threads)
        printf("  lost: %" PRIu64 " %s without a buffer\n", reader->header.lost_threads,
                ms_text_plural(reader->header.lost_threads, "thread", "threads"));
    if (check->unfinished)
        printf("  lost: %" PRIu64 " %s unfinished when their process died\n", check->unfinished,
                ms_text_plural(check->unfinished, "event", "events"));
    for (size_t i = 0; i < reader->damage_count; i++)
        printf("  damaged: bytes %" PRIu64 " to %" PRIu64 " skipped: %s\n",
                reader->damage[i].offset, reader->damage[i].offset + reader->damage[i].size - 1,
                reader->damage[i].what);
    for (size_t i = 0; i < reader->thread_count; i++)
        if (reader->threads[i].missing)
            printf("  missing: %" PRIu64 " %s of thread %" PRIu32 " of process %" PRIu32 "\n",
                    reader->threads[i].missing,
                    ms_text_plural(reader->threads[i].missing, "buffer", "buffers"),
                    reader->threads[i].thread, reader->threads[i].process);
    if (check->missing)
        printf("  missing: %" PRIu64 " %s in all by the threads' own counters\n", check->missing,
                ms_text_plural(check->missing, "event", "events"));
    if (check->inconsistent)
        printf("  inconsistent: the events of %" PRIu64 " %s do not add up to their counters\n",
                check->inconsistent, ms_text_plural(check->inconsistent, "thread", "threads"));
    if (reader->unknown_blocks)
        printf("  skipped: %" PRIu64 " %s of types of a later format\n", reader->unknown_blocks,
                ms_text_plural(reader->unknown_blocks, "block", "blocks"));
}

static void print_text(const struct check *check)
{
    const struct ms_reader *reader = check->reader;
    struct ms_text text;
    char events[MS_CELL], live[MS_CELL], size[MS_CELL];
    ms_text_open(&text, stdout);
    ms_text_untrusted(&text, check->path, 1000);
    fputs(": ", stdout);
    bool is_good = strcmp(verdict(check), "damaged") != 0;
    ms_text_styled(&text, is_good ? MS_STYLE_BOLD : MS_STYLE_HOT, "%s\n", verdict(check));
    printf("  %s events (%s of them in live buffers), %zu %s, %zu %s, %s\n",
            ms_text_count(events, check->events), ms_text_count(live, check->live_events),
            reader->processes.count,
            ms_text_plural(reader->processes.count, "process", "processes"), reader->thread_count,
            ms_text_plural(reader->thread_count, "thread", "threads"),
            ms_text_size(size, reader->source.size));
    size_t spawns = blocks_of(reader, MS_BLOCK_SPAWN);
    if (spawns)
        printf("  %zu %s\n", spawns,
                ms_text_plural(spawns, "record of a call that made, replaced or awaited a process",
                        "records of calls that made, replaced or awaited processes"));
    print_processes(check, &text);
    print_untraced(check, &text);
    print_losses(check);
}

int ms_cmd_check(int argc, char **argv)
{
    struct ms_reader reader = {0};
    bool is_json = false;
    const struct ms_option options[] = {{"--json", &is_json, NULL}, {NULL, NULL, NULL}};
    const char *path;
    int failure = ms_command_begin(argc, argv, options, &reader, &path);
    if (failure)
        return failure;
    struct check *check = calloc(1, sizeof *check);
    struct ms_batch batch = {0};
    if (!check)
        return MS_EXIT_UNREADABLE;
    check->reader = &reader;
    check->path = path;
    check->lost = reader.header.lost_events;
    for (size_t i = 0; i < reader.thread_count; i++)
        check_thread(check, &reader.threads[i], &batch);
    ms_reader_sort_damage(&reader);
    if (is_json)
        print_json(check);
    else
        print_text(check);
    int status = strcmp(verdict(check), "damaged") == 0 ? MS_EXIT_FOUND : MS_EXIT_OK;
    ms_batch_free(&batch);
    free(check);
    ms_reader_close(&reader);
    return status;
}
