// SPDX-License-Identifier: MIT
// The images of processes of a trace: what their PROCESS, END and MODULES blocks say. How they hang
// together is family.h's matter, which fills in what is marked so.
#ifndef MEMSPY_ANALYZER_PROCESS_H
#define MEMSPY_ANALYZER_PROCESS_H

#include <memspy/format.h>

#include "modules.h"

struct ms_spawn;

// How a process, or one of its images, ended.
enum ms_fate {
    MS_FATE_OPEN, // nothing says that it ended
    MS_FATE_EXIT,
    MS_FATE_EXIT_NOW, // _exit
    MS_FATE_SIGNAL,
    MS_FATE_KILLED,  // by SIGKILL
    MS_FATE_EXEC,    // an image only: another program took its place
    MS_FATE_UNKNOWN, // in a way of a later format
};

struct ms_ending {
    enum ms_fate fate;
    bool has_status;
    uint64_t status; // exit status or the signal's number
    uint64_t ticks;  // when; 0: unknown
};

// An END block decoded.
struct ms_end_block {
    uint32_t how; // enum ms_end
    bool has_status;
    uint64_t status;
    uint64_t pid; // of the vfork child whose end it is; 0: the process' own
};

// The end of a vfork child.
struct ms_child_end {
    uint32_t process; // index of the one in whose memory it ran
    uint64_t pid;
    struct ms_ending ending;
};

#define MS_PROCESS_TAGS 32

// One process image: exec makes a new one. Texts are NULL and numbers 0 where nothing is known.
struct ms_process {
    uint32_t index;
    bool known;                       // its PROCESS block was found
    uint32_t has;                     // bit (1 << tag): its blocks say that
    uint32_t borrows;                 // bit (1 << tag): as its parent's, whose text it is
    uint64_t number[MS_PROCESS_TAGS]; // numeric properties by enum ms_process_property
    char *text[MS_PROCESS_TAGS];      // textual ones
    uint64_t told[MS_PROCESS_TAGS];   // when the block with that property was written
    size_t argv_size;                 // bytes of text[MS_PROCESS_ARGV], zeros between the arguments
    uint32_t parent;                  // family: index of the image that made it; 0 for none
    uint32_t successor;          // family: index of the image that replaced it by exec; 0 for none
    uint64_t main_ticks;         // family: when its main was entered; 0: unknown
    const struct ms_spawn *exec; // family: the call that it came of; NULL: none or unknown
    struct ms_ending ending;     // of its own END; family: of what else tells
    uint32_t how;                // enum ms_end of that END; 0: unknown
    uint64_t last_ticks;         // of its last block
    struct ms_module_set *modules;
};

struct ms_processes {
    struct ms_process *list; // by index once linked
    size_t count;
    size_t capacity;
    uint32_t *hash; // index to position plus one, until linked
    size_t hash_size;
    struct ms_objects objects;
    struct ms_child_end *child_ends; // in file order
    size_t child_end_count, child_end_capacity;
};

// Takes note of a block with that unpacked payload. Blocks of other types only count as a sign of
// life. To be called in file order. Returns false, and takes none of it, when it is malformed.
bool ms_process_note(
        struct ms_processes *processes, const struct ms_block *block, struct ms_cursor payload);

// Adds what the payload of a PROCESS block written at `ticks` says; what a later one said stays.
// Returns false, and adds nothing, when it is malformed. ms_process_clear frees what it keeps.
bool ms_process_read(struct ms_process *process, uint64_t ticks, struct ms_cursor payload);
void ms_process_clear(struct ms_process *process);

// Reads the payload of an END block. Returns false when it is malformed.
bool ms_process_read_end(struct ms_end_block *end, struct ms_cursor payload);

// Sorts the list, and gives forked ones what is as in their parent; then pointers into it are
// stable.
void ms_process_link(struct ms_processes *processes);

// The process with that index, NULL when there is none. Only after ms_process_link.
struct ms_process *ms_process_find(const struct ms_processes *processes, uint32_t index);

// The module of an address, searched in the process and then in those it was forked from.
const struct ms_module *ms_process_module(
        const struct ms_processes *processes, const struct ms_process *process, uint64_t address);

// Writes "object+0xoffset" of an address, and "0xaddress" where no object is known there; returns
// whether one is. `process` may be NULL.
bool ms_process_locate(const struct ms_processes *processes, const struct ms_process *process,
        uint64_t address, char *name, size_t size);

// The argument after `before`, the first one for NULL; NULL at the end. Texts of the process.
const char *ms_process_argument(const struct ms_process *process, const char *before);

// How the image began by its PROCESS block: "initial", "fork", "exec", "unknown". ms_node_origin
// knows better.
const char *ms_process_origin(const struct ms_process *process);

// The contract's word: "open", "exit", "_exit", "signal", "killed", "exec", or "unknown".
const char *ms_fate_name(enum ms_fate fate);

// Whether the status says something: not of an exec.
bool ms_ending_tells_status(const struct ms_ending *ending);

void ms_process_free(struct ms_processes *processes);

#endif
