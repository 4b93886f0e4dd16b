// SPDX-License-Identifier: MIT
// memspy dump: the trace as lines of JSON, block by block in file order. Lines that are not events
// have a "record". With --raw every value is an integer or text exactly as stored,
// so that an independent reader of the format can be compared line by line.
#include "command.h"

#include <stdio.h>
#include <stdlib.h>

#include "diag.h"
#include "index.h"
#include "out_json.h"
#include "tally.h"

struct dump {
    struct ms_reader *reader;
    struct ms_json json;
    bool is_raw;
    struct ms_entry *entry;           // of the block at hand
    const struct ms_process *process; // whose it is
    uint64_t floor;
    uint64_t cached_caller; // 0: none
    char cached_at[4096 + 32];
};

static void put_caller(struct dump *dump, uint64_t caller)
{
    ms_json_put_address(&dump->json, "caller", caller);
    if (dump->is_raw)
        return;
    if (caller != dump->cached_caller || !caller) {
        dump->cached_caller = caller;
        if (!ms_process_locate(&dump->reader->processes, dump->process, caller, dump->cached_at,
                    sizeof dump->cached_at))
            dump->cached_at[0] = 0;
    }
    if (dump->cached_at[0])
        ms_json_put_text(&dump->json, "caller_at", dump->cached_at);
}

static void put_aux(struct ms_json *json, const struct ms_event *e)
{
    switch (e->kind) {
    case MS_KIND_REALLOC:
    case MS_KIND_REALLOCARRAY:
    case MS_KIND_MREMAP:
        ms_json_put_address(json, "old", e->aux);
        break;
    case MS_KIND_MMAP:
        ms_json_put_number(json, "prot", e->aux & UINT32_MAX);
        ms_json_put_number(json, "flags", e->aux >> 32);
        break;
    case MS_KIND_BRK:
    case MS_KIND_SBRK:
        ms_json_put_address(json, "break", e->aux);
        break;
    case MS_KIND_MADVISE:
        ms_json_put_number(json, "advice", e->aux);
        break;
    case MS_KIND_KERNEL:
        ms_json_put_number(json, "nr", e->aux);
        break;
    default:
        ms_json_put_number(json, "aux", e->aux);
        break;
    }
}

static void put_time(struct dump *dump, const struct ms_event *e)
{
    const struct ms_clock_fit *clock = &dump->reader->clock;
    struct ms_json *json = &dump->json;
    if (dump->is_raw) {
        ms_json_put_number(json, "start", e->start);
        ms_json_put_number(json, "cost", e->cost);
        ms_json_put_number(json, "weight_log2", e->weight_log2);
        return;
    }
    uint64_t net = e->cost > dump->floor ? e->cost - dump->floor : 0;
    ms_json_put_real(json, "start_ns", ms_clock_at(clock, e->start << clock->tick_shift));
    ms_json_put_real(json, "ns", ms_clock_ns(clock, (double)net));
    ms_json_put_number(json, "weight", UINT64_C(1) << e->weight_log2);
}

static void put_path(struct ms_json *json, const struct ms_event *e)
{
    enum ms_class class = ms_kind_class(e->kind);
    if (class != MS_CLASS_ALLOC && class != MS_CLASS_FREE)
        return;
    ms_json_put_text(json, "path",
            ms_event_frees(e) ? ms_free_path_name(ms_event_path(e))
                              : ms_alloc_path_name(ms_event_path(e)));
}

static void put_flags(struct ms_json *json, const struct ms_event *e)
{
    if (e->attr & MS_ATTR_FAILED)
        ms_json_put_bool(json, "failed", true);
    if (e->attr & MS_ATTR_FREED)
        ms_json_put_bool(json, "freed", true);
    if (e->attr & MS_ATTR_SHRANK)
        ms_json_put_bool(json, "shrank", true);
}

static void put_fields(struct dump *dump, const struct ms_event *e)
{
    struct ms_json *json = &dump->json;
    unsigned fields = ms_kind_fields(e->kind);
    if (fields & MS_F_PTR)
        ms_json_put_address(json, "ptr", e->ptr);
    if (fields & MS_F_SIZE)
        ms_json_put_number(json, "size", e->size);
    if (fields & MS_F_USABLE)
        ms_json_put_number(json, "usable", e->usable);
    if (fields & MS_F_ALIGN)
        ms_json_put_number(json, "align",
                e->align_log2 && e->align_log2 < 64 ? UINT64_C(1) << e->align_log2 : 0);
    if (fields & MS_F_CALLER)
        put_caller(dump, e->caller);
    if (fields & MS_F_AUX)
        put_aux(json, e);
}

// `pid` is that of a vfork child in the process' memory that the line is about; 0: none.
static void begin_line(struct dump *dump, uint64_t pid)
{
    ms_json_begin(&dump->json);
    ms_json_put_number(&dump->json, "process", dump->entry->process);
    if (pid)
        ms_json_put_number(&dump->json, "pid", pid);
    else if (dump->process && !dump->is_raw)
        ms_json_put_number(&dump->json, "pid", dump->process->number[MS_PROCESS_PID]);
}

static void dump_event(struct dump *dump, const struct ms_event *e)
{
    struct ms_json *json = &dump->json;
    begin_line(dump, 0);
    ms_json_put_number(json, "thread", dump->entry->thread);
    ms_json_put_number(json, "seq", dump->entry->sequence);
    ms_json_put_text(json, "kind", ms_kind_name(e->kind));
    put_path(json, e);
    put_fields(dump, e);
    put_flags(json, e);
    if (e->attr & MS_ATTR_TIMED)
        put_time(dump, e);
    ms_json_end(json);
    ms_json_line(json);
}

static void dump_events(struct dump *dump, struct ms_batch *batch)
{
    struct ms_event event;
    if (dump->entry->stale)
        return;
    bool is_good = ms_reader_batch(dump->reader, dump->entry, batch);
    while (is_good && ms_batch_next(batch, &event))
        dump_event(dump, &event);
    if (batch->bad)
        ms_reader_malformed(dump->reader, dump->entry);
}

static void put_process_number(
        struct ms_json *json, const struct ms_process *process, const char *key, unsigned tag)
{
    if (process->has >> tag & 1)
        ms_json_put_number(json, key, process->number[tag]);
}

static void put_process_text(
        struct ms_json *json, const struct ms_process *process, const char *key, unsigned tag)
{
    if (process->text[tag])
        ms_json_put_text(json, key, process->text[tag]);
}

// What this block says: another one of the process may say more.
static void dump_process(struct dump *dump, struct ms_cursor in)
{
    struct ms_process process = {0};
    struct ms_json *json = &dump->json;
    ms_process_read(&process, 0, in);
    ms_json_begin(json);
    ms_json_put_text(json, "record", "process");
    ms_json_put_number(json, "process", dump->entry->process);
    put_process_number(json, &process, "pid", MS_PROCESS_PID);
    put_process_number(json, &process, "ppid", MS_PROCESS_PPID);
    put_process_number(json, &process, "parent", MS_PROCESS_PARENT);
    put_process_number(json, &process, "ancestor", MS_PROCESS_ANCESTOR);
    put_process_number(json, &process, "made", MS_PROCESS_MADE);
    if (process.has >> MS_PROCESS_ORIGIN & 1)
        ms_json_put_text(json, "origin", ms_process_origin(&process));
    put_process_text(json, &process, "exe", MS_PROCESS_EXE);
    if (process.text[MS_PROCESS_ARGV])
        ms_json_put_texts(json, "argv", process.text[MS_PROCESS_ARGV], process.argv_size);
    put_process_text(json, &process, "libc", MS_PROCESS_LIBC);
    put_process_text(json, &process, "allocator", MS_PROCESS_ALLOCATOR);
    put_process_number(json, &process, "flags", MS_PROCESS_FLAGS);
    put_process_number(json, &process, "floor_ticks", MS_PROCESS_FLOOR_TICKS);
    put_process_number(json, &process, "start_ticks", MS_PROCESS_START_TICKS);
    ms_json_end(json);
    ms_json_line(json);
    ms_process_clear(&process);
}

static const char *end_name(uint32_t how)
{
    switch (how) {
    case MS_END_EXIT:
        return "exit";
    case MS_END_EXIT_NOW:
        return "_exit";
    case MS_END_QUICK_EXIT:
        return "quick_exit";
    case MS_END_SIGNAL:
        return "signal";
    case MS_END_DAEMON:
        return "daemon";
    default:
        return "unknown";
    }
}

static void dump_end(struct dump *dump, struct ms_cursor in)
{
    struct ms_end_block end;
    ms_process_read_end(&end, in);
    begin_line(dump, end.pid);
    ms_json_put_text(&dump->json, "record", "end");
    ms_json_put_text(&dump->json, "how", end_name(end.how));
    if (end.has_status)
        ms_json_put_number(&dump->json, "status", end.status);
    ms_json_end(&dump->json);
    ms_json_line(&dump->json);
}

static const char *target_name(uint64_t target)
{
    static const char *const names[] = {"unknown", "followed", "static", "secure", "foreign",
            "absent", "no_shim", "alone", "dropped"};
    return names[target < sizeof names / sizeof *names ? target : 0];
}

static bool is_duration(unsigned tag)
{
    return tag == MS_SPAWN_P_COST || tag == MS_SPAWN_P_READING || tag == MS_SPAWN_P_OWN;
}

static bool is_moment(unsigned tag)
{
    return tag == MS_SPAWN_P_START || tag == MS_SPAWN_P_ENTRY || tag == MS_SPAWN_P_GAP_BEGIN;
}

// A number as stored or, unless raw, in words and nanoseconds.
static void put_spawn_number(struct dump *dump, unsigned tag, const char *key, uint64_t number)
{
    const struct ms_clock_fit *clock = &dump->reader->clock;
    char key_ns[32];
    snprintf(key_ns, sizeof key_ns, "%s_ns", key);
    if (tag == MS_SPAWN_P_CALLER)
        put_caller(dump, number);
    else if (!dump->is_raw && is_moment(tag))
        ms_json_put_real(&dump->json, key_ns, ms_clock_at(clock, number));
    else if (!dump->is_raw && is_duration(tag))
        ms_json_put_real(&dump->json, key_ns, ms_clock_ns(clock, (double)number));
    else if (!dump->is_raw && tag == MS_SPAWN_P_TARGET)
        ms_json_put_text(&dump->json, key, target_name(number));
    else
        ms_json_put_number(&dump->json, key, number);
}

static void put_spawn_property(
        struct dump *dump, const struct ms_spawn *spawn, unsigned tag, const char *key)
{
    if (!ms_spawn_has(spawn, tag) || tag == MS_SPAWN_P_KIND || tag == MS_SPAWN_P_PID)
        return;
    if (tag == MS_SPAWN_P_PATH)
        ms_json_put_text(&dump->json, key, spawn->path);
    else if (tag == MS_SPAWN_P_ARGV)
        ms_json_put_texts(&dump->json, key, spawn->argv, spawn->argv_size);
    else
        put_spawn_number(dump, tag, key, spawn->number[tag]);
}

static void dump_spawn(struct dump *dump, const struct ms_block *block, struct ms_cursor in)
{
    struct ms_spawn spawn;
    if (!ms_spawn_read(&spawn, block, in))
        return;
    const char *name = ms_spawn_name_of(&spawn);
    begin_line(dump, spawn.number[MS_SPAWN_P_PID]);
    ms_json_put_text(&dump->json, "record", "spawn");
    ms_json_put_text(&dump->json, "kind", name ? name : "unknown");
#define DUMP_PROPERTY(name, number, key, is_text) put_spawn_property(dump, &spawn, number, key);
    MS_SPAWN_PROPERTIES(DUMP_PROPERTY)
#undef DUMP_PROPERTY
    ms_json_end(&dump->json);
    ms_json_line(&dump->json);
    ms_spawn_clear(&spawn);
}

static void dump_modules(struct dump *dump, struct ms_cursor in)
{
    struct ms_objects *objects = &dump->reader->processes.objects;
    struct ms_json *json = &dump->json;
    struct ms_module_set *set = ms_modules_parse(objects, &in);
    begin_line(dump, 0);
    ms_json_put_text(json, "record", "modules");
    ms_json_key(json, "modules");
    ms_json_list(json);
    for (size_t i = 0; set && i < set->count; i++) {
        ms_json_begin(json);
        ms_json_put_address(json, "start", set->modules[i].start);
        ms_json_put_number(json, "size", set->modules[i].end - set->modules[i].start);
        ms_json_put_number(json, "offset", set->modules[i].offset);
        ms_json_put_text(json, "path", ms_objects_path(objects, set->modules[i].object));
        ms_json_end(json);
    }
    ms_json_list_end(json);
    ms_json_end(json);
    ms_json_line(json);
    free(set);
}

static void dump_record(struct dump *dump, struct ms_buffer *payload)
{
    struct ms_reader *reader = dump->reader;
    struct ms_block block;
    if (!ms_source_read(&reader->source, dump->entry->offset, &block, sizeof block) ||
            !ms_unpack_payload(
                    &reader->unpack, &reader->source, dump->entry->offset, &block, payload))
        return;
    struct ms_cursor in = ms_buffer_cursor(payload);
    if (block.type == MS_BLOCK_PROCESS)
        dump_process(dump, in);
    else if (block.type == MS_BLOCK_END)
        dump_end(dump, in);
    else if (block.type == MS_BLOCK_MODULES)
        dump_modules(dump, in);
    else if (block.type == MS_BLOCK_SPAWN)
        dump_spawn(dump, &block, in);
}

static void enter_block(struct dump *dump, struct ms_entry *entry)
{
    dump->entry = entry;
    dump->process = ms_process_find(&dump->reader->processes, entry->process);
    dump->floor = dump->process ? dump->process->number[MS_PROCESS_FLOOR_TICKS] : 0;
    dump->cached_caller = 0;
}

static void dump_file(struct dump *dump)
{
    struct ms_batch batch = {0};
    struct ms_buffer payload = {0};
    ms_index_order_by_file(dump->reader);
    for (size_t i = 0; i < dump->reader->entry_count && !ferror(stdout); i++) {
        enter_block(dump, &dump->reader->entries[i]);
        if (dump->entry->type == MS_BLOCK_EVENTS || dump->entry->type == MS_BLOCK_LIVE)
            dump_events(dump, &batch);
        else
            dump_record(dump, &payload);
    }
    ms_batch_free(&batch);
    ms_buffer_free(&payload);
}

int ms_cmd_dump(int argc, char **argv)
{
    static char buffer[1 << 18];
    struct ms_reader reader = {0};
    struct dump dump = {.reader = &reader};
    const struct ms_option options[] = {{"--raw", &dump.is_raw, NULL}, {NULL, NULL, NULL}};
    const char *path;
    int failure = ms_command_begin(argc, argv, options, &reader, &path);
    if (failure)
        return failure;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    ms_json_open(&dump.json, stdout, false);
    dump_file(&dump);
    ms_json_close(&dump.json);
    if (ms_reader_is_damaged(&reader))
        ms_diag_warning("%s is damaged: see memspy check", path);
    ms_reader_close(&reader);
    return MS_EXIT_OK;
}
