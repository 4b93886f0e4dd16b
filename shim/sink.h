// SPDX-License-Identifier: MIT
// The trace file: making or joining it, its descriptor, space in it, live blocks, writing blocks.
// All processes of a tree share one file; they meet in the atomics of its mapped header. No locks;
// no function allocates. Every function but the inline ones makes system calls. May be called in
// any thread and, with signals blocked, at any time after ms_sink_create or ms_sink_join.
#ifndef MEMSPY_SINK_H
#define MEMSPY_SINK_H

#include <memspy/format.h>

// The mapped header; NULL until there is a trace.
extern MS_HIDDEN struct ms_file_header *ms_sink_header;

// Makes the trace. `out` is the template of its path; `given` says that the user chose it (then
// there is no fallback to another directory). Says what went wrong in one line and returns false.
bool ms_sink_create(const char *out, bool given, const char *temporary);

// Joins the trace named by MEMSPY_TRACE's value. Returns false, silently, when that is not there
// any more or is another trace.
bool ms_sink_join(const char *value);

// "SESSION:INDEX:PATH" for MEMSPY_TRACE of the programs to be started. INDEX, eight digits in
// hexadecimal, is 0 until the caller, who copies the value, fills it in.
const char *ms_sink_join_value(void);
#define MS_SINK_INDEX_AT     33 // where in the value
#define MS_SINK_INDEX_DIGITS 8
const char *ms_sink_path(void);
// The index in the value by which the trace was joined; 0 when it was made here.
uint32_t ms_sink_ancestor(void);

// The next index of a process or thread, from 1.
uint32_t ms_sink_new_process(void);
uint32_t ms_sink_new_thread(void);

// Takes a live block and maps it: zeroed slots, no owner. NULL when there is no space.
struct ms_live *ms_sink_take_live(void);
// Gives a live block back, whose events are sealed, and unmaps it.
void ms_sink_give_live(struct ms_live *live);

// Writes a block with its payload, block->stored_size bytes that follow the block header in
// memory; fills magic, clock pair and CRC. 0 or -errno. A process that is killed within leaves a
// block header with a cut payload: its events are then still in the live block of that sequence.
int ms_sink_write(struct ms_block *block);

// Counts events that no buffer could take.
void ms_sink_lost(uint64_t events);

// In the child of a fork: no thread is using the descriptor.
void ms_sink_after_fork(void);

// The trace's descriptor, -1 when there is none.
int ms_sink_descriptor(void);
// Whether that number still is the trace's, and not one that the program has reused.
bool ms_sink_owns_descriptor(void);
// Moves the descriptor away from a number that the program wants. Returns when no thread uses the
// old number any more (or, at the latest, after a tenth of a second).
void ms_sink_move_descriptor(void);

#endif
