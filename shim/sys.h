// SPDX-License-Identifier: MIT
// The operating system as the shim sees it: raw system calls, the clock, one line on stderr. The
// only surface to the kernel; nothing here allocates, locks or touches errno, so all of it may be
// called in every context (any thread, signal handler, vfork child, before libc is ready).
// Failure is -errno, as the kernel reports it.
#ifndef MEMSPY_SYS_H
#define MEMSPY_SYS_H

#include <memspy/base.h>
#include <sys/types.h>

#if defined(__x86_64__)
#include "sys_x86_64.h"
#elif defined(__aarch64__)
#include "sys_aarch64.h"
#else
#error "memspy knows x86-64 and aarch64"
#endif

// Marks the few functions and objects that the library exports.
#define MS_EXPORT __attribute__((visibility("default")))

// What is written just after a fork, in parent or child, when a page has to be copied at its first
// write: together, so that it is few pages.
#define MS_AFTER_FORK __attribute__((section("ms_after_fork")))

// Another name of an exported function, with its attributes where the compiler can copy them.
#if __has_attribute(copy)
#define MS_ALIAS(function) MS_EXPORT __attribute__((alias(#function), copy(function)))
#else
#define MS_ALIAS(function) MS_EXPORT __attribute__((alias(#function)))
#endif

// enum ms_clock, decided by ms_sys_clock_init.
extern MS_HIDDEN uint32_t ms_sys_clock;

// Chooses the clock: the processor's counter where the kernel itself trusts it, else
// CLOCK_MONOTONIC. Until it ran, ticks are nanoseconds of CLOCK_MONOTONIC.
void ms_sys_clock_init(void);

// Nanoseconds of a clock of clock_gettime(2).
uint64_t ms_sys_nanoseconds(int clock);

// Ticks of the chosen clock.
uint64_t ms_sys_ticks_slow(void);

MS_INLINE uint64_t ms_sys_ticks(void)
{
    if (MS_LIKELY(ms_sys_clock != 2))
        return ms_sys_counter();
    return ms_sys_ticks_slow();
}

int ms_sys_open(const char *path, int flags, int mode);
int ms_sys_open_at(int directory, const char *path, int flags, int mode);
int ms_sys_close(int fd);
int ms_sys_remove(const char *path);
// Whether a path is a device, a pipe, a socket or a directory; links are not followed.
bool ms_sys_is_special(const char *path);
// Copies fd to the first free number from `lowest` on, close-on-exec.
int ms_sys_dup_above(int fd, int lowest);
// Copies fd to a number out of the program's way and closes the original; fd itself when there is
// none.
int ms_sys_move_up(int fd);
long ms_sys_read(int fd, void *buffer, size_t size);
// Reads or writes `size` bytes at `offset`, in as many calls as it takes. 0 or -errno; a file that
// ends early is -EIO.
int ms_sys_pread(int fd, void *buffer, size_t size, uint64_t offset);
int ms_sys_pwrite(int fd, const void *buffer, size_t size, uint64_t offset);
// Reads once, at `offset`.
long ms_sys_read_at(int fd, void *buffer, size_t size, uint64_t offset);

// A file by path, relative to `directory` as for openat(2); an empty path is the descriptor itself.
struct ms_sys_file {
    bool is_regular;
    bool is_set_id; // running it would change the user or the group
};
int ms_sys_file(int directory, const char *path, struct ms_sys_file *file);
// Whether running it gives capabilities (capabilities(7), "File capabilities").
bool ms_sys_has_capabilities(int fd);

// Whether eight bytes at an address can be read: a pointer of the program's may be a wrong one.
bool ms_sys_can_be_read(const void *address);

// Device and inode of an open file.
int ms_sys_identity(int fd, uint64_t *device, uint64_t *inode);
// Makes sure that the file has space for [offset, offset + size). -EFBIG when RLIMIT_FSIZE forbids
// it: no SIGXFSZ is raised.
int ms_sys_reserve(int fd, uint64_t offset, uint64_t size);
// Whether RLIMIT_FSIZE allows a file of that size.
bool ms_sys_file_size_allowed(uint64_t size);
// Limit of open descriptors.
uint64_t ms_sys_descriptor_limit(void);

// Anonymous private memory, zeroed; NULL when there is none.
void *ms_sys_map(size_t size);
// A shared mapping of a file; NULL when it fails.
void *ms_sys_map_file(int fd, uint64_t offset, size_t size);
int ms_sys_unmap(void *address, size_t size);
int ms_sys_advise(void *address, size_t size, int advice);

// waitid(2) with its fifth argument, a struct rusage.
int ms_sys_waitid(int type, int id, void *info, int options, void *usage);
int ms_sys_pid(void);
int ms_sys_parent_pid(void);
int ms_sys_tid(void);
uint32_t ms_sys_uid(void);
void ms_sys_yield(void);
void ms_sys_random(void *bytes, size_t size);
long ms_sys_read_link(const char *path, char *buffer, size_t size);
// The current directory; false when it has no path.
bool ms_sys_directory(char *buffer, size_t size);

// Blocks every signal for the calling thread, and restores what was before.
struct ms_sys_signals {
    uint64_t mask;
};
struct ms_sys_signals ms_sys_block_signals(void);
void ms_sys_restore_signals(struct ms_sys_signals signals);

// Puts a signal's default action back, and sends the calling thread a signal again with what was
// said of it (a siginfo_t): it is taken once it is not blocked.
void ms_sys_default_action(int signal);
void ms_sys_send_again(int signal, const void *info);

// One line on stderr: "memspy: " and the pieces up to NULL. A line that does not fit is cut.
// Nothing is said where saying it could block, raise a signal, or reach another file than the one
// that was stderr when ms_sys_say_init ran.
void ms_sys_say_init(void);
void ms_sys_say(const char *const *pieces);
#define MS_SAY(...) ms_sys_say((const char *const[]){__VA_ARGS__, NULL})

// Appends text to a buffer of `size` bytes that holds a string; false when it does not fit, the
// buffer then ends with what did.
bool ms_sys_append(char *buffer, size_t size, const char *text);
bool ms_sys_append_number(char *buffer, size_t size, uint64_t number);
size_t ms_sys_length(const char *text);

#endif
