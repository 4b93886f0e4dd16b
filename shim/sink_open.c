// SPDX-License-Identifier: MIT
// Makes the trace file, or joins the one that the environment names. A new file is made with
// O_EXCL and O_NOFOLLOW, 0600, and never replaces another. Context: start-up, one thread.
#define _GNU_SOURCE
#include "proc.h"
#include "sink_file.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <memspy/wire.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void append_program(char *path, size_t size)
{
    char exe[MS_PATH_MAX];
    ms_proc_exe(exe, sizeof exe);
    char *name = exe + ms_sys_length(exe);
    while (name > exe && name[-1] != '/')
        name--;
    ms_sys_append(path, size, *name != '\0' ? name : "unknown");
}

// `pattern` with its placeholders replaced. False when the result is too long.
static bool expand(const char *pattern, char *path, size_t size)
{
    struct utsname host;
    char single[2] = "";
    bool fits = true;
    path[0] = '\0';
    for (; *pattern != '\0' && fits; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'p') {
            fits = ms_sys_append_number(path, size, (uint64_t)ms_sys_pid());
        } else if (pattern[0] == '%' && pattern[1] == 'e') {
            append_program(path, size);
        } else if (pattern[0] == '%' && pattern[1] == 'h') {
            fits = ms_sys_append(path, size, uname(&host) == 0 ? host.nodename : "unknown");
        } else {
            single[0] = *pattern;
            fits = ms_sys_append(path, size, single);
            pattern += pattern[0] == '%' && pattern[1] == '%';
            continue;
        }
        pattern++;
    }
    return fits && ms_sys_length(path) + 8 < size;
}

// Opens a new file at `path`, made absolute with `directory`, or at the next free PATH.N. The
// result is a descriptor with the path in ms_sink_path(), or -errno.
static int create_file(const char *directory, const char *path)
{
    char *absolute = ms_sink_file.join + MS_JOIN_PATH;
    absolute[0] = '\0';
    if (path[0] != '/') {
        ms_sys_append(absolute, MS_PATH_MAX, directory);
        ms_sys_append(absolute, MS_PATH_MAX, "/");
    }
    if (!ms_sys_append(absolute, MS_PATH_MAX - 8, path))
        return -ENAMETOOLONG;
    size_t length = ms_sys_length(absolute);
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
    int fd = ms_sys_open(absolute, flags, 0600);
    // The neighbour of a device, a pipe or a directory is not where anybody wants a trace.
    if (fd == -EEXIST && ms_sys_is_special(absolute))
        return -EISDIR;
    for (unsigned n = 1; fd == -EEXIST && n < 10000; n++) {
        absolute[length] = '\0';
        ms_sys_append(absolute, MS_PATH_MAX, ".");
        ms_sys_append_number(absolute, MS_PATH_MAX, n);
        fd = ms_sys_open(absolute, flags, 0600);
    }
    if (fd >= 0 && absolute[length] != '\0')
        MS_SAY(path, " exists; writing ", absolute);
    return fd;
}

static const char *reason(int error)
{
    switch (-error) {
    case EACCES:
    case EPERM:
        return "no permission";
    case ENOENT:
        return "no such directory";
    case ENOSPC:
    case EDQUOT:
        return "no space left";
    case EROFS:
        return "the file system is read-only";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    case EFBIG:
        return "the file size limit (ulimit -f) forbids it";
    case EISDIR:
        return "it is not a regular file";
    case ENAMETOOLONG:
        return "the path is too long";
    default:
        return "the file cannot be made";
    }
}

// The default path falls back to $TMPDIR or /tmp, said in one line; a path that the user chose
// does not.
static int create_somewhere(const char *path, bool given, const char *temporary)
{
    char here[MS_PATH_MAX];
    int fd = ms_sys_directory(here, sizeof here) || path[0] == '/' ? create_file(here, path)
                                                                   : -ENOENT;
    if (fd < 0 && !given) {
        fd = create_file(temporary != NULL && temporary[0] == '/' ? temporary : "/tmp", path);
        if (fd >= 0)
            MS_SAY("cannot write here; writing ", ms_sink_path());
    }
    if (fd < 0)
        MS_SAY("cannot make the trace ", path, ": ", reason(fd),
                "; recording is off (set MEMSPY_OUT to a path that can be written)");
    return fd;
}

// Writes 2 * size digits and nothing after them.
static void hex(char *out, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
}

static void fill_header(struct ms_file_header *h)
{
    h->major = MS_FORMAT_MAJOR;
    h->minor = MS_FORMAT_MINOR;
    h->header_size = MS_HEADER_SIZE;
    ms_sys_random(h->session, sizeof h->session);
    h->live_align = (uint32_t)sysconf(_SC_PAGESIZE);
    h->live_size = MS_LIVE_SIZE;
    h->clock = ms_sys_clock;
    // About 10 to 50 ns a unit on either clock: ticks finer than a store forwarded between two
    // processors order nothing.
    h->tick_shift = ms_sys_clock == MS_CLOCK_CNTVCT ? 0 : 5;
    h->start_ticks = ms_sys_ticks();
    h->start_mono_ns = ms_sys_nanoseconds(CLOCK_MONOTONIC);
    h->start_real_ns = ms_sys_nanoseconds(CLOCK_REALTIME);
    h->space_next = MS_HEADER_SIZE;
    h->process_next = 1;
    h->thread_next = 1;
    // The checksum is that of the header with its magic, which is stored last: a process that is
    // killed within leaves no trace rather than a damaged one.
    struct ms_file_header whole = *h;
    whole.magic = MS_FILE_MAGIC;
    h->crc = ms_crc32(&whole, offsetof(struct ms_file_header, crc));
    __atomic_store_n(&h->magic, MS_FILE_MAGIC, __ATOMIC_RELEASE);
}

// Reserves and maps the header's page of a file that holds one, or is to.
static bool map_header(int fd, bool reserve)
{
    if (ms_sys_identity(fd, &ms_sink_file.device, &ms_sink_file.inode) != 0)
        return false;
    int failed = reserve ? ms_sys_reserve(fd, 0, MS_HEADER_SIZE) : 0;
    if (failed) {
        MS_SAY("cannot make the trace ", ms_sink_path(), ": ", reason(failed),
                "; recording is off");
        return false;
    }
    ms_sink_header = ms_sys_map_file(fd, 0, MS_HEADER_SIZE);
    return ms_sink_header != NULL;
}

bool ms_sink_create(const char *out, bool given, const char *temporary)
{
    char path[MS_PATH_MAX];
    if (!expand(out, path, sizeof path)) {
        MS_SAY("the trace's path is too long: ", out, "; recording is off");
        return false;
    }
    int fd = create_somewhere(path, given, temporary);
    if (fd < 0)
        return false;
    if (!map_header(fd, true)) {
        ms_sys_close(fd);
        ms_sys_remove(ms_sink_path());
        return false;
    }
    fill_header(ms_sink_header);
    hex(ms_sink_file.join, ms_sink_header->session, sizeof ms_sink_header->session);
    memcpy(ms_sink_file.join + MS_SESSION_DIGITS, ":00000000:", MS_JOIN_PATH - MS_SESSION_DIGITS);
    __atomic_store_n(&ms_sink_file.descriptor, ms_sys_move_up(fd), __ATOMIC_RELEASE);
    return true;
}

// Whether fd is a trace of this session that this shim can add to.
static bool is_session(int fd, const char *session)
{
    struct ms_file_header h;
    char digits[MS_SESSION_DIGITS];
    if (ms_sys_pread(fd, &h, sizeof h, 0) != 0 || h.magic != MS_FILE_MAGIC)
        return false;
    hex(digits, h.session, sizeof h.session);
    return memcmp(digits, session, sizeof digits) == 0 && h.major == MS_FORMAT_MAJOR &&
           h.live_size == MS_LIVE_SIZE && h.incompatible == 0;
}

// The number that hexadecimal digits say; false when one of them is none.
static bool read_hex(const char *digits, size_t count, uint32_t *value)
{
    *value = 0;
    for (size_t i = 0; i < count; i++) {
        const char *known = "0123456789abcdef", *at = strchr(known, digits[i]);
        if (digits[i] == '\0' || at == NULL)
            return false;
        *value = *value << 4 | (uint32_t)(at - known);
    }
    return true;
}

bool ms_sink_join(const char *value)
{
    size_t length = ms_sys_length(value);
    if (length <= MS_JOIN_PATH || length >= sizeof ms_sink_file.join ||
            value[MS_SESSION_DIGITS] != ':' || value[MS_JOIN_PATH - 1] != ':' ||
            !read_hex(value + MS_SINK_INDEX_AT, MS_SINK_INDEX_DIGITS, &ms_sink_file.ancestor))
        return false;
    int fd = ms_sys_open(value + MS_JOIN_PATH, O_RDWR | O_NOFOLLOW, 0);
    if (fd < 0)
        return false;
    if (!is_session(fd, value) || !map_header(fd, false)) {
        ms_sys_close(fd);
        return false;
    }
    memcpy(ms_sink_file.join, value, length + 1);
    __atomic_store_n(&ms_sink_file.descriptor, ms_sys_move_up(fd), __ATOMIC_RELEASE);
    return true;
}
