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
static char library[MS_PATH_MAX];            // the shim's own absolute path
static char preload_entry[MS_PATH_MAX + 16]; // LD_PRELOAD with the shim alone
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

// Bytes that LD_PRELOAD with the shim in front of the old list may take.
static size_t joined_size(const char *old)
{
    return ms_sys_length(preload_entry) + 1 + ms_sys_length(old) + 1;
}

// LD_PRELOAD with the shim's path, then the old list without what names the shim relative to some
// directory, which may not be the child's.
static void join(char *text, const char *old)
{
    size_t used = ms_sys_length(preload_entry);
    memcpy(text, preload_entry, used);
    while (*old != '\0') {
        size_t length = strcspn(old, " :");
        if (length != 0 && !is_basename_of_library(old, length)) {
            text[used++] = ':';
            memcpy(text + used, old, length);
            used += length;
        }
        old += length;
        old += *old != '\0';
    }
    text[used] = '\0';
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
    size_t entries = 0, text = 0;
    bool trace = false, preload = false;
    if (trace_entry[0] == '\0')
        return 0;
    for (; environment != NULL && environment[entries] != NULL; entries++) {
        const char *entry = environment[entries];
        trace |= strcmp(entry, trace_entry) == 0;
        if (!has_name(entry, "LD_PRELOAD"))
            continue;
        const char *list = entry + sizeof preload_name - 1;
        preload |= lists_library(list);
        text += joined_size(list);
    }
    return trace && preload ? 0 : entries + 3 + (text + sizeof(char *) - 1) / sizeof(char *);
}

void ms_env_repair(char *const *environment, char **copy)
{
    size_t used = 0, entries = 0;
    bool preload = false;
    while (environment != NULL && environment[entries] != NULL)
        entries++;
    char *text = (char *)(copy + entries + 3);
    for (size_t i = 0; i < entries; i++) {
        char *entry = environment[i];
        if (has_name(entry, MS_ENV_TRACE))
            continue;
        const char *list = entry + sizeof preload_name - 1;
        if (has_name(entry, "LD_PRELOAD")) {
            preload = true;
            if (!lists_library(list)) {
                join(text, list);
                entry = text;
                text += joined_size(list);
            }
        }
        copy[used++] = entry;
    }
    if (!preload)
        copy[used++] = preload_entry;
    copy[used++] = trace_entry;
    copy[used] = NULL;
}

void ms_env_install(const char *session)
{
    find_library();
    ms_sys_append(trace_entry, sizeof trace_entry, MS_ENV_TRACE "=");
    ms_sys_append(trace_entry, sizeof trace_entry, session);
    ms_sys_append(preload_entry, sizeof preload_entry, preload_name);
    ms_sys_append(preload_entry, sizeof preload_entry, library);
    if (ms_conf_value(environ, "LD_PRELOAD") == NULL)
        return; // loaded some other way, /etc/ld.so.preload for one: children are too
    size_t size = ms_env_repaired_size(environ);
    char **copy = size == 0 ? NULL : ms_sys_map(size * sizeof *copy);
    if (copy == NULL)
        return;
    ms_env_repair(environ, copy);
    environ = copy;
}
