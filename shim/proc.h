// SPDX-License-Identifier: MIT
// Readers of /proc/self. Raw system calls into the caller's buffers; nothing allocates. A file
// that cannot be read yields an empty result.
#ifndef MEMSPY_PROC_H
#define MEMSPY_PROC_H

#include <memspy/base.h>

// Reads a whole small file, at most size - 1 bytes, and terminates it. Returns the bytes read.
size_t ms_proc_read(const char *path, char *buffer, size_t size);

// Field 47 of /proc/self/stat: the address at which the heap that brk extends begins. 0 when
// unknown.
uintptr_t ms_proc_heap_begin(void);

// The path of the running program, terminated; empty when unknown.
void ms_proc_exe(char *buffer, size_t size);

// The process' memory by /proc/self/status, in KiB; MS_PROC_UNKNOWN where the kernel does
// not say.
#define MS_PROC_UNKNOWN UINT64_MAX
struct ms_proc_memory {
    uint64_t vsz, rss, rss_anon, rss_file, rss_shmem, pte;
    uint64_t threads;
};
// may_keep: the file may stay open for the next time; not in a vfork child, whose descriptors are
// its own.
void ms_proc_memory(struct ms_proc_memory *memory, bool may_keep);
// In the child of a fork.
void ms_proc_after_fork(void);

struct ms_proc_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset;  // in the file
    const char *path; // empty for memory without a file
};

// Calls `visit` for each executable mapping in /proc/self/maps. `buffer` is working
// memory, longer than any line: this may run on stacks that have no room for it.
void ms_proc_mappings(void (*visit)(void *context, const struct ms_proc_mapping *m), void *context,
        char *buffer, size_t size);

#endif
