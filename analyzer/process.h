// SPDX-License-Identifier: MIT
// The processes of a trace: what their PROCESS, END and MODULES blocks say, and how they hang
// together (fork, exec).
#ifndef MEMSPY_ANALYZER_PROCESS_H
#define MEMSPY_ANALYZER_PROCESS_H

#include <memspy/format.h>

#include "modules.h"

// One process image: exec makes a new one. Texts are NULL and numbers 0 where nothing is known.
struct ms_process {
    uint32_t index;
    bool known;          // its PROCESS block was found
    uint64_t number[32]; // numeric properties by enum ms_process_property
    char *text[32];      // textual ones
    size_t argv_size;    // bytes of text[MS_PROCESS_ARGV], zeros between the arguments
    uint32_t parent;     // index of the process that made it; 0 for none
    uint32_t successor;  // index of the image that replaced it by exec; 0 for none
    uint32_t how;        // enum ms_end; 0 while nothing says that it ended
    uint64_t status;     // exit status
    bool has_status;     // libc told it
    char *end_path;      // exec: the program
    uint64_t end_ticks;  // of its END block
    uint64_t last_ticks; // of its last block
    struct ms_module_set *modules;
};

struct ms_processes {
    struct ms_process *list; // by index once linked
    size_t count;
    size_t capacity;
    uint32_t *hash; // index to position plus one, until linked
    size_t hash_size;
    struct ms_objects objects;
};

// Takes note of a block with that unpacked payload. Blocks of other types only count as a sign of
// life. To be called in file order. Returns false, and takes none of it, when it is malformed.
bool ms_process_note(
        struct ms_processes *processes, const struct ms_block *block, struct ms_cursor payload);

// Reads the payload of an END block into `how`, `status` and `end_path` of a process.
void ms_process_read_end(struct ms_process *process, struct ms_cursor in);

// Sorts the list and finds parents and successors; then pointers into the list are stable.
void ms_process_link(struct ms_processes *processes);

// The process with that index, NULL when there is none. Only after ms_process_link.
struct ms_process *ms_process_find(const struct ms_processes *processes, uint32_t index);

// The module of an address, searched in the process and then in those it was forked from.
const struct ms_module *ms_process_module(
        const struct ms_processes *processes, const struct ms_process *process, uint64_t address);

// The argument after `before`, the first one for NULL; NULL at the end. Texts of the process.
const char *ms_process_argument(const struct ms_process *process, const char *before);

// Words of the contract: how the process began, and how it ended: "exit", "_exit", "exec", "open".
const char *ms_process_origin(const struct ms_process *process);
const char *ms_process_end(const struct ms_process *process);

// Whether nothing says how the process ended.
bool ms_process_is_open(const struct ms_process *process);

void ms_process_free(struct ms_processes *processes);

#endif
