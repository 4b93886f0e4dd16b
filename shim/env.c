// SPDX-License-Identifier: MIT
// Owns the strings that a child's environment gets. An existing LD_PRELOAD is kept, ours added in
// front where it is missing. Context: ms_env_install at start; the rest anywhere, vfork children
// included: only reads, and writes to the caller's array.
#define _GNU_SOURCE
#include "env.h"

#include "conf.h"
#include "sys.h"

#include <dlfcn.h>
#include <memspy/env.h>
#include <unistd.h>

static char trace_entry[MS_PATH_MAX + 128];
static char library[MS_PATH_MAX]; // the shim's own absolute path
static char preload_entry[2 * MS_PATH_MAX];
static const char preload_name[] = "LD_PRELOAD=";

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

// The shim's path, then the old list without what names the shim relative to some directory.
static void build_preload(const char *old)
{
    memcpy(preload_entry, preload_name, sizeof preload_name);
    ms_sys_append(preload_entry, sizeof preload_entry, library);
    while (old != NULL && *old != '\0') {
        size_t length = strcspn(old, " :");
        if (length != 0 && !is_basename_of_library(old, length)) {
            size_t end = ms_sys_length(preload_entry);
            if (end + length + 2 > sizeof preload_entry)
                return;
            preload_entry[end] = ':';
            memcpy(preload_entry + end + 1, old, length);
            preload_entry[end + 1 + length] = '\0';
        }
        old += length;
        old += *old != '\0';
    }
}

static void find_library(void)
{
    Dl_info info;
    library[0] = '\0';
    if (dladdr((void *)(uintptr_t)ms_env_install, &info) == 0 || info.dli_fname == NULL)
        return;
    if (info.dli_fname[0] != '/' && ms_sys_directory(library, sizeof library))
        ms_sys_append(library, sizeof library, "/");
    ms_sys_append(library, sizeof library, info.dli_fname);
}

size_t ms_env_repaired_size(char *const *environment)
{
    size_t entries = 0;
    bool trace = false, preload = false;
    if (trace_entry[0] == '\0')
        return 0;
    for (; environment != NULL && environment[entries] != NULL; entries++) {
        const char *entry = environment[entries];
        trace |= strcmp(entry, trace_entry) == 0;
        preload |= has_name(entry, "LD_PRELOAD") && lists_library(entry + sizeof preload_name - 1);
    }
    return trace && preload ? 0 : entries + 3;
}

void ms_env_repair(char *const *environment, char **copy)
{
    size_t used = 0;
    bool preload = false;
    for (; environment != NULL && *environment != NULL; environment++) {
        char *entry = *environment;
        if (has_name(entry, MS_ENV_TRACE))
            continue;
        if (has_name(entry, "LD_PRELOAD")) {
            // A list of the program's own for its child: it cannot be joined to ours without
            // memory, so ours, which has what this process was started with, takes its place
            // unless it already names the shim.
            preload = true;
            if (!lists_library(entry + sizeof preload_name - 1))
                entry = preload_entry;
        }
        copy[used++] = entry;
    }
    if (!preload)
        copy[used++] = preload_entry;
    copy[used++] = trace_entry;
    copy[used] = NULL;
}

void ms_env_install(const char *join)
{
    find_library();
    ms_sys_append(trace_entry, sizeof trace_entry, MS_ENV_TRACE "=");
    ms_sys_append(trace_entry, sizeof trace_entry, join);
    const char *old = ms_conf_value(environ, "LD_PRELOAD");
    build_preload(old);
    if (old == NULL)
        return; // loaded some other way, /etc/ld.so.preload for one: children are too
    size_t size = ms_env_repaired_size(environ);
    char **copy = size == 0 ? NULL : ms_sys_map(size * sizeof *copy);
    if (copy == NULL)
        return;
    ms_env_repair(environ, copy);
    environ = copy;
}
