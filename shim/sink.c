// SPDX-License-Identifier: MIT
// Owns the trace's descriptor, its space and its blocks (sink_open.c makes or joins it). Its space
// is handed out by an atomic add to header.space_next; a block is written by one pwrite into space
// that is its alone. Live blocks are shared mappings: the kernel keeps what was stored in them
// whatever becomes of the process. A live block that is not needed any more goes to the free list,
// a stack whose head carries a generation, so that a process which reads a stale successor fails
// its compare-and-swap.
//
// The descriptor lives at a high number, close-on-exec. The program may close it behind our back
// and reuse the number: before every use its device and inode are compared with the file's, and a
// lost one is opened again by path.
#define _GNU_SOURCE
#include "sink.h"

#include "sink_file.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <memspy/wire.h>
#include <time.h>

struct ms_file_header *ms_sink_header;

struct ms_sink_file ms_sink_file = {.descriptor = -1};

const char *ms_sink_join_value(void)
{
    return ms_sink_file.join;
}

const char *ms_sink_path(void)
{
    return ms_sink_file.join + MS_JOIN_PATH;
}

uint32_t ms_sink_ancestor(void)
{
    return ms_sink_file.ancestor;
}

int ms_sink_descriptor(void)
{
    return __atomic_load_n(&ms_sink_file.descriptor, __ATOMIC_RELAXED);
}

static bool is_ours(int fd)
{
    uint64_t device = 0, inode = 0;
    return fd >= 0 && ms_sys_identity(fd, &device, &inode) == 0 && device == ms_sink_file.device &&
           inode == ms_sink_file.inode;
}

bool ms_sink_owns_descriptor(void)
{
    return is_ours(ms_sink_descriptor());
}

// How many threads hold the descriptor: between the check that it is ours and the last call that
// uses it, a dup2 of the program's must not reuse the number.
static MS_AFTER_FORK uint32_t users;

void ms_sink_after_fork(void)
{
    __atomic_store_n(&users, 0, __ATOMIC_RELAXED);
}

static void release_descriptor(void)
{
    __atomic_fetch_sub(&users, 1, __ATOMIC_SEQ_CST);
}

static int find_descriptor(void)
{
    int held = __atomic_load_n(&ms_sink_file.descriptor, __ATOMIC_ACQUIRE);
    if (is_ours(held))
        return held;
    int opened = ms_sys_open(ms_sink_path(), O_RDWR | O_NOFOLLOW, 0);
    if (opened < 0)
        return opened;
    if (!is_ours(opened)) {
        ms_sys_close(opened);
        return -ESTALE;
    }
    opened = ms_sys_move_up(opened);
    if (!__atomic_compare_exchange_n(&ms_sink_file.descriptor, &held, opened, false,
                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        ms_sys_close(opened);
        return is_ours(held) ? held : -ESTALE;
    }
    return opened;
}

// A descriptor that is the trace's until release_descriptor, or -errno.
static int take_descriptor(void)
{
    __atomic_fetch_add(&users, 1, __ATOMIC_SEQ_CST);
    int fd = find_descriptor();
    if (fd < 0)
        release_descriptor();
    return fd;
}

// Bounded, since a user may be a thread that was stopped.
static void wait_for_users(void)
{
    uint64_t begin = ms_sys_nanoseconds(CLOCK_MONOTONIC);
    while (__atomic_load_n(&users, __ATOMIC_SEQ_CST) != 0 &&
            ms_sys_nanoseconds(CLOCK_MONOTONIC) - begin < 100000000u)
        ms_sys_yield();
}

void ms_sink_move_descriptor(void)
{
    int held = __atomic_load_n(&ms_sink_file.descriptor, __ATOMIC_ACQUIRE);
    if (!is_ours(held))
        return;
    int moved = ms_sys_dup_above(held, held + 1);
    if (moved < 0)
        moved = ms_sys_dup_above(held, 3);
    // Without any free number the trace is reopened when it is next needed.
    if (__atomic_compare_exchange_n(&ms_sink_file.descriptor, &held, moved, false, __ATOMIC_SEQ_CST,
                __ATOMIC_ACQUIRE)) {
        wait_for_users();
        ms_sys_close(held);
    } else if (moved >= 0)
        ms_sys_close(moved);
}

uint32_t ms_sink_new_process(void)
{
    return __atomic_fetch_add(&ms_sink_header->process_next, 1, __ATOMIC_RELAXED);
}

uint32_t ms_sink_new_thread(void)
{
    return __atomic_fetch_add(&ms_sink_header->thread_next, 1, __ATOMIC_RELAXED);
}

void ms_sink_lost(uint64_t events)
{
    if (ms_sink_header != NULL)
        __atomic_fetch_add(&ms_sink_header->lost_events, events, __ATOMIC_RELAXED);
}

// The least page of all machines.
#define PAGE 4096u

// Takes `size` bytes of the file at a multiple of `align`. Returns their offset.
static uint64_t take_space(uint64_t size, uint64_t align)
{
    uint64_t next = __atomic_load_n(&ms_sink_header->space_next, __ATOMIC_RELAXED), offset;
    do {
        offset = ms_align_up(next, align);
        // A small block lies in one page: a process that is killed has written all of it or
        // nothing.
        if (size <= PAGE && offset % PAGE + size > PAGE)
            offset = ms_align_up(offset, PAGE);
    } while (!__atomic_compare_exchange_n(&ms_sink_header->space_next, &next,
            ms_align_up(offset + size, MS_BLOCK_ALIGN), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return offset;
}

static void fill_block(struct ms_block *block)
{
    block->magic = MS_BLOCK_MAGIC;
    block->header_size = sizeof *block;
    block->reserved = 0;
    block->ticks = ms_sys_ticks();
    block->mono_ns = ms_sys_nanoseconds(CLOCK_MONOTONIC);
    block->crc = ms_crc32(block, offsetof(struct ms_block, crc));
}

int ms_sink_write(struct ms_block *block)
{
    size_t size = sizeof *block + block->stored_size;
    int fd = take_descriptor();
    if (fd < 0)
        return fd;
    fill_block(block);
    int failed = ms_sys_pwrite(fd, block, size, take_space(size, MS_BLOCK_ALIGN));
    release_descriptor();
    return failed;
}

// --- live blocks -----------------------------------------------------------------------------

static uint64_t live_offset(uint64_t number)
{
    return number * ms_sink_header->live_align;
}

static bool pop_free(int fd, uint64_t *offset)
{
    uint64_t head = __atomic_load_n(&ms_sink_header->free_live, __ATOMIC_ACQUIRE), next;
    do {
        struct ms_live live;
        uint64_t number = head & UINT32_MAX;
        if (number == 0)
            return false;
        *offset = live_offset(number);
        if (ms_sys_pread(fd, &live, sizeof live, *offset) != 0)
            return false;
        next = ((head >> 32) + 1) << 32 | live.next_free;
    } while (!__atomic_compare_exchange_n(
            &ms_sink_header->free_live, &head, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    return true;
}

static void push_free(struct ms_live *live, uint64_t number)
{
    uint64_t head = __atomic_load_n(&ms_sink_header->free_live, __ATOMIC_RELAXED), next;
    do {
        live->next_free = (uint32_t)head;
        next = ((head >> 32) + 1) << 32 | number;
    } while (!__atomic_compare_exchange_n(
            &ms_sink_header->free_live, &head, next, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

// New space for a live block, reserved, with its block header written.
static int make_live(int fd, uint64_t *offset)
{
    struct ms_block block = {
            .type = MS_BLOCK_LIVE, .stored_size = MS_LIVE_SIZE - (uint32_t)sizeof block};
    *offset = take_space(MS_LIVE_SIZE, ms_sink_header->live_align);
    int failed = ms_sys_reserve(fd, *offset, MS_LIVE_SIZE);
    if (failed)
        return failed;
    fill_block(&block);
    return ms_sys_pwrite(fd, &block, sizeof block, *offset);
}

static struct ms_live *map_live(int fd, uint64_t *offset)
{
    if (!pop_free(fd, offset) && make_live(fd, offset) != 0)
        return NULL;
    return ms_sys_map_file(fd, *offset, MS_LIVE_SIZE);
}

struct ms_live *ms_sink_take_live(void)
{
    uint64_t offset;
    int fd = take_descriptor();
    if (fd < 0)
        return NULL;
    struct ms_live *live = map_live(fd, &offset);
    release_descriptor();
    if (live == NULL)
        return NULL;
    // While the block is owned, next_free is its own number: what giving it back needs.
    live->next_free = (uint32_t)(offset / ms_sink_header->live_align);
    return live;
}

void ms_sink_give_live(struct ms_live *live)
{
    uint64_t number = live->next_free;
    __atomic_store_n(&live->owner, 0, __ATOMIC_RELEASE);
    push_free(live, number);
    ms_sys_unmap(live, MS_LIVE_SIZE);
}
