// SPDX-License-Identifier: MIT
// The judgement by which path glibc served a call, on chunks, a break and thread heaps of the
// test's own.
#define _GNU_SOURCE
#include "check.h"

#include <path.h>

#include <string.h>
#include <sys/mman.h>

#define HEAP_SIZE (UINT64_C(1) << MS_HEAP_SHIFT)

// A chunk: the word before the block holds its size and flags.
static uint64_t chunk[2];
#define BLOCK (&chunk[1])

static _Alignas(16) char main_heap[4096];
static void *the_break;

static int begin(void **state)
{
    (void)state;
    memset(&ms_path, 0, sizeof ms_path);
    the_break = main_heap + 1024;
    ms_path.glibc = true;
    ms_path.heaps = true;
    ms_path.brk = &the_break;
    ms_path.heap_begin = (uintptr_t)main_heap;
    ms_path_sync_brk();
    return 0;
}

// A block in the main heap.
static uint64_t *in_main(size_t at, uint64_t size_word)
{
    uint64_t *words = (uint64_t *)(void *)(main_heap + at);
    words[-1] = size_word;
    return words;
}

static void sizes(void **state)
{
    (void)state;
    assert_int_equal(ms_path_usable(33), 24);
    assert_int_equal(ms_path_usable(33 | MS_CHUNK_NON_MAIN), 24);
    assert_int_equal(ms_path_usable(4096 | MS_CHUNK_MMAPPED), 4080);
    static const size_t bins[][2] = {
            {0, 0}, {24, 0}, {25, 1}, {40, 1}, {41, 2}, {1032, 63}, {1033, 64}};
    for (unsigned i = 0; i < sizeof bins / sizeof *bins; i++)
        assert_int_equal(ms_path_bin(bins[i][0]), bins[i][1]);
    assert_int_equal(ms_path_chunk_bin(32), 0);
    assert_int_equal(ms_path_chunk_bin(1040), 63);
    assert_true(ms_path_chunk_bin(16) >= MS_BINS);
}

// Heads and counts of a cache laid out as the probe found it; counts of pushes, or of places left.
static void cache(void **state)
{
    (void)state;
    struct {
        uint16_t counts[MS_BINS];
        void *entries[MS_BINS];
    } layout = {{0}, {0}};
    const char *at = (const char *)&layout;
    ms_path.counts = 0;
    ms_path.entries = (uint32_t)offsetof(__typeof__(layout), entries);
    layout.entries[3] = BLOCK;
    assert_ptr_equal(ms_path_head(at, 3), BLOCK);
    assert_null(ms_path_head(at, 4));
    assert_null(ms_path_head(at, MS_BINS));
    assert_null(ms_path_head(NULL, 3));
    ms_path.count_step = 1;
    ms_path.count_limit = 7;
    layout.counts[3] = 6;
    assert_true(ms_path_has_room(at, 3));
    layout.counts[3] = 7;
    assert_false(ms_path_has_room(at, 3));
    assert_false(ms_path_has_room(NULL, 3));
    assert_false(ms_path_has_room(at, MS_BINS));
    ms_path.count_step = -1;
    assert_true(ms_path_has_room(at, 3));
    layout.counts[3] = 0;
    assert_false(ms_path_has_room(at, 3));
}

// Whoever comes first is charged for the growth; those who come after are not.
static void growth_of_the_main_heap(void **state)
{
    (void)state;
    uint64_t *block = in_main(512, 33);
    assert_int_equal(ms_path_of_alloc(block), MS_ALLOC_ARENA);
    the_break = main_heap + 2048;
    assert_int_equal(ms_path_of_alloc(block), MS_ALLOC_BRK);
    assert_int_equal(ms_path_of_alloc(block), MS_ALLOC_ARENA);
    the_break = main_heap + 3072;
    ms_path_sync_brk(); // by the program itself
    assert_int_equal(ms_path_of_alloc(block), MS_ALLOC_ARENA);
    // The main arena goes on in a mapping where the break could not grow.
    assert_int_equal(ms_path_of_alloc(in_main(3504, 33)), MS_ALLOC_UNKNOWN);
    ms_path.brk = NULL;
    assert_int_equal(ms_path_of_alloc(block), MS_ALLOC_UNKNOWN);
}

static void mappings_and_others(void **state)
{
    (void)state;
    chunk[0] = 4096 | MS_CHUNK_MMAPPED;
    assert_int_equal(ms_path_of_alloc(BLOCK), MS_ALLOC_MMAP);
    ms_path.large_tcache = true;
    assert_int_equal(ms_path_of_alloc(in_main(512, 1040 | 1)), MS_ALLOC_ARENA);
    assert_int_equal(ms_path_of_alloc(in_main(512, 1056 | 1)), MS_ALLOC_UNKNOWN);
    ms_path.glibc = false;
    assert_int_equal(ms_path_of_alloc(BLOCK), MS_ALLOC_UNKNOWN);
}

static void realloc_of_a_mapping(void **state)
{
    (void)state;
    chunk[0] = 8192 | MS_CHUNK_MMAPPED;
    struct ms_path_old old = {BLOCK, 8192 | MS_CHUNK_MMAPPED};
    assert_int_equal(ms_path_of_realloc(&old, BLOCK), MS_ALLOC_ARENA); // it had room
    old.size_word = 4096 | MS_CHUNK_MMAPPED;
    assert_int_equal(ms_path_of_realloc(&old, BLOCK), MS_ALLOC_MREMAP);
    old.size_word = 33;
    assert_int_equal(ms_path_of_realloc(&old, BLOCK), MS_ALLOC_MMAP);
    old.block = NULL;
    assert_int_equal(ms_path_of_realloc(&old, BLOCK), MS_ALLOC_MMAP);
}

static void frees_in_the_main_heap(void **state)
{
    (void)state;
    struct ms_path_free f;
    uint64_t *block = in_main(512, 33);
    ms_path_before_free(&f, block);
    assert_int_equal(ms_path_after_free(&f), MS_FREE_ARENA);
    ms_path_before_free(&f, block);
    the_break = main_heap + 512;
    assert_int_equal(ms_path_after_free(&f), MS_FREE_TRIM);
    assert_int_equal(ms_path_after_free(&f), MS_FREE_ARENA);
    the_break = main_heap + 256;
    assert_true(ms_path_claim_trim(block));
    assert_false(ms_path_claim_trim(block));
    chunk[0] = 4096 | MS_CHUNK_MMAPPED;
    ms_path_before_free(&f, BLOCK);
    assert_int_equal(ms_path_after_free(&f), MS_FREE_MUNMAP);
}

// heap_info and malloc_state at the beginning of a thread's first heap, as far as they are read.
struct heap {
    uint64_t arena;
    uint64_t previous;
    uint64_t size;
    uint64_t mprotect_size;
    uint64_t state[300]; // the arena
};

static struct heap *heap_make(void)
{
    char *map = mmap(NULL, 2 * HEAP_SIZE, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(map != MAP_FAILED);
    struct heap *heap =
            (struct heap *)(void *)(map + (HEAP_SIZE - (uintptr_t)map % HEAP_SIZE) % HEAP_SIZE);
    heap->arena = (uint64_t)(uintptr_t)heap->state;
    heap->size = heap->mprotect_size = 135168;
    heap->state[280] = heap->state[281] = 135168; // system_mem and max_system_mem
    return heap;
}

static void thread_heap(void **state)
{
    (void)state;
    struct heap *heap = heap_make();
    struct ms_path_free f;
    uint64_t *block = (uint64_t *)(void *)((char *)heap + 8192);
    block[-1] = 33 | MS_CHUNK_NON_MAIN;
    assert_int_equal(ms_path_of_alloc(block), MS_ALLOC_HEAP); // it is new
    assert_int_equal(ms_path_of_alloc(block), MS_ALLOC_ARENA);
    heap->mprotect_size = heap->size = heap->state[280] = heap->state[281] = 200704;
    assert_int_equal(ms_path_of_alloc(block), MS_ALLOC_HEAP);
    assert_int_equal(ms_path_of_alloc(block), MS_ALLOC_ARENA);
    ms_path_before_free(&f, block);
    assert_int_equal(ms_path_after_free(&f), MS_FREE_ARENA);
    ms_path_before_free(&f, block);
    heap->size = heap->state[280] = 135168;
    assert_int_equal(ms_path_after_free(&f), MS_FREE_TRIM);
    ms_path_before_free(&f, block);
    assert_int_equal(ms_path_after_free(&f), MS_FREE_ARENA);
    ms_path.heaps = false;
    assert_int_equal(ms_path_of_alloc(block), MS_ALLOC_UNKNOWN);
    ms_path_before_free(&f, block);
    assert_int_equal(ms_path_after_free(&f), MS_FREE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup(sizes, begin),
            cmocka_unit_test_setup(cache, begin),
            cmocka_unit_test_setup(growth_of_the_main_heap, begin),
            cmocka_unit_test_setup(mappings_and_others, begin),
            cmocka_unit_test_setup(realloc_of_a_mapping, begin),
            cmocka_unit_test_setup(frees_in_the_main_heap, begin),
            cmocka_unit_test_setup(thread_heap, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
