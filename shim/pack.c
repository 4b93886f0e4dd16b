// SPDX-License-Identifier: MIT
// Owns the workspaces: memory for the columns, the raw payload, the frame and zstd's context. A
// process has a pool of them, each with a flag that is taken by compare-and-swap: most processes
// need one, as many as threads that seal at the same moment are made. Context: any thread, signals
// blocked; makes a system call only to map a workspace.
#define ZSTD_STATIC_LINKING_ONLY
#include "pack.h"

#include "sys.h"

#include <memspy/counters.h>
#include <sys/mman.h>
#include <zstd.h>

// The columns do the modelling, and what is left in them is noise or repetition. The negative
// levels have no entropy stage for literals; -6 makes traces 6 % larger than -1 and a fifth larger
// than 1, and halves what is left of the time.
#define LEVEL (-6)

#define WIDE_SIZE       ((size_t)MS_LIVE_SLOTS * MS_WIDE_EVENT)
#define DICTIONARY_SIZE ((size_t)MS_LIVE_SLOTS * MS_SIGNATURE_EVENT + MS_VARINT_MAX)
#define RAW_SIZE                                                                                   \
    ((size_t)MS_LIVE_SLOTS * MS_NUMBER_COLUMNS * sizeof(uint32_t) + WIDE_SIZE + DICTIONARY_SIZE +  \
            MS_COUNTERS_MAX + 64 * MS_VARINT_MAX)
#define FRAME_SIZE ZSTD_COMPRESSBOUND(RAW_SIZE)
// ZSTD_estimateCCtxSize(1) is about 580 KiB with zstd 1.5.4 for input of any size; only what the
// real, small input needs is ever touched.
#define CONTEXT_SIZE (1u << 20)

struct ms_pack {
    uint32_t taken; // atomic
    ZSTD_CCtx *context;
    struct ms_encoder encoder;
    uint8_t wide[WIDE_SIZE];
    uint8_t dictionary[DICTIONARY_SIZE];
    uint8_t raw[RAW_SIZE];
    struct ms_block block; // the frame follows it, as in the file
    uint8_t frame[FRAME_SIZE];
    _Alignas(64) uint8_t memory[CONTEXT_SIZE];
};

_Static_assert(offsetof(struct ms_pack, frame) ==
                       offsetof(struct ms_pack, block) + sizeof(struct ms_block),
        "one write takes both");
_Static_assert(MS_LIVE_SLOTS <= MS_ENCODER_EVENTS, "see columns.h");
_Static_assert(RAW_SIZE >= MS_PACK_RAW, "ms_pack_raw");
_Static_assert(FRAME_SIZE >= MS_PACK_SCRATCH, "ms_pack_scratch");

#define POOL 256
static MS_AFTER_FORK struct ms_pack *pool[POOL]; // each set once, by compare-and-swap

static bool take(struct ms_pack *pack)
{
    uint32_t expected = 0;
    return __atomic_compare_exchange_n(
            &pack->taken, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static struct ms_pack *make(void)
{
    struct ms_pack *pack = ms_sys_map(sizeof *pack);
    if (pack == NULL)
        return NULL;
    // A child makes its own: what would be copied to it here, page table by page table and then
    // page by page, costs a fork more than many a small program's own memory does.
    ms_sys_advise(pack, sizeof *pack, MADV_DONTFORK);
    pack->taken = 1;
    pack->context = ZSTD_initStaticCCtx(pack->memory, CONTEXT_SIZE);
    if (pack->context == NULL) {
        ms_sys_unmap(pack, sizeof *pack);
        return NULL;
    }
    // A static context begins with all parameters 0, not with their defaults (zstd 1.5.4).
    ZSTD_CCtx_reset(pack->context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(pack->context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(pack->context, ZSTD_c_checksumFlag, 1);
    return pack;
}

struct ms_pack *ms_pack_take(void)
{
    struct ms_pack *made = NULL;
    for (unsigned i = 0; i < POOL; i++) {
        struct ms_pack *pack = __atomic_load_n(&pool[i], __ATOMIC_ACQUIRE);
        if (pack == NULL && made == NULL && (made = make()) == NULL)
            return NULL;
        if (pack == NULL && __atomic_compare_exchange_n(&pool[i], &pack, made, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return made;
        if (take(pack)) {
            if (made != NULL)
                ms_sys_unmap(made, sizeof *made);
            return pack;
        }
    }
    return made;
}

void ms_pack_give(struct ms_pack *pack)
{
    for (unsigned i = 0; i < POOL; i++) {
        if (__atomic_load_n(&pool[i], __ATOMIC_RELAXED) == pack) {
            __atomic_store_n(&pack->taken, 0, __ATOMIC_RELEASE);
            return;
        }
    }
    ms_sys_unmap(pack, sizeof *pack); // one beyond the pool
}

void ms_pack_after_fork(void)
{
    for (unsigned i = 0; i < POOL && pool[i] != NULL; i++)
        pool[i] = NULL;
}

struct ms_encoder *ms_pack_encoder(struct ms_pack *pack, uint64_t base)
{
    struct ms_encoder *x = &pack->encoder;
    x->wide = (struct ms_writer){pack->wide, pack->wide + WIDE_SIZE, false};
    x->dictionary = (struct ms_writer){pack->dictionary, pack->dictionary + DICTIONARY_SIZE, false};
    ms_encoder_reset(x, base);
    return x;
}

static struct ms_block *compress(struct ms_pack *pack, size_t size)
{
    size_t done = ZSTD_compress2(pack->context, pack->frame, FRAME_SIZE, pack->raw, size);
    if (ZSTD_isError(done))
        return NULL;
    pack->block = (struct ms_block){.stored_size = (uint32_t)done, .raw_size = (uint32_t)size};
    return &pack->block;
}

struct ms_block *ms_pack_columns(
        struct ms_pack *pack, uint64_t base, const struct ms_counters *counters)
{
    // The counters' size comes before them, so they are encoded where the frame will be.
    struct ms_writer counts = {pack->frame, pack->frame + FRAME_SIZE, false};
    struct ms_writer out = {pack->raw, pack->raw + RAW_SIZE, false};
    ms_counters_encode(&counts, counters);
    ms_columns_finish(&pack->encoder, pack->wide, pack->dictionary, base, &out);
    ms_put_varint(&out, (uint64_t)(counts.at - pack->frame));
    ms_put_bytes(&out, pack->frame, (size_t)(counts.at - pack->frame));
    if (out.full || counts.full)
        return NULL;
    return compress(pack, (size_t)(out.at - pack->raw));
}

uint8_t *ms_pack_raw(struct ms_pack *pack)
{
    return pack->raw;
}

char *ms_pack_scratch(struct ms_pack *pack)
{
    return (char *)pack->frame;
}

struct ms_block *ms_pack_bytes(struct ms_pack *pack, size_t size)
{
    return compress(pack, size);
}
