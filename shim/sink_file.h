// SPDX-License-Identifier: MIT
// What sink.c and sink_open.c share: which file the trace is. No other file includes this.
#ifndef MEMSPY_SINK_FILE_H
#define MEMSPY_SINK_FILE_H

#include "conf.h"
#include "sink.h"

// A session id in hexadecimal.
#define MS_SESSION_DIGITS (2 * (int)sizeof(((struct ms_file_header *)0)->session))

// Where the parts of MEMSPY_TRACE's value begin: SESSION:INDEX:PATH, INDEX being eight hexadecimal
// digits.
#define MS_JOIN_PATH (MS_SINK_INDEX_AT + MS_SINK_INDEX_DIGITS + 1)

struct ms_sink_file {
    char join[MS_PATH_MAX + 64]; // MEMSPY_TRACE's value for the programs to be started
    uint32_t ancestor;           // the index in the value by which the trace was joined
    int descriptor;              // atomic; -1 when there is none
    uint64_t device;             // with inode: what the descriptor must refer to
    uint64_t inode;
};

extern struct ms_sink_file ms_sink_file;

#endif
