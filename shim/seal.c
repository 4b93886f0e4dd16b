// SPDX-License-Identifier: MIT
// Owns the sealing of buffers, and with it the one way in which recording stops. Context: the
// thread that owns the buffer, signals blocked, state MS_SPY.
#include "seal.h"

#include "conf.h"
#include "maps.h"
#include "pack.h"
#include "process.h"
#include "ring.h"
#include "sink.h"
#include "sys.h"

#include <time.h>

// A thread's first buffers are timed densely, so that a short program's figures have a fine grain;
// one that goes on has calls enough for a coarser one. Each timed event carries its weight.
#define DENSE_BUFFERS 4

static bool stopped; // in this process, or in its parent before it was made

bool ms_seal_has_stopped(void)
{
    return stopped;
}

void ms_seal_stop(const char *why)
{
    stopped = true;
    if (__atomic_exchange_n(&ms_wiped.word, MS_WORD_OFF, __ATOMIC_ACQ_REL) != MS_WORD_OFF)
        MS_SAY("recording of process ", ms_process_pid_text(), " stops: ", why, " (",
                ms_sink_path(), ")");
}

void ms_seal_modules(struct ms_pack *pack, uint32_t process)
{
    struct ms_writer out = {ms_pack_raw(pack), ms_pack_raw(pack) + MS_PACK_RAW, false};
    ms_maps_read(&out, ms_pack_scratch(pack), MS_PACK_SCRATCH);
    if (out.at == ms_pack_raw(pack))
        return;
    struct ms_block *block = ms_pack_bytes(pack, (size_t)(out.at - ms_pack_raw(pack)));
    if (block == NULL)
        return;
    block->type = MS_BLOCK_MODULES;
    block->process = process;
    ms_sink_write(block);
}

// Writes the first `used` slots of the thread's buffer as a sealed block.
static bool write_events(
        struct ms_thread *thread, const uint64_t *slots, uint32_t used, struct ms_pack *pack)
{
    uint64_t begin = ms_sys_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    uint64_t base = thread->live->base;
    struct ms_encoder *encoder = ms_pack_encoder(pack, base);
    struct ms_counters *counters = &thread->counters;
    uint64_t *tally = thread->live->tally;
    tally[MS_TALLY_LOST] +=
            ms_ring_encode(slots, used, base, encoder, counters, ms_process_floor());
    tally[MS_TALLY_SEALS]++;
    memcpy(counters->tally, tally, sizeof counters->tally);
    bool new_modules = ms_maps_need_reading(encoder);
    struct ms_block *block = ms_pack_columns(pack, base, counters);
    if (block == NULL)
        return false;
    block->type = MS_BLOCK_EVENTS;
    block->process = thread->process;
    block->thread = thread->index;
    block->sequence = thread->sequence;
    block->events = (uint32_t)encoder->events;
    if (ms_sink_write(block) != 0)
        return false;
    if (new_modules)
        ms_seal_modules(pack, thread->process);
    tally[MS_TALLY_SEAL_NS] += ms_sys_nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin;
    return true;
}

bool ms_seal(struct ms_tls *t, uint64_t base)
{
    struct ms_thread *thread = t->thread;
    struct ms_ring *ring = &thread->ring;
    uint64_t *slots = (uint64_t *)(thread->live + 1);
    ptrdiff_t words = (ring->next < ring->end ? ring->next : ring->end) - slots;
    struct ms_pack *pack = ms_pack_take();
    if (pack == NULL) {
        ms_seal_stop("no memory");
        return false;
    }
    bool written = write_events(thread, slots, (uint32_t)(words / MS_SLOT_WORDS), pack);
    ms_pack_give(pack);
    if (!written) {
        ms_seal_stop("no space left for the trace, or it is gone");
        return false;
    }
    // The slots are cleared before the number changes: until then a reader takes the sealed block.
    memset(slots, 0, (size_t)words * sizeof *slots);
    thread->live->base = base;
    __atomic_store_n(&thread->live->sequence, ++thread->sequence, __ATOMIC_RELEASE);
    t->base = base;
    ring->mark -= ring->next - slots;
    ring->next = ring->done = slots;
    if (thread->sequence > DENSE_BUFFERS)
        t->timing_log2 = ms_conf.sparse_timing_log2;
    return true;
}
