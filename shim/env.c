// SPDX-License-Identifier: MIT
// Owns the strings that a child's environment gets. An existing LD_PRELOAD is kept, ours added in
// front where it is missing. Context: ms_env_install and ms_env_set_index when a process begins;
// the rest anywhere, vfork children included: only reads, and writes to the caller's array.
#define _GNU_SOURCE
#include "env.h"

#include "conf.h"
#include "sys.h"

#include <link.h>
#include <memspy/env.h>
#include <sys/auxv.h>
#include <unistd.h>

static char trace_entry[MS_PATH_MAX + 128];
static char library[MS_PATH_MAX];            // the shim's own absolute path
static char preload_entry[MS_PATH_MAX + 16]; // LD_PRELOAD with the shim alone
static const char preload_name[] = "LD_PRELOAD=";
// Where the index stands in MEMSPY_TRACE's value, and its digits: see sink.h.
#define INDEX_AT     33
#define INDEX_DIGITS 8

static bool follows; // programs that are started join the trace

static bool has_name(const char *entry, const char *name)
{
    size_t length = ms_sys_length(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

// Whether a list as LD_PRELOAD has it, separated by blanks or colons, names the shim.
static bool lists_library(const char *list)
{
    size_t length = ms_sys_length(library);
    for (const char *at = list; *at != '\0'; at++) {
        bool begins = at == list || at[-1] == ' ' || at[-1] == ':';
        if (begins && strncmp(at, library, length) == 0 &&
                (at[length] == '\0' || at[length] == ' ' || at[length] == ':'))
            return true;
    }
    return false;
}

static bool is_basename_of_library(const char *name, size_t length)
{
    const char *base = library + ms_sys_length(library);
    while (base > library && base[-1] != '/')
        base--;
    while (length > 0 && memchr(name, '/', length) != NULL) {
        const char *slash = memchr(name, '/', length);
        length -= (size_t)(slash + 1 - name);
        name = slash + 1;
    }
    return length == ms_sys_length(base) && memcmp(name, base, length) == 0;
}

// Bytes that LD_PRELOAD with the shim in front of the old list may take.
static size_t joined_size(const char *old)
{
    return ms_sys_length(preload_entry) + 1 + ms_sys_length(old) + 1;
}

// Appends the old list, without what names the shim, to the `used` bytes of text, each entry after
// a colon but for the first of all. Returns the bytes used then.
static size_t append_others(char *text, size_t used, const char *old)
{
    while (*old != '\0') {
        size_t length = strcspn(old, " :");
        if (length != 0 && !is_basename_of_library(old, length)) {
            if (text[used - 1] != '=')
                text[used++] = ':';
            memcpy(text + used, old, length);
            used += length;
        }
        old += length;
        old += *old != '\0';
    }
    text[used] = '\0';
    return used;
}

// LD_PRELOAD with the shim's path, then the old list without what names the shim relative to some
// directory, which may not be the child's.
static void join(char *text, const char *old)
{
    size_t used = ms_sys_length(preload_entry);
    memcpy(text, preload_entry, used);
    append_others(text, used, old);
}

// Whether a list names the shim in any directory.
static bool names_library(const char *list)
{
    while (*list != '\0') {
        size_t length = strcspn(list, " :");
        if (length != 0 && is_basename_of_library(list, length))
            return true;
        list += length;
        list += *list != '\0';
    }
    return false;
}

// Not by dladdr, which goes through all symbols.
static int note_library(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    (void)context;
    uintptr_t at = (uintptr_t)note_library - object->dlpi_addr;
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || at - segment->p_vaddr >= segment->p_memsz)
            continue;
        // The program itself has no name in this list.
        const char *name = object->dlpi_name;
        if (name[0] == '\0')
            name = (const char *)getauxval(AT_EXECFN);
        if (name[0] != '/' && ms_sys_directory(library, sizeof library))
            ms_sys_append(library, sizeof library, "/");
        ms_sys_append(library, sizeof library, name);
        return 1;
    }
    return 0;
}

static void find_library(void)
{
    library[0] = '\0';
    dl_iterate_phdr(note_library, NULL);
}

// The shim's own settings, which the programs of a tree share. Copies: a program may write over the
// memory that its environment came in.
static const char *const shared_names[] = {MS_ENV_KERNEL, MS_ENV_TIMING, MS_ENV_ARGV};
#define SHARED (sizeof shared_names / sizeof shared_names[0])
static char shared[SHARED][64];

static void keep_shared(void)
{
    for (size_t i = 0; i < SHARED; i++) {
        const char *value = ms_conf_value(environ, shared_names[i]);
        if (value == NULL || ms_sys_length(value) > 32)
            continue;
        ms_sys_append(shared[i], sizeof shared[i], shared_names[i]);
        ms_sys_append(shared[i], sizeof shared[i], "=");
        ms_sys_append(shared[i], sizeof shared[i], value);
    }
}

// Room for what is added to an environment, and the final NULL.
#define ADDED (2 + SHARED + 1)

static bool needs_shared(char *const *environment)
{
    for (size_t i = 0; i < SHARED; i++)
        if (shared[i][0] != '\0' && ms_conf_value(environment, shared_names[i]) == NULL)
            return true;
    return false;
}

size_t ms_env_repaired_size(char *const *environment, bool follow)
{
    size_t entries = 0, text = 0;
    bool trace = false, preload = false, ours = false;
    if (trace_entry[0] == '\0')
        return 0;
    for (; environment != NULL && environment[entries] != NULL; entries++) {
        const char *entry = environment[entries];
        trace |= strcmp(entry, trace_entry) == 0;
        ours |= has_name(entry, MS_ENV_TRACE);
        if (!has_name(entry, "LD_PRELOAD"))
            continue;
        const char *list = entry + sizeof preload_name - 1;
        preload |= lists_library(list);
        ours |= names_library(list);
        text += joined_size(list);
    }
    bool is_right = follow && follows ? trace && preload && !needs_shared(environment) : !ours;
    return is_right ? 0 : entries + ADDED + 1 + (text + sizeof(char *) - 1) / sizeof(char *);
}

// A copy while it is made: entries from the front, texts from the back.
struct making {
    char **next;
    char *texts;
};

// Adds an entry. What does not fit is left out: then another thread added entries since the size
// was told.
static void add(struct making *m, char *entry)
{
    if ((char *)(m->next + ADDED + 1) <= m->texts)
        *m->next++ = entry;
}

// Room for a text, NULL when there is none.
static char *make_text(struct making *m, size_t size)
{
    if (m->texts - (char *)(m->next + ADDED + 1) < (ptrdiff_t)size)
        return NULL;
    return m->texts -= size;
}

// LD_PRELOAD without the shim; not at all when the shim was all of it.
static void add_without_shim(struct making *m, char *entry)
{
    const char *list = entry + sizeof preload_name - 1;
    char *text = make_text(m, joined_size(list));
    if (text == NULL)
        return;
    memcpy(text, preload_name, sizeof preload_name);
    if (append_others(text, sizeof preload_name - 1, list) != sizeof preload_name - 1)
        add(m, text);
}

static void add_with_shim(struct making *m, char *entry)
{
    const char *list = entry + sizeof preload_name - 1;
    char *text = lists_library(list) ? NULL : make_text(m, joined_size(list));
    if (text != NULL)
        join(text, list);
    add(m, text != NULL ? text : entry);
}

static void add_ours(struct making *m, char *const *environment, bool preload)
{
    if (!preload)
        *m->next++ = preload_entry;
    for (size_t i = 0; i < SHARED; i++)
        if (shared[i][0] != '\0' && ms_conf_value(environment, shared_names[i]) == NULL)
            *m->next++ = shared[i];
    *m->next++ = trace_entry;
}

void ms_env_repair(char *const *environment, bool follow, char **copy, size_t pointers)
{
    struct making m = {copy, (char *)(copy + pointers)};
    bool preload = false;
    follow = follow && follows;
    for (char *const *at = environment; at != NULL && *at != NULL; at++) {
        if (has_name(*at, MS_ENV_TRACE))
            continue;
        bool is_preload = has_name(*at, "LD_PRELOAD");
        preload |= is_preload;
        if (!is_preload)
            add(&m, *at);
        else if (follow)
            add_with_shim(&m, *at);
        else
            add_without_shim(&m, *at);
    }
    if (follow)
        add_ours(&m, environment, preload);
    *m.next = NULL;
}

void ms_env_set_index(uint32_t index)
{
    char *digit = trace_entry + sizeof MS_ENV_TRACE + INDEX_AT + INDEX_DIGITS;
    for (int i = 0; i < INDEX_DIGITS; i++, index >>= 4)
        *--digit = "0123456789abcdef"[index & 15];
}

void ms_env_install(const char *join_value, uint32_t index, bool follow)
{
    follows = follow;
    find_library();
    ms_sys_append(trace_entry, sizeof trace_entry, MS_ENV_TRACE "=");
    ms_sys_append(trace_entry, sizeof trace_entry, join_value);
    if (join_value[0] != '\0')
        ms_env_set_index(index);
    ms_sys_append(preload_entry, sizeof preload_entry, preload_name);
    ms_sys_append(preload_entry, sizeof preload_entry, library);
    keep_shared();
    if (follows && strcspn(library, " :") != ms_sys_length(library)) {
        MS_SAY("LD_PRELOAD cannot name ", library,
                ", which has a blank or a colon; the programs started are not recorded");
        follows = ms_conf.follow = false;
    }
    if (ms_conf_value(environ, "LD_PRELOAD") == NULL)
        return; // loaded some other way, /etc/ld.so.preload for one: children are too
    size_t size = ms_env_repaired_size(environ, true);
    char **copy = size == 0 ? NULL : ms_sys_map(size * sizeof *copy);
    if (copy == NULL)
        return;
    ms_env_repair(environ, true, copy, size);
    environ = copy;
}

const char *ms_env_library(void)
{
    return library;
}

bool ms_env_is_complete(void)
{
    return ms_env_repaired_size(environ, true) == 0;
}
