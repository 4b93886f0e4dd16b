// SPDX-License-Identifier: MIT
// Owns the look at ELF files and scripts. Facts: elf(5), execve(2), ld.so(8), Linux fs/exec.c.
#define _GNU_SOURCE
#include "program.h"

#include "conf.h"
#include "env.h"
#include "sys.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define HEAD 1024 // bytes looked at; program headers stand directly behind the ELF header

#if defined(__x86_64__)
#define THIS_MACHINE EM_X86_64
#else
#define THIS_MACHINE EM_AARCH64
#endif

static enum ms_target look_at_elf(const uint8_t *head, size_t size)
{
    Elf64_Ehdr elf;
    if (size < sizeof elf)
        return MS_TARGET_UNKNOWN;
    memcpy(&elf, head, sizeof elf);
    if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != THIS_MACHINE)
        return MS_TARGET_FOREIGN;
    if (elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phoff > size ||
            elf.e_phnum > (size - elf.e_phoff) / sizeof(Elf64_Phdr))
        return MS_TARGET_UNKNOWN;
    for (unsigned i = 0; i < elf.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, head + elf.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_INTERP)
            return MS_TARGET_FOLLOWED;
    }
    return MS_TARGET_STATIC;
}

// Puts the interpreter of a script's first line into `path`. False when there is none.
static bool read_interpreter(const uint8_t *head, size_t size, char *path, size_t room)
{
    size_t at = 2, used = 0;
    while (at < size && (head[at] == ' ' || head[at] == '\t'))
        at++;
    while (at < size && used + 1 < room && head[at] > ' ')
        path[used++] = (char)head[at++];
    path[used] = '\0';
    return used != 0;
}

// The head of a program's file, or what it is if that ends the matter.
static enum ms_target read_head(int directory, const char *path, uint8_t *head, size_t *size)
{
    // Only a regular file is opened: opening others may block or do something.
    struct ms_sys_file file;
    int failed = ms_sys_file(directory, path, &file);
    if (failed)
        return failed == -EFAULT ? MS_TARGET_FAULT : MS_TARGET_ABSENT;
    if (!file.is_regular)
        return MS_TARGET_UNKNOWN;
    if (file.is_set_id)
        return MS_TARGET_SECURE;
    bool is_open = path[0] == '\0';
    int fd = is_open ? directory : ms_sys_open_at(directory, path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return MS_TARGET_UNKNOWN; // it may be executable though it cannot be read
    long got = ms_sys_read_at(fd, head, HEAD, 0);
    bool has_capabilities = ms_sys_has_capabilities(fd);
    if (!is_open)
        ms_sys_close(fd);
    *size = got > 0 ? (size_t)got : 0;
    return has_capabilities ? MS_TARGET_SECURE : MS_TARGET_FOLLOWED;
}

enum ms_target ms_program_look(int directory, const char *path)
{
    uint8_t head[HEAD];
    char interpreter[256];
    size_t size;
    enum ms_target target = read_head(directory, path, head, &size);
    if (target == MS_TARGET_FOLLOWED && size >= 2 && head[0] == '#' && head[1] == '!') {
        if (!read_interpreter(head, size, interpreter, sizeof interpreter))
            return MS_TARGET_UNKNOWN;
        target = read_head(AT_FDCWD, interpreter, head, &size);
    }
    if (target == MS_TARGET_FOLLOWED)
        target = size >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0 ? look_at_elf(head, size)
                                                                       : MS_TARGET_UNKNOWN;
    if (target != MS_TARGET_FOLLOWED)
        return target;
    if (!ms_conf.follow)
        return MS_TARGET_ALONE;
    struct ms_sys_file shim;
    bool is_there = ms_sys_file(AT_FDCWD, ms_env_library(), &shim) == 0;
    return is_there ? MS_TARGET_FOLLOWED : MS_TARGET_NO_SHIM;
}

enum ms_target ms_program_find(const char *file)
{
    char path[512];
    const char *list = ms_conf_value(environ, "PATH");
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ":");
        if (length + ms_sys_length(file) + 2 <= sizeof path) {
            memcpy(path, list, length);
            path[length] = '\0';
            ms_sys_append(path, sizeof path, length == 0 ? "./" : "/");
            ms_sys_append(path, sizeof path, file);
            enum ms_target target = ms_program_look(AT_FDCWD, path);
            if (target != MS_TARGET_ABSENT)
                return target;
        }
        list += length + (list[length] == ':');
    }
    return MS_TARGET_UNKNOWN;
}
