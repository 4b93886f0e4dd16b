// SPDX-License-Identifier: MIT
// Runs a fuzz target on files and on all files of directories, for builds without libFuzzer: what
// was once found stays found by every compiler.
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>

static unsigned runs;

static void run_file(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    MUST(file != NULL);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    MUST(!ferror(file));
    fclose(file);
    uint8_t *exact = malloc(size + !size);
    MUST(exact != NULL);
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    runs++;
}

static void run_directory(const char *path)
{
    char name[4096];
    DIR *directory = opendir(path);
    if (directory == NULL) {
        run_file(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        MUST(snprintf(name, sizeof name, "%s/%s", path, entry->d_name) < (int)sizeof name);
        run_file(name);
    }
    closedir(directory);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run_directory(argv[i]);
    fprintf(stderr, "%u inputs\n", runs);
    return runs ? 0 : 1;
}
