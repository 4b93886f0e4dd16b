// SPDX-License-Identifier: MIT
// A trace as an index of its good blocks, with what was wrong with the others. Opening scans the
// whole file once and verifies every payload; afterwards events are read block by block (unpack.h)
// or thread by thread in order of time (merge.h).
#ifndef MEMSPY_ANALYZER_READER_H
#define MEMSPY_ANALYZER_READER_H

#include "clock.h"
#include "family.h"
#include "process.h"
#include "source.h"
#include "spawn.h"
#include "unpack.h"

enum ms_err {
    MS_OK = 0,
    MS_ERR_EMPTY = -1,    // no byte at all
    MS_ERR_SHORT = -2,    // shorter than the first page
    MS_ERR_MAGIC = -3,    // does not begin like a trace
    MS_ERR_VERSION = -4,  // of a later format than this reader knows
    MS_ERR_FEATURES = -5, // needs a feature that this reader does not know
    MS_ERR_READ = -6,     // the system could not read it
};

// What the error means and what to do about it, in a sentence.
const char *ms_err_text(enum ms_err error);

// A good block. One such entry a block is all the memory that a longer trace takes.
struct ms_entry {
    uint64_t offset;
    uint64_t sequence; // number of the buffer in its thread; 0 where none is meant
    uint32_t process;
    uint32_t thread;
    uint32_t events; // sealed blocks
    uint8_t type;    // enum ms_block_type
    bool stale;      // not to be read: repeats another block, or failed
    bool failed;     // its payload cannot be used
    bool noted;      // as damage
};

_Static_assert(sizeof(struct ms_entry) <= 32, "the index must stay small");

// A thread with events: its entries stand together in the index, in order.
struct ms_thread {
    uint32_t process;
    uint32_t thread;
    size_t first; // entry
    size_t count;
    uint64_t missing;     // buffers that must have been there
    uint64_t tail_events; // events of failed blocks behind the last good one
    bool has_live;        // the last entry is a live block
};

// A range of bytes that could not be used.
struct ms_damage {
    uint64_t offset;
    uint64_t size;
    const char *what;
};

struct ms_reader {
    struct ms_source source;
    struct ms_unpack unpack;
    struct ms_file_header header; // defaults where it is damaged
    struct ms_clock_fit clock;
    struct ms_processes processes;
    struct ms_spawns spawns;
    struct ms_family family;
    struct ms_entry *entries;
    size_t entry_count, entry_capacity;
    struct ms_thread *threads;
    size_t thread_count, thread_capacity;
    struct ms_damage *damage;
    size_t damage_count, damage_capacity;
    uint64_t damage_bytes;
    uint64_t missing_buffers;
    uint64_t unknown_blocks; // good blocks of types of a later format, skipped
    bool cut_short;          // the file ends before what was taken of it
};

// Opens and indexes the trace in reader->source, which the caller has opened. On failure nothing
// is left to close but the source.
enum ms_err ms_reader_open(struct ms_reader *reader);

// Opens a block of the index. Returns false when it is malformed: see ms_reader_malformed.
bool ms_reader_batch(
        struct ms_reader *reader, const struct ms_entry *entry, struct ms_batch *batch);

// Whether a sealed block's whole content, its counters included, can be read.
bool ms_reader_is_sound(struct ms_reader *reader, const struct ms_entry *entry);

// Notes that a block's content turned out to be malformed: it is damage as a whole, and its
// counters are not to be used.
void ms_reader_malformed(struct ms_reader *reader, struct ms_entry *entry);

// Notes a range that could not be used; ranges that touch become one.
void ms_reader_damaged(struct ms_reader *reader, uint64_t offset, uint64_t size, const char *what);

// Sorts the damage by offset, for printing.
void ms_reader_sort_damage(struct ms_reader *reader);

// Whether nothing says how some traced process ended, or the file is cut short.
bool ms_reader_is_truncated(const struct ms_reader *reader);

// Whether bytes could not be used or buffers are missing.
bool ms_reader_is_damaged(const struct ms_reader *reader);

// Closes the source too.
void ms_reader_close(struct ms_reader *reader);

#endif
