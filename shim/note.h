// SPDX-License-Identifier: MIT
// Small blocks of properties: what PROCESS, END and SPAWN blocks are made of. They are put together
// in the caller's memory and written uncompressed, so that a vfork child can do it on its stack.
// Context: any, signals blocked while ms_note_write runs.
#ifndef MEMSPY_NOTE_H
#define MEMSPY_NOTE_H

#include <memspy/format.h>
#include <memspy/wire.h>

struct ms_note {
    struct ms_block *block; // at the begin of the caller's memory
    struct ms_writer out;   // behind it
};

// Begins a note in `memory`, aligned for a struct ms_block, of `size` bytes. What does not fit is
// left out, property by property.
void ms_note_begin(struct ms_note *note, void *memory, size_t size);

void ms_note_number(struct ms_note *note, unsigned tag, uint64_t value);
void ms_note_bytes(struct ms_note *note, unsigned tag, const void *data, size_t size);
// A text, cut at `most` bytes.
void ms_note_text(struct ms_note *note, unsigned tag, const char *text, size_t most);
// Arguments up to a NULL, each with its terminating byte, joined in `text` and cut at its `size`.
void ms_note_arguments(
        struct ms_note *note, unsigned tag, char *const *arguments, char *text, size_t size);

// Writes the note as a block of a process. Whether that succeeded.
bool ms_note_write(struct ms_note *note, enum ms_block_type type, uint32_t process);

#endif
