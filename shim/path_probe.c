// SPDX-License-Identifier: MIT
// Finds out, at start, what kind of malloc serves this process and where glibc keeps what path.h
// reads. The layout of the thread cache is not assumed but looked for: two blocks of one size are
// freed, and the slot of libc's thread-local segment is searched whose target, a plausible chunk,
// now holds the second block's address. A block taken and given back again then confirms the place
// and shows the bin's count. What is not found stays off.
//
// Context: start, one thread, all signals blocked. Calls the real malloc and free, dladdr and
// dl_iterate_phdr.
#define _GNU_SOURCE
#include "path.h"
#include "proc.h"
#include "real.h"

#include <dlfcn.h>
#include <link.h>

// 1000 bytes, chunks of 1008: a size that programs rarely ask for, because the probe's two blocks
// stay in the cache.
#define PROBE_SIZE 1000
#define PROBE_BIN  61

static char libc_name[32] = "unknown";
static char allocator_name[512] = "unknown";

const char *ms_path_libc(void)
{
    return libc_name;
}

const char *ms_path_allocator(void)
{
    return allocator_name;
}

struct segment {
    const void *address; // inside the object looked for
    char *tls;           // its thread-local block in this thread
    size_t size;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *context)
{
    struct segment *s = context;
    bool ours = false;
    size_t tls_size = 0;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD)
            ours |= (uintptr_t)s->address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz;
        if (p->p_type == PT_TLS)
            tls_size = p->p_memsz;
    }
    if (!ours)
        return 0;
    s->tls = info->dlpi_tls_data;
    s->size = info->dlpi_tls_data != NULL ? tls_size : 0;
    return 1;
}

// Whether `block` could be a chunk of the arena that serves this thread: inside the main heap, or
// in the thread heap that holds the probe's blocks. Only such an address may be looked at.
static bool is_in_heap(const char *block, const char *probe)
{
    uintptr_t at = (uintptr_t)block, end = (uintptr_t)*ms_path.brk;
    if (ms_path_size_word(probe) & MS_CHUNK_NON_MAIN)
        return at >> MS_HEAP_SHIFT == (uintptr_t)probe >> MS_HEAP_SHIFT && at < (uintptr_t)probe;
    return at >= ms_path.heap_begin + 2 * sizeof(uint64_t) && at < end;
}

// A chunk that could be a thread cache: aligned, and with a size word that fits one.
static bool is_plausible(const char *cache, const char *probe)
{
    if (((uintptr_t)cache & 15) != 0 || cache == probe || !is_in_heap(cache, probe))
        return false;
    uint64_t size = ms_path_size_word(cache) & ~UINT64_C(7);
    return size >= 0x200 && size <= 0x2000 && is_in_heap(cache + size - 16, probe);
}

// The offset in `cache` of a word that holds `block`, 0 when there is none or more than one.
static uint32_t find_word(const char *cache, const void *block)
{
    uint64_t size = ms_path_usable(ms_path_size_word(cache));
    uint32_t found = 0;
    for (uint32_t at = 0; at + sizeof(void *) <= size; at += (uint32_t)sizeof(void *)) {
        if (*(void *const *)(cache + at) != block)
            continue;
        if (found != 0)
            return 0;
        found = at;
    }
    return found;
}

// Takes the head of the probe's bin and gives it back. Whether the head moved as it must and one
// 16-bit word before the entries, the bin's count, moved by one both times.
static bool confirm(const char *cache, void *head)
{
    uint16_t before[256];
    size_t words = ms_path.entries / sizeof *before;
    const volatile uint16_t *now = (const volatile uint16_t *)cache;
    uint32_t changed = 0, count_at = 0;
    if (words > 256)
        return false;
    for (size_t i = 0; i < words; i++)
        before[i] = now[i];
    void *block = ms_real.malloc(PROBE_SIZE);
    for (uint32_t i = 0; i < words; i++) {
        if (now[i] != before[i]) {
            changed++;
            count_at = i;
        }
    }
    int step = (int)before[count_at] - (int)now[count_at];
    bool moved = block == head && ms_path_head(cache, PROBE_BIN) != head;
    ms_real.free(block);
    ms_path.counts = (count_at - PROBE_BIN) * (uint32_t)sizeof *before;
    ms_path.count_step = (int8_t)step;
    return moved && changed == 1 && (step == 1 || step == -1) && count_at >= PROBE_BIN &&
           ms_path_head(cache, PROBE_BIN) == head && now[count_at] == before[count_at];
}

static bool try_slot(char *slot, void *head)
{
    const char *cache = *(char **)slot;
    if (!is_plausible(cache, head))
        return false;
    uint32_t at = find_word(cache, head);
    if (at < PROBE_BIN * sizeof(void *))
        return false;
    ms_path.slot = slot - ms_sys_thread_pointer();
    ms_path.entries = at - PROBE_BIN * (uint32_t)sizeof(void *);
    return confirm(cache, head);
}

static void probe_cache(void)
{
    struct segment libc = {(const void *)(uintptr_t)ms_real.malloc, NULL, 0};
    dl_iterate_phdr(find_segment, &libc);
    void *first = ms_real.malloc(PROBE_SIZE);
    void *head = ms_real.malloc(PROBE_SIZE);
    ms_real.free(first);
    ms_real.free(head);
    // The default limit of glibc up to 2.43, 7, rises when a fuller bin is seen to take a block.
    ms_path.count_limit = 7;
    for (size_t at = 0; first != NULL && head != NULL && at + sizeof(void *) <= libc.size;
            at += sizeof(void *)) {
        if (try_slot(libc.tls + at, head)) {
            ms_path.tcache = true;
            return;
        }
    }
}

// Where this library begins and ends: names of the linker's.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static void find_libc(void)
{
    const char *(*version)(void) =
            (const char *(*)(void))(uintptr_t)ms_real_symbol("gnu_get_libc_version");
    Dl_info of_malloc, of_libc, of_usable;
    if (dladdr((void *)(uintptr_t)ms_real.malloc, &of_malloc) != 0)
        ms_sys_append((allocator_name[0] = '\0', allocator_name), sizeof allocator_name,
                of_malloc.dli_fname);
    // An allocator without one would get libc's, which takes the block for glibc's.
    if (ms_real.malloc_usable_size != NULL &&
            dladdr((void *)(uintptr_t)ms_real.malloc_usable_size, &of_usable) != 0 &&
            of_usable.dli_fbase == of_malloc.dli_fbase)
        ms_path.usable = ms_real.malloc_usable_size;
    if (version == NULL)
        return;
    libc_name[0] = '\0';
    ms_sys_append(libc_name, sizeof libc_name, "glibc ");
    ms_sys_append(libc_name, sizeof libc_name, version());
    ms_path.glibc = dladdr((void *)(uintptr_t)version, &of_libc) != 0 &&
                    of_libc.dli_fbase == of_malloc.dli_fbase;
}

bool ms_path_finds_other_malloc(void)
{
    uintptr_t found = (uintptr_t)ms_real_symbol("malloc");
    return found - (uintptr_t)__ehdr_start >= (uintptr_t)(_end - __ehdr_start);
}

void ms_path_init(bool large_tcache, bool heaps)
{
    find_libc();
    if (!ms_path.glibc)
        return;
    ms_path.large_tcache = large_tcache;
    ms_path.heaps = heaps;
    ms_path.brk = ms_real_symbol("__curbrk");
    ms_path.heap_begin = ms_proc_heap_begin();
    if (ms_path.brk != NULL && ms_path.heap_begin != 0)
        probe_cache();
    ms_path_sync_brk();
}
