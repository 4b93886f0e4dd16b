// SPDX-License-Identifier: MIT
// The content of a sealed block: the events of one buffer turned into columns. FORMAT.md section 6
// is the normative description. What is alike in many events, all but addresses, sizes and times,
// is a signature, written once a block; an event is the index of its signature and what differs.
// Both sides keep the same model of the addresses, so that a block which comes back from the thread
// cache, last in first out, costs no bytes. Each field's encoding and decoding stand side by side.
// No function here allocates or keeps state outside its arguments.
#ifndef MEMSPY_COLUMNS_H
#define MEMSPY_COLUMNS_H

#include "event.h"
#include "wire.h"

// The order is the order in the block. New columns go at the end; readers skip what they do not
// know. All but the dictionary and WIDE are columns of numbers.
enum ms_column {
    MS_COL_SIGNATURE, // of each event: MS_RUNS and its index in the dictionary; or a run, see below
    MS_COL_PTR,
    MS_COL_SIZE,
    MS_COL_USABLE,
    MS_COL_AUX,
    MS_COL_START,
    MS_COL_COST,
    MS_COL_RUN,        // of each run: its length
    MS_COL_WIDE,       // varints: the numbers that do not fit their column, in order
    MS_COL_SIGNATURES, // the dictionary
    MS_COLUMNS
};
#define MS_NUMBER_COLUMNS MS_COL_WIDE

// A number column holds 32-bit numbers; this one says that the number is the next in WIDE.
#define MS_WIDE UINT32_MAX

// A run stands for events that repeat those before them exactly, every event what the one `period`
// earlier was: what a loop that allocates and frees the same block looks like. SIGNATURE 0 is a
// run of period 2, SIGNATURE 1 one of period 4. A run leaves the model as it is.
#define MS_RUNS       2
#define MS_RUN_PERIOD 4 // the longest
MS_INLINE unsigned ms_run_period(uint64_t signature)
{
    return signature == 0 ? 2 : MS_RUN_PERIOD;
}

// Marks of a signature: fields that need no entry in their column.
enum ms_mark {
    MS_MARK_MODEL = 1,   // ptr is the address that the model expects
    MS_MARK_SAME = 2,    // ptr is the last address
    MS_MARK_GUESSED = 4, // usable is ms_usable_guess
    MS_MARK_NO_AUX = 8,  // aux is 0
};

struct ms_signature {
    uint64_t caller;
    union {
        struct {
            uint8_t kind;
            uint8_t attr;
            uint8_t marks;
            uint8_t align_log2;
            uint8_t weight_log2;
        };
        uint64_t word; // all of them, compared at once
    };
};

// The word of a signature. Built by shifts: bytes stored one by one and read as a word would stall.
MS_INLINE uint64_t ms_signature_word(const struct ms_event *e, unsigned fields, uint64_t marks)
{
    uint64_t word = e->kind | (uint64_t)e->attr << 8 | marks << 16;
    if (MS_UNLIKELY(fields & MS_F_ALIGN))
        word |= (uint64_t)e->align_log2 << 24;
    if (e->attr & MS_ATTR_TIMED)
        word |= (uint64_t)e->weight_log2 << 32;
    return word;
}

// glibc's small size classes, 24 to 1032 usable bytes in steps of 16, each with a stack of the
// last addresses freed.
#define MS_MODEL_BINS  64
#define MS_MODEL_DEPTH 8

struct ms_model {
    uint64_t last;                                // the last address, in address units
    uint64_t start;                               // the last start
    uint64_t lifo[MS_MODEL_BINS][MS_MODEL_DEPTH]; // rings, in address units
    uint8_t top[MS_MODEL_BINS];
    uint8_t depth[MS_MODEL_BINS];
};

static inline void ms_model_reset(struct ms_model *m, uint64_t base)
{
    m->last = 0;
    m->start = base;
    memset(m->depth, 0, sizeof m->depth);
    memset(m->top, 0, sizeof m->top);
}

// An address in address units: rotated so that the four low bits, always 0 in a block's address,
// are on top.
MS_INLINE uint64_t ms_unit(uint64_t address)
{
    return address >> 4 | address << 60;
}

MS_INLINE uint64_t ms_from_unit(uint64_t unit)
{
    return unit << 4 | unit >> 60;
}

// The bin of a block with that many usable bytes, MS_MODEL_BINS when it has none.
MS_INLINE unsigned ms_model_bin(uint64_t usable)
{
    uint64_t above = usable - 24;
    uint64_t bin = above >> 4 | above << 60; // what is no multiple of 16 becomes large
    return bin < MS_MODEL_BINS ? (unsigned)bin : MS_MODEL_BINS;
}

// The address the model expects an allocation of that size to return; false when it expects none.
MS_INLINE bool ms_model_expect(const struct ms_model *m, uint64_t usable, uint64_t *unit)
{
    unsigned bin = ms_model_bin(usable);
    if (bin == MS_MODEL_BINS || m->depth[bin] == 0)
        return false;
    *unit = m->lifo[bin][m->top[bin]];
    return true;
}

// Takes `unit` from the top of its bin, if it is there; says whether it was.
MS_INLINE bool ms_model_pop(struct ms_model *m, uint64_t usable, uint64_t unit)
{
    unsigned bin = ms_model_bin(usable);
    if (bin == MS_MODEL_BINS)
        return false;
    unsigned top = m->top[bin], depth = m->depth[bin];
    bool hit = (depth != 0) & (m->lifo[bin][top] == unit);
    m->depth[bin] = (uint8_t)(depth - hit);
    m->top[bin] = (uint8_t)((top - hit) & (MS_MODEL_DEPTH - 1));
    return hit;
}

MS_INLINE void ms_model_push(struct ms_model *m, uint64_t usable, uint64_t unit)
{
    unsigned bin = ms_model_bin(usable);
    if (bin == MS_MODEL_BINS)
        return;
    m->top[bin] = (uint8_t)((m->top[bin] + 1) & (MS_MODEL_DEPTH - 1));
    m->lifo[bin][m->top[bin]] = unit;
    if (m->depth[bin] < MS_MODEL_DEPTH)
        m->depth[bin]++;
}

// The usable size that glibc gives to a request on 64-bit machines: what the column is relative to.
MS_INLINE uint64_t ms_usable_guess(const struct ms_event *e)
{
    if (!ms_event_frees(e) && ms_event_path(e) == MS_ALLOC_MMAP)
        return ((e->size + 16 + 4095) & ~UINT64_C(4095)) - 16;
    uint64_t chunk = (e->size + 8 + 15) & ~UINT64_C(15);
    return (chunk < 32 ? 32 : chunk) - 8;
}

// An encoder. The number columns are gathered as words, without a branch on their size, which is
// what makes sealing cheap; the two byte columns are writers over memory of the caller's, with
// room for MS_WIDE_EVENT and MS_SIGNATURE_EVENT bytes an event. The hash of signatures is never
// full, because a buffer has at most MS_ENCODER_EVENTS events.
#define MS_ENCODER_EVENTS  4096
#define MS_RECENT          32
#define MS_SIGNATURE_HASH  8192
#define MS_WIDE_EVENT      (6 * MS_VARINT_MAX)
#define MS_SIGNATURE_EVENT (MS_VARINT_MAX + 5)

_Static_assert(MS_SIGNATURE_HASH > MS_ENCODER_EVENTS, "the search for a place must end");

// A signature that was used lately; the search for it is spared.
struct ms_recent {
    uint64_t caller;
    uint64_t word;
    uint64_t index;
    uint64_t unused;
};

struct ms_encoder {
    struct ms_model model;
    uint64_t events;
    uint64_t signatures;
    uint64_t last_caller; // of the last dictionary entry with a caller
    struct ms_recent recent[MS_RECENT];
    struct ms_writer wide;
    struct ms_writer dictionary;
    uint32_t count[MS_NUMBER_COLUMNS];
    uint32_t number[MS_NUMBER_COLUMNS][MS_ENCODER_EVENTS];
    struct ms_signature entry[MS_SIGNATURE_HASH];
    uint16_t index[MS_SIGNATURE_HASH]; // plus one; 0 is an empty place
    uint16_t place[MS_ENCODER_EVENTS]; // of each signature, in the order of the dictionary
};

// Makes a zeroed encoder, or one that was used before, ready. The writers are the caller's affair.
static inline void ms_encoder_reset(struct ms_encoder *x, uint64_t base)
{
    ms_model_reset(&x->model, base);
    for (uint64_t i = 0; i < x->signatures; i++)
        x->index[x->place[i]] = 0;
    memset(x->count, 0, sizeof x->count);
    memset(x->recent, 0xff, sizeof x->recent); // no signature's word
    x->events = 0;
    x->signatures = 0;
    x->last_caller = 0;
}

// A column of numbers being read: `width` planes of `count` bytes each, the low bytes first.
struct ms_numbers {
    const uint8_t *plane;
    uint64_t count;
    uint64_t next;
    unsigned width;
};

// A decoder: the columns and the dictionary, memory of the caller's, as many entries as the block
// has events. `bad` stays set after the first malformed or missing value.
struct ms_decoder {
    struct ms_model model;
    struct ms_numbers numbers[MS_NUMBER_COLUMNS];
    struct ms_cursor wide;
    struct ms_signature *signatures;
    uint64_t signature_count;
    uint64_t last_signature; // index of the signature of the event decoded last
    uint64_t decoded;        // events so far
    uint64_t run_left;       // events left of the run under way
    unsigned run_period;
    struct ms_event history[MS_RUN_PERIOD]; // the last events, the n-th at n modulo MS_RUN_PERIOD
    uint64_t history_signature[MS_RUN_PERIOD];
    bool bad;
};

// Appends a number to a column, unless `skip`.
MS_INLINE void ms_put_number(struct ms_encoder *x, enum ms_column column, uint64_t value, bool skip)
{
    uint32_t at = x->count[column];
    if (MS_UNLIKELY(value >= MS_WIDE && !skip)) {
        ms_put_varint(&x->wide, value);
        value = MS_WIDE;
    }
    x->number[column][at] = (uint32_t)value;
    x->count[column] = at + !skip;
}

MS_INLINE uint64_t ms_get_number(struct ms_decoder *x, enum ms_column column)
{
    struct ms_numbers *n = &x->numbers[column];
    if (MS_UNLIKELY(n->next >= n->count)) {
        x->bad = true;
        return 0;
    }
    const uint8_t *at = n->plane + n->next++;
    uint32_t value = 0;
    for (unsigned i = 0; i < n->width; i++, at += n->count)
        value |= (uint32_t)*at << 8 * i;
    return MS_LIKELY(value != MS_WIDE) ? value : ms_get_varint(&x->wide);
}

// A signature in the dictionary: kind, attr, marks; align_log2, weight_log2 and the distance from
// the last caller, each where the kind or attr has it.
static inline void ms_signature_put(struct ms_encoder *x, const struct ms_signature *s)
{
    struct ms_writer *w = &x->dictionary;
    unsigned fields = ms_kind_fields(s->kind);
    ms_put_u8(w, s->kind);
    ms_put_u8(w, s->attr);
    ms_put_u8(w, s->marks);
    if (fields & MS_F_ALIGN)
        ms_put_u8(w, s->align_log2);
    if (s->attr & MS_ATTR_TIMED)
        ms_put_u8(w, s->weight_log2);
    if (fields & MS_F_CALLER) {
        ms_put_varint(w, ms_zigzag((int64_t)(s->caller - x->last_caller)));
        x->last_caller = s->caller;
    }
}

static inline bool ms_signature_get(
        struct ms_cursor *in, struct ms_signature *s, uint64_t *last_caller)
{
    memset(s, 0, sizeof *s);
    s->kind = ms_get_u8(in);
    s->attr = ms_get_u8(in);
    s->marks = ms_get_u8(in);
    unsigned fields = ms_kind_fields(s->kind);
    if (fields & MS_F_ALIGN)
        s->align_log2 = ms_get_u8(in);
    if (s->attr & MS_ATTR_TIMED)
        s->weight_log2 = ms_get_u8(in);
    if (fields & MS_F_CALLER) {
        *last_caller += (uint64_t)ms_unzigzag(ms_get_varint(in));
        s->caller = *last_caller;
    }
    return !in->bad && fields != 0 && s->weight_log2 <= 15 && s->align_log2 <= 63;
}

// The index of a signature, which is entered into the dictionary when it is new.
static inline uint64_t ms_encoder_look_up(struct ms_encoder *x, uint64_t caller, uint64_t word)
{
    uint64_t key = caller << 16 ^ word ^ word >> 22;
    unsigned at = (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 51);
    for (; x->index[at] != 0; at = (at + 1) & (MS_SIGNATURE_HASH - 1))
        if (x->entry[at].caller == caller && x->entry[at].word == word)
            return x->index[at] - 1u;
    x->entry[at].caller = caller;
    x->entry[at].word = word;
    x->place[x->signatures] = (uint16_t)at;
    x->index[at] = (uint16_t)++x->signatures;
    ms_signature_put(x, &x->entry[at]);
    return x->signatures - 1;
}

// The same by way of the recent ones, each at a place made of its kind, attr and marks. Of these
// all but the marks are constants to the compiler where it matters (shim/ring.c).
MS_INLINE uint64_t ms_encoder_signature(
        struct ms_encoder *x, const struct ms_event *e, uint64_t caller, uint64_t word)
{
    unsigned marks = (unsigned)(word >> 16 & 0xff);
    unsigned at = ((unsigned)e->kind ^ (unsigned)e->attr << 1 ^ marks << 2) % MS_RECENT;
    struct ms_recent *recent = &x->recent[at];
    if (MS_LIKELY(recent->caller == caller) && MS_LIKELY(recent->word == word))
        return recent->index;
    recent->caller = caller;
    recent->word = word;
    return recent->index = ms_encoder_look_up(x, caller, word);
}

// aux: a mark where it is 0. An old address is written as the distance from the last address, and
// the address that follows is then relative to it.
MS_INLINE uint8_t ms_columns_put_aux(
        struct ms_encoder *x, const struct ms_event *e, unsigned fields)
{
    uint64_t code = e->aux;
    if (e->aux == 0)
        return MS_MARK_NO_AUX;
    if (fields & MS_F_OLD) {
        uint64_t unit = ms_unit(e->aux);
        code = ms_zigzag((int64_t)(unit - x->model.last));
        x->model.last = unit;
    }
    ms_put_number(x, MS_COL_AUX, code, false);
    return 0;
}

MS_INLINE void ms_columns_get_aux(
        struct ms_decoder *x, struct ms_event *e, unsigned fields, uint8_t marks)
{
    if (marks & MS_MARK_NO_AUX)
        return;
    e->aux = ms_get_number(x, MS_COL_AUX);
    if (fields & MS_F_OLD) {
        x->model.last += (uint64_t)ms_unzigzag(e->aux);
        e->aux = ms_from_unit(x->model.last);
    }
}

// ptr: nothing but a mark for an allocation that returned the address which the model expects,
// and for the last address; else the distance from the last address. Returns the marks.
MS_INLINE uint8_t ms_columns_put_ptr(struct ms_encoder *x, const struct ms_event *e)
{
    struct ms_model *m = &x->model;
    uint64_t unit = ms_unit(e->ptr), last = m->last;
    bool model = false, same = unit == last;
    m->last = unit;
    if (ms_event_frees(e))
        ms_model_push(m, e->usable, unit);
    else
        model = ms_model_pop(m, e->usable, unit);
    ms_put_number(x, MS_COL_PTR, ms_zigzag((int64_t)(unit - last)), model | same);
    return (uint8_t)(model ? MS_MARK_MODEL : same ? MS_MARK_SAME : 0);
}

MS_INLINE void ms_columns_get_ptr(struct ms_decoder *x, struct ms_event *e, uint8_t marks)
{
    struct ms_model *m = &x->model;
    uint64_t unit = m->last;
    bool frees = ms_event_frees(e);
    if (marks & MS_MARK_MODEL) {
        if (frees || !ms_model_expect(m, e->usable, &unit)) {
            x->bad = true;
            return;
        }
        ms_model_pop(m, e->usable, unit);
    } else if (!(marks & MS_MARK_SAME)) {
        unit += (uint64_t)ms_unzigzag(ms_get_number(x, MS_COL_PTR));
    }
    if (frees)
        ms_model_push(m, e->usable, unit);
    m->last = unit;
    e->ptr = ms_from_unit(unit);
}

// usable: a mark where it is as guessed. Else, for events with a size, the zigzag distance from
// the guess; for the others the value with its common form, 8 more than a multiple of 16, made
// short.
MS_INLINE uint8_t ms_columns_put_usable(
        struct ms_encoder *x, const struct ms_event *e, unsigned fields)
{
    if (fields & MS_F_SIZE) {
        uint64_t code = ms_zigzag((int64_t)(e->usable - ms_usable_guess(e)));
        if (MS_LIKELY(code == 0))
            return MS_MARK_GUESSED;
        ms_put_number(x, MS_COL_USABLE, code, false);
        return 0;
    }
    bool common = (e->usable & 15) == 8;
    ms_put_number(x, MS_COL_USABLE, common ? e->usable >> 4 << 1 : e->usable << 1 | 1, false);
    return 0;
}

MS_INLINE void ms_columns_get_usable(
        struct ms_decoder *x, struct ms_event *e, unsigned fields, uint8_t marks)
{
    uint64_t code = marks & MS_MARK_GUESSED ? 0 : ms_get_number(x, MS_COL_USABLE);
    if (fields & MS_F_SIZE)
        e->usable = ms_usable_guess(e) + (uint64_t)ms_unzigzag(code);
    else
        e->usable = code & 1 ? code >> 1 : (code >> 1 << 4) + 8;
}

MS_INLINE void ms_columns_put_time(struct ms_encoder *x, const struct ms_event *e)
{
    ms_put_number(x, MS_COL_START, ms_zigzag((int64_t)(e->start - x->model.start)), false);
    x->model.start = e->start;
    ms_put_number(x, MS_COL_COST, e->cost, false);
}

MS_INLINE void ms_columns_get_time(struct ms_decoder *x, struct ms_event *e)
{
    x->model.start += (uint64_t)ms_unzigzag(ms_get_number(x, MS_COL_START));
    e->start = x->model.start;
    e->cost = ms_get_number(x, MS_COL_COST);
}

// Appends an event and returns the index of its signature. The order in which the fields are
// handled is part of the format.
MS_INLINE uint64_t ms_columns_put(struct ms_encoder *x, const struct ms_event *e)
{
    unsigned fields = ms_kind_fields(e->kind);
    uint64_t marks = 0;
    if (fields & MS_F_SIZE)
        ms_put_number(x, MS_COL_SIZE, e->size, false);
    if (fields & MS_F_USABLE)
        marks = ms_columns_put_usable(x, e, fields);
    if (MS_UNLIKELY(fields & MS_F_AUX))
        marks |= ms_columns_put_aux(x, e, fields);
    if (fields & MS_F_PTR)
        marks |= ms_columns_put_ptr(x, e);
    if (e->attr & MS_ATTR_TIMED)
        ms_columns_put_time(x, e);
    uint64_t index = ms_encoder_signature(
            x, e, fields & MS_F_CALLER ? e->caller : 0, ms_signature_word(e, fields, marks));
    x->number[MS_COL_SIGNATURE][x->count[MS_COL_SIGNATURE]++] = (uint32_t)index + MS_RUNS;
    x->events++;
    return index;
}

// Appends `length` events that repeat those before them, of which there are at least a period.
static inline void ms_columns_put_run(struct ms_encoder *x, unsigned period, uint32_t length)
{
    ms_put_number(x, MS_COL_SIGNATURE, period == 2 ? 0 : 1, false);
    ms_put_number(x, MS_COL_RUN, length, false);
    x->events += length;
}

// The next event of the run under way.
static inline void ms_columns_get_repeated(struct ms_decoder *x, struct ms_event *e)
{
    uint64_t from = (x->decoded - x->run_period) % MS_RUN_PERIOD;
    *e = x->history[from];
    x->last_signature = x->history_signature[from];
    x->run_left--;
}

static inline bool ms_columns_begin_run(struct ms_decoder *x, uint64_t signature)
{
    x->run_period = ms_run_period(signature);
    x->run_left = ms_get_number(x, MS_COL_RUN);
    return x->run_left != 0 && x->decoded >= x->run_period;
}

MS_INLINE bool ms_columns_get_coded(struct ms_decoder *x, struct ms_event *e, uint64_t index)
{
    memset(e, 0, sizeof *e);
    if (MS_UNLIKELY(index >= x->signature_count))
        return false;
    const struct ms_signature *s = &x->signatures[index];
    unsigned fields = ms_kind_fields(s->kind);
    x->last_signature = index;
    e->kind = s->kind;
    e->attr = s->attr;
    e->align_log2 = s->align_log2;
    e->weight_log2 = s->weight_log2;
    e->caller = s->caller;
    if (fields & MS_F_SIZE)
        e->size = ms_get_number(x, MS_COL_SIZE);
    if (fields & MS_F_USABLE)
        ms_columns_get_usable(x, e, fields, s->marks);
    if (fields & MS_F_AUX)
        ms_columns_get_aux(x, e, fields, s->marks);
    if (fields & MS_F_PTR)
        ms_columns_get_ptr(x, e, s->marks);
    if (e->attr & MS_ATTR_TIMED)
        ms_columns_get_time(x, e);
    return true;
}

// Reads the next event. Returns false when the block is malformed.
MS_INLINE bool ms_columns_get(struct ms_decoder *x, struct ms_event *e)
{
    if (x->run_left == 0) {
        uint64_t signature = ms_get_number(x, MS_COL_SIGNATURE);
        if (MS_LIKELY(signature >= MS_RUNS)) {
            if (!ms_columns_get_coded(x, e, signature - MS_RUNS))
                return false;
        } else if (!ms_columns_begin_run(x, signature)) {
            return false;
        }
    }
    if (x->run_left != 0)
        ms_columns_get_repeated(x, e);
    x->history[x->decoded % MS_RUN_PERIOD] = *e;
    x->history_signature[x->decoded % MS_RUN_PERIOD] = x->last_signature;
    x->decoded++;
    return true;
}

// Whether any value was malformed or missing. After the last event, run_left must be 0 as well.
static inline bool ms_decoder_bad(const struct ms_decoder *x)
{
    return x->bad || x->wide.bad;
}

// Bytes that the widest of `count` numbers needs.
static inline unsigned ms_numbers_width(const uint32_t *numbers, uint32_t count)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all |= numbers[i];
    return all == 0 ? (count != 0) : (39u - (unsigned)__builtin_clz(all)) / 8;
}

// A number column: the width, then so many planes. A plane of bytes of one rank compresses better
// than mixed bytes do.
static inline void ms_numbers_put(struct ms_writer *out, const uint32_t *numbers, uint32_t count)
{
    unsigned width = ms_numbers_width(numbers, count);
    ms_put_varint(out, 1 + (uint64_t)width * count);
    ms_put_u8(out, (uint8_t)width);
    if ((uint64_t)(out->end - out->at) < (uint64_t)width * count)
        out->full = true;
    for (unsigned k = 0; k < width && !out->full; k++) {
        uint8_t *plane = out->at;
        for (uint32_t i = 0; i < count; i++)
            plane[i] = (uint8_t)(numbers[i] >> 8 * k);
        out->at += count;
    }
}

static inline bool ms_numbers_get(struct ms_cursor section, struct ms_numbers *n)
{
    n->width = ms_get_u8(&section);
    uint64_t size = (uint64_t)(section.end - section.at);
    n->plane = section.at;
    n->next = 0;
    n->count = n->width == 0 ? 0 : size / n->width;
    return !section.bad && n->width <= 4 && n->count * n->width == size;
}

// The payload of a sealed block before compression: the number of events, the base, the number of
// columns, each column's size and bytes. The counters' size and bytes follow. `wide` and
// `dictionary` are the writers as they were before the first event.
static inline void ms_columns_finish(const struct ms_encoder *x, const uint8_t *wide,
        const uint8_t *dictionary, uint64_t base, struct ms_writer *out)
{
    ms_put_varint(out, x->events);
    ms_put_varint(out, base);
    ms_put_varint(out, MS_COLUMNS);
    for (unsigned i = 0; i < MS_NUMBER_COLUMNS; i++)
        ms_numbers_put(out, x->number[i], x->count[i]);
    ms_put_varint(out, (uint64_t)(x->wide.at - wide));
    ms_put_bytes(out, wide, (size_t)(x->wide.at - wide));
    ms_put_varint(out, (uint64_t)(x->dictionary.at - dictionary));
    ms_put_bytes(out, dictionary, (size_t)(x->dictionary.at - dictionary));
    out->full |= x->wide.full | x->dictionary.full;
}

// Opens a payload. `signatures` has room for `capacity` entries, the most events a block can have.
// Returns the number of events, and leaves *in at the counters; the cursor is bad on malformed
// input, the number then 0.
static inline uint64_t ms_columns_open(struct ms_decoder *x, struct ms_cursor *in,
        struct ms_signature *signatures, uint64_t capacity)
{
    uint64_t events = ms_get_varint(in);
    uint64_t base = ms_get_varint(in);
    uint64_t columns = ms_get_varint(in);
    struct ms_cursor dictionary = {NULL, NULL, false};
    memset(x, 0, offsetof(struct ms_decoder, bad));
    ms_model_reset(&x->model, base);
    x->bad = false;
    x->signatures = signatures;
    in->bad |= events > capacity;
    for (uint64_t i = 0; i < columns && !in->bad; i++) {
        struct ms_cursor section = ms_get_section(in, ms_get_varint(in));
        if (i < MS_NUMBER_COLUMNS && !in->bad)
            in->bad |= !ms_numbers_get(section, &x->numbers[i]);
        else if (i == MS_COL_WIDE)
            x->wide = section;
        else if (i == MS_COL_SIGNATURES)
            dictionary = section;
    }
    uint64_t last_caller = 0;
    while (!in->bad && dictionary.at < dictionary.end) {
        if (x->signature_count == events ||
                !ms_signature_get(&dictionary, &signatures[x->signature_count], &last_caller))
            in->bad = true;
        else
            x->signature_count++;
    }
    return in->bad ? 0 : events;
}

#endif
