// SPDX-License-Identifier: MIT
// The trace file's fixed structures and limits. FORMAT.md (version 1.0) is the normative
// description, this header implements it.
//
// Before changing anything here or in event.h, columns.h, counters.h, histogram.h:
//   [ ] an old reader must notice? raise MS_FORMAT_MAJOR or set an incompatible feature bit
//   [ ] FORMAT.md says so       [ ] tests/golden has a trace of it
//   [ ] tests/golden/read.py reads it       [ ] CHANGELOG.md says so
#ifndef MEMSPY_FORMAT_H
#define MEMSPY_FORMAT_H

#include "base.h"
#include "event.h"

#define MS_FORMAT_MAJOR 1
#define MS_FORMAT_MINOR 0

// "memspy", then 0x1a and a newline: text-mode transfers break it.
#define MS_FILE_MAGIC  UINT64_C(0x0a1a7970736d656d)
#define MS_BLOCK_MAGIC UINT32_C(0x6b42534d) // "MSBk"

#define MS_HEADER_SIZE 4096u   // the first block begins here
#define MS_LIVE_SIZE   131072u // a live block, its headers included
#define MS_LIVE_SLOTS  ((MS_LIVE_SIZE - (uint32_t)sizeof(struct ms_live)) / (uint32_t)MS_SLOT_BYTES)
#define MS_BLOCK_ALIGN 64u

enum ms_clock {
    MS_CLOCK_TSC = 1,       // x86 rdtsc, constant and nonstop
    MS_CLOCK_MONOTONIC = 2, // CLOCK_MONOTONIC: a tick is a nanosecond
    MS_CLOCK_CNTVCT = 3,    // aarch64 cntvct_el0
};

// Offset 0 of the file. Fixed when the file is made, but for the atomics, which every process of
// the tree updates in its shared mapping.
struct ms_file_header {
    uint64_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t header_size;   // MS_HEADER_SIZE; readers must use the value found
    uint64_t compatible;    // features a reader may ignore; none yet
    uint64_t incompatible;  // features a reader must know; none yet
    uint8_t session[16];    // random
    uint32_t live_align;    // live blocks begin at multiples of this
    uint32_t live_size;     // MS_LIVE_SIZE
    uint32_t clock;         // enum ms_clock
    uint32_t tick_shift;    // a time unit is 2^tick_shift ticks
    uint64_t start_ticks;   // the clock when the file was made
    uint64_t start_mono_ns; // CLOCK_MONOTONIC at the same moment
    uint64_t start_real_ns; // CLOCK_REALTIME at the same moment
    uint32_t reserved;      // 0
    uint32_t crc;           // CRC-32 of all bytes before
    uint8_t pad0[32];       // 0
    uint64_t space_next;    // atomic: offset of the first byte not yet taken
    uint8_t pad1[56];
    uint32_t process_next; // atomic: index of the next process, from 1
    uint32_t thread_next;  // atomic: index of the next thread, from 1
    uint8_t pad2[56];
    uint64_t free_live; // atomic: free list of live blocks: generation << 32 | block number
    uint8_t pad3[56];
    uint64_t lost_events;     // atomic: events that no buffer could take
    uint64_t lost_threads;    // atomic: threads that found no space for a buffer
    uint64_t event_ticks_256; // measured once in the tree: see MS_PROCESS_EVENT_TICKS_256
    uint64_t timed_ticks_256;
};

enum ms_block_type {
    MS_BLOCK_PROCESS = 1, // a process began: properties
    MS_BLOCK_EVENTS = 2,  // a sealed buffer: columns and counters
    MS_BLOCK_LIVE = 3,    // a buffer in use, or free
    MS_BLOCK_END = 4,     // a process ended by its own doing: properties
    MS_BLOCK_MODULES = 5, // executable mappings of a process
    MS_BLOCK_SPAWN = 6,   // a call that made, replaced or awaited a process: spawn.h
};

// Flags of a block.
enum ms_block_flag {
    MS_BLOCK_RAW = 1, // the payload is not compressed, payload_crc is its checksum
};

// Before every block. Blocks begin at multiples of MS_BLOCK_ALIGN. The payload, stored_size bytes,
// follows at once; it is one zstd frame with content size and checksum, or, with MS_BLOCK_RAW, raw
// (a live block's is always raw, without that flag, and has no raw_size).
struct ms_block {
    uint32_t magic;
    uint8_t type;         // enum ms_block_type
    uint8_t flags;        // enum ms_block_flag
    uint16_t header_size; // sizeof(struct ms_block)
    uint32_t process;     // index, 0 in a live block
    uint32_t thread;      // index, 0 where no thread is meant
    uint64_t sequence;    // events: number of the buffer in its thread, from 1; else 0
    uint32_t stored_size;
    uint32_t raw_size;
    uint32_t events;      // number of events; else 0
    uint32_t reserved;    // 0
    uint64_t ticks;       // the clock when the block was written
    uint64_t mono_ns;     // CLOCK_MONOTONIC at the same moment
    uint32_t payload_crc; // MS_BLOCK_RAW: CRC-32 of the payload; else 0
    uint32_t crc;         // CRC-32 of all bytes before
};

// A live block: its block header never changes; what follows does. Slots run from the end of this
// structure to the end of the block.
struct ms_live {
    struct ms_block block;
    uint64_t owner;     // process << 32 | thread; 0 while free. Stored last when taken
    uint64_t sequence;  // number of the buffer that the slots hold
    uint64_t base;      // what starts are relative to, in time units
    uint64_t tally[5];  // the thread's counted calls, enum ms_tally, up to this moment
    uint32_t next_free; // block number of the next free live block, 0 at the end
    uint32_t tid;       // of the owner
    uint8_t pad[120];
};

// A live block's number is its offset divided by the file's live_align.

// Properties: a tag byte, a varint length, the value. Numbers are varints. Readers skip unknown
// tags.
enum ms_process_property {
    MS_PROCESS_PID = 1,
    MS_PROCESS_PPID = 2,
    MS_PROCESS_PARENT = 3,      // index of the process that forked this one; 0 or absent: none
    MS_PROCESS_ORIGIN = 4,      // enum ms_origin
    MS_PROCESS_START_TICKS = 5, // the clock when the shim began to work in this process
                                // 6 is not used
    MS_PROCESS_EXE = 7,
    MS_PROCESS_ARGV = 8, // each argument with its terminating 0, cut at MS_ARGV_MAX bytes
    MS_PROCESS_HOST = 9,
    MS_PROCESS_KERNEL = 10,          // release
    MS_PROCESS_LIBC = 11,            // "glibc 2.36"
    MS_PROCESS_ALLOCATOR = 12,       // path of the object that holds the real malloc
    MS_PROCESS_FLAGS = 13,           // enum ms_process_flag
    MS_PROCESS_FLOOR_TICKS = 14,     // the timer's own floor, taken off every cost
    MS_PROCESS_TIMING_LOG2 = 15,     // one predicted cache hit in 2^n is timed, at first
    MS_PROCESS_EVENT_TICKS_256 = 16, // ticks that recording 256 untimed events took
    MS_PROCESS_TIMED_TICKS_256 = 17, // ticks that recording 256 timed events took
    MS_PROCESS_SETUP_NS = 18,        // CPU time that the shim's start took, in nanoseconds
    MS_PROCESS_EARLY_CALLS = 19,     // calls before recording could begin: forwarded only
    MS_PROCESS_UID = 20,
    MS_PROCESS_MACHINE = 21, // "x86_64"
    MS_PROCESS_PAGE_SIZE = 22,
    MS_PROCESS_RESOLUTION_TICKS = 23, // the spread of the timer's floor (90th less 10th percentile)
    MS_PROCESS_MADE = 25,             // fork: start of the call that made it, in its SPAWN block
    MS_PROCESS_ANCESTOR = 24,         // exec: index of the process from whose environment it joined
};
#define MS_ARGV_MAX 4096

enum ms_origin {
    MS_ORIGIN_INITIAL = 1, // the program that made the trace
    MS_ORIGIN_FORK = 2,    // noticed itself to be a copy of its parent
    MS_ORIGIN_EXEC = 3,    // began with exec and joined a trace
};

enum ms_process_flag {
    MS_PROCESS_GLIBC = 1,   // the real malloc is glibc's
    MS_PROCESS_TCACHE = 2,  // the thread cache was found: tcache and arena are told apart
    MS_PROCESS_EXACT = 4,   // exact mode is on
    MS_PROCESS_HEAPS = 8,   // thread arenas are recognised
    MS_PROCESS_UNSEEN = 16, // the program has a malloc of its own, found before the shim's
    MS_PROCESS_ALONE = 32,  // the programs that it starts are not to be followed
    MS_PROCESS_LATE = 64, // a child that no hook announced: START is when it noticed, not its birth
};

enum ms_end_property {
    MS_END_HOW = 1,    // enum ms_end
    MS_END_STATUS = 2, // exit status, or the signal's number
    MS_END_PID = 3,    // of a vfork child, whose end this is; absent: the process' own
};

enum ms_end {
    MS_END_EXIT = 1,       // exit or return from main
    MS_END_EXIT_NOW = 2,   // _exit, _Exit
    MS_END_QUICK_EXIT = 3, // quick_exit
    MS_END_SIGNAL = 4,     // a signal's default action was about to end it
    MS_END_DAEMON = 5,     // the parent's end inside daemon(3), unless a later spawn says it failed
};

// Modules: the number of mappings, then for each: start (as distance from the end of the one
// before), size, file offset, size of the path, the path.

_Static_assert(offsetof(struct ms_file_header, crc) == 92, "see FORMAT.md section 3");
_Static_assert(offsetof(struct ms_file_header, space_next) == 128, "see FORMAT.md section 3");
_Static_assert(offsetof(struct ms_file_header, process_next) == 192, "see FORMAT.md section 3");
_Static_assert(offsetof(struct ms_file_header, free_live) == 256, "see FORMAT.md section 3");
_Static_assert(offsetof(struct ms_file_header, lost_events) == 320, "see FORMAT.md section 3");
_Static_assert(sizeof(struct ms_block) == 64, "see FORMAT.md section 4");
_Static_assert(offsetof(struct ms_block, crc) == 60, "see FORMAT.md section 4");
_Static_assert(sizeof(struct ms_live) == 256, "see FORMAT.md section 7");

#endif
