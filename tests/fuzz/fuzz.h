// SPDX-License-Identifier: MIT
// What the fuzz targets share. Each target is one file with LLVMFuzzerTestOneInput; without
// libFuzzer, driver.c calls it for every file of a corpus.
#ifndef MEMSPY_TESTS_FUZZ_H
#define MEMSPY_TESTS_FUZZ_H

#include <stdlib.h>

#include "../unit/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Ends the run as a finding if what must hold does not.
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

// Encodes the events as a sealed block does, decodes them, and compares.
void fuzz_columns_round_trip(const struct ms_event *events, size_t count, uint64_t base);

#endif
