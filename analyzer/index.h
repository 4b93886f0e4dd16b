// SPDX-License-Identifier: MIT
// The order of a reader's index.
#ifndef MEMSPY_ANALYZER_INDEX_H
#define MEMSPY_ANALYZER_INDEX_H

#include "reader.h"

// Sorts the entries that the scan found, marks copies, notes damage and missing buffers, and fills
// reader->threads.
void ms_index_build(struct ms_reader *reader);

// Puts the index in file order; reader->threads is meaningless from then on.
void ms_index_order_by_file(struct ms_reader *reader);

#endif
