// SPDX-License-Identifier: MIT
// Owns the writing of SPAWN blocks.
#include "lineage.h"

#include "conf.h"
#include "note.h"
#include "program.h"
#include "sink.h"
#include "life.h"
#include "sys.h"

// A SPAWN block in full, and one of a few numbers: waits are made on small stacks, too.
#define NUMBERS 256
union memory {
    struct ms_block block;
    uint8_t bytes[sizeof(struct ms_block) + NUMBERS + MS_SPAWN_PATH_MAX + MS_SPAWN_ARGV_MAX + 32];
};
union small_memory {
    struct ms_block block;
    uint8_t bytes[sizeof(struct ms_block) + NUMBERS];
};

static void number(struct ms_note *note, enum ms_spawn_property tag, uint64_t value)
{
    ms_note_number(note, tag, value);
}

static void begin_note(
        struct ms_note *note, void *memory, size_t size, enum ms_spawn_kind kind, uint64_t start)
{
    ms_note_begin(note, memory, size);
    number(note, MS_SPAWN_P_KIND, kind);
    if (ms_life_is_guest())
        number(note, MS_SPAWN_P_PID, (uint64_t)ms_sys_pid());
    number(note, MS_SPAWN_P_TID, (uint64_t)ms_sys_tid());
    number(note, MS_SPAWN_P_START, start);
}

static void write_note(struct ms_note *note, uint32_t process)
{
    struct ms_sys_signals signals = ms_sys_block_signals();
    if (process == ms_life_self() && !ms_life_is_guest())
        ms_life_tell();
    if (!ms_note_write(note, MS_BLOCK_SPAWN, process))
        ms_sink_lost(1);
    ms_sys_restore_signals(signals);
}

static void put_arguments(struct ms_note *note, char *const *arguments)
{
    char text[MS_SPAWN_ARGV_MAX];
    if (ms_conf.argv && arguments != NULL)
        ms_note_arguments(note, MS_SPAWN_P_ARGV, arguments, text, sizeof text);
}

static void put_command(struct ms_note *note, const char *command)
{
    char *const arguments[] = {(char *)(uintptr_t)command, NULL};
    put_arguments(note, arguments);
}

// --- calls that make processes --------------------------------------------------------------

bool ms_spawn_before(
        struct ms_birth *birth, enum ms_spawn_kind kind, const void *caller, uint64_t entry)
{
    if (!ms_life_here())
        return false;
    uint64_t begin = ms_sys_ticks();
    ms_proc_memory(&birth->memory, !ms_life_is_guest());
    birth->kind = kind;
    birth->entry = entry;
    birth->caller = (uintptr_t)caller;
    birth->start = ms_sys_ticks();
    birth->reading = birth->start - begin;
    return true;
}

uint64_t ms_spawn_cost(const struct ms_birth *birth)
{
    return ms_sys_ticks() - birth->start;
}

static void put_memory(struct ms_note *note, const struct ms_proc_memory *m)
{
    const struct {
        enum ms_spawn_property tag;
        uint64_t value;
    } figures[] = {
            {MS_SPAWN_P_RSS, m->rss},
            {MS_SPAWN_P_RSS_ANON, m->rss_anon},
            {MS_SPAWN_P_RSS_FILE, m->rss_file},
            {MS_SPAWN_P_RSS_SHMEM, m->rss_shmem},
            {MS_SPAWN_P_PTE, m->pte},
            {MS_SPAWN_P_VSZ, m->vsz},
            {MS_SPAWN_P_THREADS, m->threads},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (figures[i].value != MS_PROC_UNKNOWN)
            number(note, figures[i].tag, figures[i].value);
}

static void put_birth(
        struct ms_note *note, const struct ms_birth *birth, const struct ms_spawn_result *r)
{
    number(note, MS_SPAWN_P_CALLER, birth->caller);
    if (r->has_cost)
        number(note, MS_SPAWN_P_COST, r->cost);
    if (r->error != 0)
        number(note, MS_SPAWN_P_ERRNO, (uint64_t)r->error);
    if (r->child > 0)
        number(note, MS_SPAWN_P_CHILD, (uint64_t)r->child);
    put_memory(note, &birth->memory);
    number(note, MS_SPAWN_P_READING, birth->reading);
    if (r->has_status)
        number(note, MS_SPAWN_P_STATUS, (uint32_t)r->status);
    if (r->target != MS_TARGET_UNKNOWN)
        number(note, MS_SPAWN_P_TARGET, r->target);
    if (r->stream != NULL)
        number(note, MS_SPAWN_P_STREAM, (uintptr_t)r->stream);
}

// All that was not the real call, but for the writing of this block.
static void put_own(
        struct ms_note *note, const struct ms_birth *birth, const struct ms_spawn_result *r)
{
    if (r->has_cost)
        number(note, MS_SPAWN_P_OWN, ms_sys_ticks() - birth->entry - r->cost);
}

// A function of its own: a fork, after which each page of the stack is copied when it is first
// written, needs little of it.
static __attribute__((noinline)) void write_start(
        const struct ms_birth *birth, const struct ms_spawn_result *r, uint32_t process)
{
    union memory memory;
    struct ms_note note;
    begin_note(&note, &memory, sizeof memory, (enum ms_spawn_kind)birth->kind, birth->start);
    put_birth(&note, birth, r);
    if (r->path != NULL)
        ms_note_text(&note, MS_SPAWN_P_PATH, r->path, MS_SPAWN_PATH_MAX);
    if (r->command != NULL)
        put_command(&note, r->command);
    put_arguments(&note, r->arguments);
    put_own(&note, birth, r);
    write_note(&note, process);
}

static void write_birth(
        const struct ms_birth *birth, const struct ms_spawn_result *r, uint32_t process)
{
    union small_memory memory;
    struct ms_note note;
    if (ms_spawn_class(birth->kind) != MS_SPAWN_FORKS) {
        write_start(birth, r, process);
        return;
    }
    begin_note(&note, &memory, sizeof memory, (enum ms_spawn_kind)birth->kind, birth->start);
    put_birth(&note, birth, r);
    put_own(&note, birth, r);
    write_note(&note, process);
}

void ms_spawn_after(const struct ms_birth *birth, const struct ms_spawn_result *result)
{
    write_birth(birth, result, ms_life_self());
    ms_life_learn_code(birth->caller);
}

void ms_spawn_after_for(
        const struct ms_birth *birth, const struct ms_spawn_result *result, uint32_t process)
{
    write_birth(birth, result, process);
}

// --- exec -------------------------------------------------------------------------------------

void ms_exec_enter(struct ms_exec *x, enum ms_spawn_kind kind, const void *caller)
{
    *x = (struct ms_exec){.kind = kind, .caller = caller};
    x->entry = ms_sys_ticks();
    x->on = ms_life_here();
}

static void put_gap(struct ms_note *note, const struct ms_gap *gap)
{
    if (gap->begin == 0)
        return;
    number(note, MS_SPAWN_P_GAP_BEGIN, gap->begin);
    number(note, MS_SPAWN_P_GAP_DUPS, gap->dups);
    number(note, MS_SPAWN_P_GAP_CLOSES, gap->closes);
    number(note, MS_SPAWN_P_GAP_OPENS, gap->opens);
}

// What the shim does in a vfork child is no part of what the vfork cost its caller.
static void charge(uint64_t since)
{
    struct ms_vfork *vfork = ms_thread_vfork(&ms_tls);
    if (vfork != NULL)
        vfork->own += ms_sys_ticks() - since;
}

static void write_exec(struct ms_exec *x, uint64_t cost, int error)
{
    union memory memory;
    struct ms_note note;
    begin_note(&note, &memory, sizeof memory, x->kind, x->start);
    number(&note, MS_SPAWN_P_CALLER, (uintptr_t)x->caller);
    if (x->entry != x->start)
        number(&note, MS_SPAWN_P_ENTRY, x->entry);
    if (error != 0) {
        number(&note, MS_SPAWN_P_COST, cost);
        number(&note, MS_SPAWN_P_ERRNO, (uint64_t)error);
    }
    if (x->target != MS_TARGET_UNKNOWN)
        number(&note, MS_SPAWN_P_TARGET, x->target);
    if (!x->announced)
        put_gap(&note, &x->gap);
    if (x->path != NULL)
        ms_note_text(&note, MS_SPAWN_P_PATH, x->path, MS_SPAWN_PATH_MAX);
    // The same in all attempts of a search: told by the first.
    put_arguments(&note, x->arguments);
    x->arguments = NULL;
    write_note(&note, ms_life_self());
}

void ms_exec_before(struct ms_exec *x, int directory, const char *path, const char *shown,
        char *const arguments[], char *const environment[])
{
    bool can_be_read = (arguments == NULL || ms_sys_can_be_read(arguments)) &&
                       (environment == NULL || ms_sys_can_be_read(environment));
    if (!x->on) {
        x->target = can_be_read ? MS_TARGET_UNKNOWN : MS_TARGET_FAULT;
        return;
    }
    uint64_t now = ms_sys_ticks();
    bool is_first = x->start == 0;
    x->start = is_first ? x->entry : now;
    x->path = shown;
    if (is_first)
        x->arguments = arguments;
    x->announced = false;
    struct ms_gap *gap = ms_thread_gap(&ms_tls);
    x->gap = *gap;
    gap->begin = 0;
    x->target = !can_be_read   ? MS_TARGET_FAULT
                : path == NULL ? MS_TARGET_UNKNOWN
                               : ms_program_look(directory, path);
    if (x->target == MS_TARGET_FAULT) // the kernel will say so: nothing may be read here
        x->path = NULL, x->arguments = NULL;
    if (x->target != MS_TARGET_ABSENT && x->target != MS_TARGET_FAULT) {
        ms_life_park();
        write_exec(x, 0, 0);
        x->announced = true;
    }
    charge(now);
    x->begin = ms_sys_ticks();
}

void ms_exec_failed(struct ms_exec *x, int error)
{
    uint64_t now = ms_sys_ticks();
    if (!x->on)
        return;
    write_exec(x, now - x->begin, error);
    charge(now);
}

// --- waits --------------------------------------------------------------------------------------

void ms_spawn_waited(const struct ms_wait *w)
{
    union small_memory memory;
    struct ms_note note;
    uint64_t cost = ms_sys_ticks() - w->start;
    if (!ms_life_here())
        return;
    begin_note(&note, &memory, sizeof memory, w->kind, w->start);
    number(&note, MS_SPAWN_P_CALLER, (uintptr_t)w->caller);
    number(&note, MS_SPAWN_P_COST, cost);
    number(&note, MS_SPAWN_P_STATUS, (uint32_t)w->status);
    if (w->child > 0)
        number(&note, MS_SPAWN_P_CHILD, (uint64_t)w->child);
    if (w->stream != NULL)
        number(&note, MS_SPAWN_P_STREAM, (uintptr_t)w->stream);
    if (w->has_usage) {
        number(&note, MS_SPAWN_P_UTIME, w->utime_us);
        number(&note, MS_SPAWN_P_STIME, w->stime_us);
        number(&note, MS_SPAWN_P_MAXRSS, w->maxrss_kb);
    }
    write_note(&note, ms_life_self());
}

void ms_spawn_main(void)
{
    union small_memory memory;
    struct ms_note note;
    uint64_t now = ms_sys_ticks();
    if (!ms_life_here())
        return;
    begin_note(&note, &memory, sizeof memory, MS_SPAWN_MAIN, now);
    write_note(&note, ms_life_self());
}
