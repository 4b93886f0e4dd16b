// SPDX-License-Identifier: MIT
// Owns the reading of /proc. Context: any, but it makes system calls, so it is kept off the hot
// path.
#include "proc.h"

#include "sys.h"

#include <fcntl.h>

size_t ms_proc_read(const char *path, char *buffer, size_t size)
{
    size_t used = 0;
    int fd = ms_sys_open(path, O_RDONLY, 0);
    while (fd >= 0 && used + 1 < size) {
        long done = ms_sys_read(fd, buffer + used, size - 1 - used);
        if (done <= 0)
            break;
        used += (size_t)done;
    }
    if (fd >= 0)
        ms_sys_close(fd);
    buffer[used] = '\0';
    return used;
}

static const char *read_number(const char *at, unsigned radix, uint64_t *number)
{
    *number = 0;
    for (;; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                    : radix;
        if (digit >= radix)
            return at;
        *number = *number * radix + digit;
    }
}

// A numeric field of /proc/self/stat, numbered from 1 as in proc(5). 0 when unknown.
static uint64_t stat_field(int wanted)
{
    char stat[1024];
    size_t size = ms_proc_read("/proc/self/stat", stat, sizeof stat);
    // The second field is the command in parentheses and may itself hold blanks and parentheses.
    const char *at = stat + size;
    while (at > stat && *at != ')')
        at--;
    if (at == stat)
        return 0;
    for (int field = 2; field < wanted; field++) {
        while (*at != ' ' && *at != '\0')
            at++;
        at += *at == ' ';
    }
    uint64_t value;
    read_number(at, 10, &value);
    return value;
}

uintptr_t ms_proc_heap_begin(void)
{
    return stat_field(47);
}

// The number of the line that begins with `name`, searched from *at, which moves behind it.
static uint64_t status_line(const char **at, const char *name)
{
    size_t length = ms_sys_length(name);
    for (const char *line = *at; *line != '\0'; line++) {
        if (strncmp(line, name, length) == 0) {
            uint64_t value;
            line += length;
            while (*line == ' ' || *line == '\t')
                line++;
            *at = read_number(line, 10, &value);
            return **at == '\0' ? MS_PROC_UNKNOWN : value; // cut off, maybe within the number
        }
        line = strchr(line, '\n');
        if (line == NULL)
            break;
    }
    return MS_PROC_UNKNOWN;
}

static void parse_memory(const char *status, struct ms_proc_memory *memory)
{
    const char *at = status;
    memory->vsz = status_line(&at, "VmSize:");
    memory->rss = status_line(&at, "VmRSS:");
    memory->rss_anon = status_line(&at, "RssAnon:");
    memory->rss_file = status_line(&at, "RssFile:");
    memory->rss_shmem = status_line(&at, "RssShmem:");
    memory->pte = status_line(&at, "VmPTE:");
    memory->threads = status_line(&at, "Threads:");
}

// /proc/self/status stays open, at a high number and close-on-exec: opened anew each time it would
// take the lowest free number for a moment, which other threads would miss and their children
// inherit. Whether it still is that file is told by device and inode.
static struct {
    int descriptor; // one more than the number; 0: none
    int pid;        // of the process whose file it is
    uint64_t device, inode;
} kept MS_AFTER_FORK;
static MS_AFTER_FORK uint32_t keeping; // atomic: a thread is opening it

static bool is_kept_of(int pid)
{
    uint64_t device, inode;
    return kept.descriptor != 0 && kept.pid == pid &&
           ms_sys_identity(kept.descriptor - 1, &device, &inode) == 0 && device == kept.device &&
           inode == kept.inode;
}

// Where no high number is free nothing is kept: a low one is not ours to take.
static void keep_status(int pid)
{
    if (kept.descriptor == 0 && kept.pid == pid)
        return; // that was so before
    int fd = ms_sys_open("/proc/self/status", O_RDONLY, 0);
    int high = fd < 0 ? fd : ms_sys_move_up(fd);
    kept.pid = pid;
    kept.descriptor = 0;
    if (fd < 0)
        return;
    if (high == fd)
        ms_sys_close(fd);
    else if (ms_sys_identity(high, &kept.device, &kept.inode) == 0)
        kept.descriptor = high + 1;
}

// The process's status; empty where it cannot be had.
static void read_kept(char *status, size_t size)
{
    int pid = ms_sys_pid();
    if (!is_kept_of(pid) && __atomic_exchange_n(&keeping, 1, __ATOMIC_ACQUIRE) == 0) {
        keep_status(pid);
        __atomic_store_n(&keeping, 0, __ATOMIC_RELEASE);
    }
    int fd = kept.descriptor - 1;
    long got = fd >= 0 && kept.pid == pid ? ms_sys_read_at(fd, status, size - 1, 0) : 0;
    status[got > 0 ? got : 0] = '\0';
}

void ms_proc_after_fork(void)
{
    // The parent's: of no use here.
    if (kept.descriptor != 0 && is_kept_of(kept.pid))
        ms_sys_close(kept.descriptor - 1);
    kept.descriptor = 0;
    kept.pid = 0;
    keeping = 0;
}

// The lines come in this order (proc(5); fs/proc/array.c and task_mmu.c, Linux 2.6 to 6.12). Before
// them stands the list of groups, which may be long: then what does not fit is unknown. So it is
// once the first thread has ended, whose file this is.
void ms_proc_memory(struct ms_proc_memory *memory, bool may_keep)
{
    char status[2048];
    if (may_keep)
        read_kept(status, sizeof status);
    else
        ms_proc_read("/proc/self/status", status, sizeof status);
    parse_memory(status, memory);
}

void ms_proc_exe(char *buffer, size_t size)
{
    long length = ms_sys_read_link("/proc/self/exe", buffer, size - 1);
    buffer[length > 0 ? length : 0] = '\0';
}

// start-end perms offset dev inode path
static bool parse_mapping(const char *line, struct ms_proc_mapping *m)
{
    line = read_number(line, 16, &m->start);
    line = read_number(line + (*line == '-'), 16, &m->end);
    if (*line != ' ' || ms_sys_length(line) < 6 || line[3] != 'x')
        return false;
    line = read_number(line + 6, 16, &m->offset);
    while (*line != '/' && *line != '[' && *line != '\0')
        line++;
    m->path = line;
    return true;
}

void ms_proc_mappings(void (*visit)(void *context, const struct ms_proc_mapping *m), void *context,
        char *buffer, size_t size)
{
    size_t held = 0;
    int fd = ms_sys_open("/proc/self/maps", O_RDONLY, 0);
    for (; fd >= 0;) {
        long done = ms_sys_read(fd, buffer + held, size - 1 - held);
        if (done <= 0)
            break;
        held += (size_t)done;
        buffer[held] = '\0';
        char *line = buffer, *end;
        while ((end = strchr(line, '\n')) != NULL) {
            struct ms_proc_mapping mapping;
            *end = '\0';
            if (parse_mapping(line, &mapping))
                visit(context, &mapping);
            line = end + 1;
        }
        held -= (size_t)(line - buffer);
        memmove(buffer, line, held);
        if (held + 1 >= size)
            held = 0; // a longer line than any path allows
    }
    if (fd >= 0)
        ms_sys_close(fd);
}
