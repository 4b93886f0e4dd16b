// SPDX-License-Identifier: MIT
// What the shim thinks of program files, and how it reads the process's memory.
#define _GNU_SOURCE
#include "check.h"

#include <env.h>
#include <conf.h>
#include <proc.h>
#include <program.h>

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/memspy-test-XXXXXX";

static int begin(void **state)
{
    (void)state;
    ms_conf.follow = true;
    ms_env_install("", 0, true); // finds the library: this program
    return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static int end(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static void make(const char *name, const void *content, size_t size, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, size), size);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

// This program's own ELF header and program headers, as they are or changed.
struct head {
    Elf64_Ehdr elf;
    Elf64_Phdr segments[32];
};

static struct head own_head(void)
{
    struct head head;
    int fd = open("/proc/self/exe", O_RDONLY);
    assert_true(read(fd, &head, sizeof head) > (long)sizeof head.elf);
    assert_int_equal(head.elf.e_phoff, sizeof head.elf);
    assert_in_range(head.elf.e_phnum, 1, 32);
    close(fd);
    return head;
}

static void binaries(void **state)
{
    (void)state;
    struct head head = own_head(), changed = head;
    make("dynamic", &head, sizeof head, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "dynamic"), MS_TARGET_FOLLOWED);
    changed.elf.e_ident[EI_CLASS] = ELFCLASS32;
    make("class", &changed, sizeof changed, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "class"), MS_TARGET_FOREIGN);
    changed = head;
    changed.elf.e_machine = EM_RISCV;
    make("machine", &changed, sizeof changed, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "machine"), MS_TARGET_FOREIGN);
    changed = head;
    for (unsigned i = 0; i < changed.elf.e_phnum; i++)
        if (changed.segments[i].p_type == PT_INTERP)
            changed.segments[i].p_type = PT_NULL;
    make("static", &changed, sizeof changed, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "static"), MS_TARGET_STATIC);
    changed = head;
    changed.elf.e_phoff = UINT64_MAX - 8;
    make("far", &changed, sizeof changed, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "far"), MS_TARGET_UNKNOWN);
    make("cut", &head, 20, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "cut"), MS_TARGET_UNKNOWN);
    make("empty", &head, 0, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "empty"), MS_TARGET_UNKNOWN);
}

static void by_descriptor(void **state)
{
    (void)state;
    int fd = open("static", O_RDONLY), here = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(ms_program_look(fd, ""), MS_TARGET_STATIC);
    assert_int_equal(ms_program_look(here, "machine"), MS_TARGET_FOREIGN);
    assert_int_equal(ms_program_look(here, ""), MS_TARGET_UNKNOWN); // a directory
    close(fd);
    close(here);
}

static void scripts(void **state)
{
    (void)state;
    char line[128];
    make("sh", "#! /bin/sh -e\n", 14, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "sh"), MS_TARGET_FOLLOWED);
    snprintf(line, sizeof line, "#!%s/static\n", directory);
    make("by_static", line, strlen(line), 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "by_static"), MS_TARGET_STATIC);
    make("nowhere", "#!/nowhere\n", 11, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "nowhere"), MS_TARGET_ABSENT);
    make("blank", "#! \n", 4, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "blank"), MS_TARGET_UNKNOWN);
    make("text", "echo\n", 5, 0700);
    assert_int_equal(ms_program_look(AT_FDCWD, "text"), MS_TARGET_UNKNOWN);
}

// Opening a pipe would wait for a writer.
static void special_files(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("pipe", 0700), 0);
    assert_int_equal(ms_program_look(AT_FDCWD, "pipe"), MS_TARGET_UNKNOWN);
    assert_int_equal(ms_program_look(AT_FDCWD, "absent"), MS_TARGET_ABSENT);
    assert_int_equal(ms_program_look(AT_FDCWD, "sh/absent"), MS_TARGET_ABSENT);
    struct head head = own_head();
    make("own_setuid", &head, sizeof head, 04700); // to the user that it is already
    assert_int_equal(ms_program_look(AT_FDCWD, "own_setuid"), MS_TARGET_FOLLOWED);
    if (geteuid() != 0)
        return;
    make("setuid", &head, sizeof head, 04755);
    assert_int_equal(chown("setuid", 1, 1), 0);
    assert_int_equal(chmod("setuid", 04755), 0);
    assert_int_equal(ms_program_look(AT_FDCWD, "setuid"), MS_TARGET_SECURE);
}

static void wishes(void **state)
{
    (void)state;
    ms_conf.follow = false;
    assert_int_equal(ms_program_look(AT_FDCWD, "dynamic"), MS_TARGET_ALONE);
    assert_int_equal(ms_program_look(AT_FDCWD, "static"), MS_TARGET_STATIC);
    ms_conf.follow = true;
}

// The C library's reading of the same file. The resident set moves while one reads it.
static uint64_t line_of_status(const char *name)
{
    char line[256];
    unsigned long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoul(line + strlen(name), NULL, 10);
    fclose(file);
    return value;
}

static void memory(void **state)
{
    (void)state;
    const size_t size = 64 << 20;
    struct ms_proc_memory before, after;
    ms_proc_memory(&before, false);
    char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    madvise(block, size, MADV_NOHUGEPAGE);
    memset(block, 1, size);
    ms_proc_memory(&after, true);
    assert_in_range(after.rss - before.rss, 64 * 1000, 64 * 1048);
    assert_in_range(after.rss_anon - before.rss_anon, 64 * 1000, 64 * 1048);
    assert_in_range(after.vsz - before.vsz, 64 * 1024, 64 * 1024 + 4096);
    assert_in_range(after.pte - before.pte, 128, 160); // 4 KiB for each 2 MiB
    assert_int_equal(after.threads, 1);
    // A sanitizer maps more whenever it likes.
    uint64_t vsz = line_of_status("VmSize:"), pte = line_of_status("VmPTE:");
    assert_in_range(after.vsz, vsz - vsz / 16, vsz);
    assert_in_range(after.pte, pte - pte / 4, pte);
    assert_in_range(
            after.rss_file, line_of_status("RssFile:") / 2, line_of_status("RssFile:") + 64);
    assert_int_equal(after.rss_shmem, line_of_status("RssShmem:"));
    munmap(block, size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(binaries),
            cmocka_unit_test(by_descriptor),
            cmocka_unit_test(scripts),
            cmocka_unit_test(special_files),
            cmocka_unit_test(wishes),
            cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
