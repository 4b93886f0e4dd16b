// SPDX-License-Identifier: MIT
// Owns texts: their length, putting them together, and the one line on stderr. See sys.h.
#define _GNU_SOURCE
#include "sys.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

size_t ms_sys_length(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0')
        length++;
    return length;
}

bool ms_sys_append(char *buffer, size_t size, const char *text)
{
    size_t at = ms_sys_length(buffer);
    while (*text != '\0' && at + 1 < size)
        buffer[at++] = *text++;
    buffer[at] = '\0';
    return *text == '\0';
}

bool ms_sys_append_number(char *buffer, size_t size, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return ms_sys_append(buffer, size, digits + at);
}

static uint64_t stderr_device, stderr_inode;

void ms_sys_say_init(void)
{
    if (ms_sys_identity(2, &stderr_device, &stderr_inode) != 0)
        stderr_inode = 0;
}

static bool may_write_stderr(size_t size)
{
    uint64_t device, inode;
    struct pollfd poll = {.fd = 2, .events = POLLOUT};
    struct timespec at_once = {0, 0};
    if (ms_sys_identity(2, &device, &inode) != 0 || device != stderr_device ||
            inode != stderr_inode)
        return false;
    // A pipe without a reader is writable, with POLLERR: the write would raise SIGPIPE.
    if (ms_syscall(SYS_ppoll, (long)&poll, 1, (long)&at_once, 0, 8, 0) != 1 ||
            poll.revents != POLLOUT)
        return false;
    long end = ms_syscall(SYS_lseek, 2, 0, SEEK_CUR, 0, 0, 0);
    return end < 0 || ms_sys_file_size_allowed((uint64_t)end + size);
}

void ms_sys_say(const char *const *pieces)
{
    char line[1024] = "memspy: ";
    for (; *pieces != NULL; pieces++)
        ms_sys_append(line, sizeof line - 1, *pieces);
    ms_sys_append(line, sizeof line, "\n");
    size_t size = ms_sys_length(line);
    if (may_write_stderr(size))
        ms_syscall(SYS_write, 2, (long)line, (long)size, 0, 0, 0);
}
