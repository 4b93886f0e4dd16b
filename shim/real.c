// SPDX-License-Identifier: MIT
// Owns the table of real functions and the bootstrap pool, and makes the only calls of dlsym.
//
// dlsym may call malloc, calloc and free (its error buffer), and other preloaded libraries may call
// us before any constructor ran. While the table is not ready the pool serves: a bump allocator
// over static memory, safe in threads by compare-and-swap, each block with its size before it so
// that realloc can copy it out. Context: any thread, before start; never in a signal handler first.
#define _GNU_SOURCE
#include "real.h"

#include <dlfcn.h>

struct ms_real ms_real;
bool ms_real_known;
uint64_t ms_boot_calls;

static bool looking;

// Weak: other libcs have no such function.
const char *gnu_get_libc_version(void) __attribute__((weak));

// n of glibc 2.n; 0 for any other libc.
static unsigned glibc_minor(void)
{
    if (gnu_get_libc_version == NULL)
        return 0;
    const char *version = gnu_get_libc_version();
    unsigned minor = 0;
    if (version[0] != '2' || version[1] != '.')
        return 0;
    for (version += 2; *version >= '0' && *version <= '9'; version++)
        minor = minor * 10 + (unsigned)(*version - '0');
    return minor;
}

bool ms_real_is_glibc(void)
{
    return gnu_get_libc_version != NULL;
}

static void look_up(void)
{
#define LOOK_UP(result, name, parameters)                                                          \
    ms_real.name = (__typeof__(ms_real.name))(uintptr_t)dlsym(RTLD_NEXT, #name);
    MS_REAL_FUNCTIONS(LOOK_UP)
    unsigned minor = glibc_minor();
    if (minor >= 39) {
        MS_REAL_SINCE_239(LOOK_UP)
    }
    if (minor >= 43) {
        MS_REAL_SINCE_243(LOOK_UP)
    }
#undef LOOK_UP
}

bool ms_real_init(void)
{
    if (ms_real_ready())
        return true;
    bool expected = false;
    if (!__atomic_compare_exchange_n(
                &looking, &expected, true, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    look_up();
    bool found = ms_real.malloc != NULL && ms_real.free != NULL && ms_real.calloc != NULL &&
                 ms_real.realloc != NULL;
    __atomic_store_n(&ms_real_known, found, __ATOMIC_RELEASE);
    __atomic_store_n(&looking, false, __ATOMIC_RELEASE);
    return found;
}

void *ms_real_symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

// Makes the word before a block look to free like glibc's of a chunk with its own mapping
// (MS_CHUNK_MMAPPED), which the thread cache never takes.
#define MAPPED 2u

_Alignas(64) char ms_boot_pool[MS_BOOT_SIZE];
static size_t pool_used;

void *ms_boot_alloc(size_t size, size_t align)
{
    const size_t unit = 16;
    if (size > MS_BOOT_SIZE || align > MS_BOOT_SIZE)
        return NULL;
    if (align < unit)
        align = unit;
    size_t room = ms_align_up(size, unit) + unit + (align - unit);
    size_t at = __atomic_load_n(&pool_used, __ATOMIC_RELAXED);
    do {
        if (room > MS_BOOT_SIZE - at)
            return NULL;
    } while (!__atomic_compare_exchange_n(
            &pool_used, &at, at + room, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    char *block = (char *)(uintptr_t)ms_align_up((uintptr_t)ms_boot_pool + at + unit, align);
    uint64_t word = (uint64_t)size << 4 | MAPPED;
    memcpy(block - sizeof word, &word, sizeof word);
    return block;
}

size_t ms_boot_size(const void *block)
{
    uint64_t word;
    memcpy(&word, (const char *)block - sizeof word, sizeof word);
    return (size_t)(word >> 4);
}
