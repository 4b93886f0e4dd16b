// SPDX-License-Identifier: MIT
// Compression, and the working memory that sealing needs. The only user of zstd, which runs in
// static contexts and so never calls the allocator.
#ifndef MEMSPY_PACK_H
#define MEMSPY_PACK_H

#include <memspy/columns.h>
#include <memspy/format.h>

// Working memory of one sealing thread. Taken from a pool of the process.
struct ms_pack;

// Takes a workspace; NULL when there is no memory. No lock: a thread that finds all taken maps
// another. Not in a signal handler that interrupted a seal (signals are blocked during seals).
struct ms_pack *ms_pack_take(void);
void ms_pack_give(struct ms_pack *pack);
// In the child of a fork: the parent's workspaces are not there.
void ms_pack_after_fork(void);

// The encoder, ready for a buffer whose base is given.
struct ms_encoder *ms_pack_encoder(struct ms_pack *pack, uint64_t base);
// Each of these makes a block in the workspace: the payload is compressed to where it follows its
// block header, which has stored_size and raw_size set and the rest zero. NULL on failure.
struct ms_counters;
struct ms_block *ms_pack_columns(
        struct ms_pack *pack, uint64_t base, const struct ms_counters *counters);
// Of the first `size` bytes of ms_pack_raw, which has room for MS_PACK_RAW.
struct ms_block *ms_pack_bytes(struct ms_pack *pack, size_t size);
#define MS_PACK_RAW 65536
uint8_t *ms_pack_raw(struct ms_pack *pack);
// Working memory, MS_PACK_SCRATCH bytes, until the next block is made.
#define MS_PACK_SCRATCH 16384
char *ms_pack_scratch(struct ms_pack *pack);

#endif
