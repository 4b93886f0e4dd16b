// SPDX-License-Identifier: MIT
// Owns the table of executable mappings. It is replaced as a whole under a flag that is only ever
// tried, never waited for.
#include "maps.h"

#include "proc.h"
#include "sys.h"

#include <memspy/columns.h>
#include <time.h>

#define RANGES 4096
static struct range {
    uint64_t start;
    uint64_t end;
} ranges[RANGES]; // ascending, as the kernel lists them
static unsigned range_count;
static MS_AFTER_FORK uint32_t busy; // atomic
static uint64_t read_ns;            // when they were read
static uint64_t interval_ns;        // how long not to read them again
#define INTERVAL_MIN UINT64_C(100000000)
#define INTERVAL_MAX UINT64_C(100000000000)

static bool covers(uint64_t address)
{
    unsigned low = 0, high = range_count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (address < ranges[middle].start)
            high = middle;
        else if (address >= ranges[middle].end)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

void ms_maps_after_fork(void)
{
    __atomic_store_n(&busy, 0, __ATOMIC_RELAXED);
}

static bool may_read_again(void)
{
    return ms_sys_nanoseconds(CLOCK_MONOTONIC) - read_ns > interval_ns;
}

bool ms_maps_need_reading(const struct ms_encoder *encoder)
{
    bool needed = false;
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0)
        return false;
    for (uint64_t i = 0; i < encoder->signatures && !needed; i++) {
        uint64_t caller = encoder->entry[encoder->place[i]].caller;
        needed = caller != 0 && !covers(caller);
    }
    needed = needed && may_read_again();
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return needed;
}

bool ms_maps_need_reading_for(uint64_t caller)
{
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0)
        return false;
    bool needed = !covers(caller) && may_read_again();
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return needed;
}

struct reading {
    struct ms_writer *out;
    uint64_t last_end;
    unsigned count;
    unsigned written;
};

static void add(void *context, const struct ms_proc_mapping *m)
{
    struct reading *r = context;
    size_t length = ms_sys_length(m->path);
    if (r->count == RANGES || (size_t)(r->out->end - r->out->at) < length + 4 * MS_VARINT_MAX)
        return;
    ranges[r->count++] = (struct range){m->start, m->end};
    // Code without a file, compiled at run time, is known, but there is nothing to say of it.
    if (length == 0)
        return;
    r->written++;
    ms_put_varint(r->out, m->start - r->last_end);
    ms_put_varint(r->out, m->end - m->start);
    ms_put_varint(r->out, m->offset);
    ms_put_varint(r->out, length);
    ms_put_bytes(r->out, m->path, length);
    r->last_end = m->end;
}

void ms_maps_read(struct ms_writer *out, char *buffer, size_t size)
{
    struct reading r = {out, 0, 0, 0};
    uint8_t *begin = out->at, count[MS_VARINT_MAX];
    struct ms_writer number = {count, count + sizeof count, false};
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    ms_proc_mappings(add, &r, buffer, size);
    // The number of mappings comes first but is known last.
    ms_put_varint(&number, r.written);
    size_t length = (size_t)(number.at - count);
    if (length <= (size_t)(out->end - out->at)) {
        memmove(begin + length, begin, (size_t)(out->at - begin));
        memcpy(begin, count, length);
        out->at += length;
    }
    bool is_new = r.count != range_count;
    interval_ns = is_new || interval_ns == 0 ? INTERVAL_MIN : 2 * interval_ns;
    if (interval_ns > INTERVAL_MAX)
        interval_ns = INTERVAL_MAX;
    range_count = r.count;
    read_ns = ms_sys_nanoseconds(CLOCK_MONOTONIC);
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
