// SPDX-License-Identifier: MIT
// Reads by offset. A file is read with pread and not mapped: a trace that shrinks while it is read
// then ends in an error and not in SIGBUS, and the pages do not count as the analyzer's memory.
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ms_source_open(struct ms_source *source, const char *path)
{
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno;
    struct stat status;
    int error = fstat(fd, &status) < 0 ? errno : 0;
    if (!error && S_ISDIR(status.st_mode))
        error = EISDIR;
    else if (!error && !S_ISREG(status.st_mode))
        error = EINVAL;
    if (error) {
        close(fd);
        return error;
    }
    *source = (struct ms_source){.fd = fd, .size = (uint64_t)status.st_size};
    return 0;
}

void ms_source_memory(struct ms_source *source, const void *bytes, size_t size)
{
    *source = (struct ms_source){.fd = -1, .bytes = bytes, .size = size};
}

static bool read_file(int fd, uint64_t offset, uint8_t *to, size_t size)
{
    while (size) {
        ssize_t got = pread(fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

bool ms_source_read(const struct ms_source *source, uint64_t offset, void *to, size_t size)
{
    if (offset > source->size || size > source->size - offset)
        return false;
    if (!source->bytes)
        return read_file(source->fd, offset, to, size);
    if (size) // nothing may be asked of no memory at all
        memcpy(to, source->bytes + offset, size);
    return true;
}

void ms_source_close(struct ms_source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    source->fd = -1;
}
