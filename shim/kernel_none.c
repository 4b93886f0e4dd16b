// SPDX-License-Identifier: MIT
// Exact mode on machines that lack it: says so.
#include "kernel.h"
#include "sys.h"

bool ms_kernel_exact;
struct sigaction ms_kernel_program_action;

bool ms_kernel_init(ms_kernel_record *record)
{
    (void)record;
    MS_SAY("exact mode needs x86-64; going on without it");
    return false;
}

void ms_kernel_attach(struct ms_tls *t)
{
    (void)t;
}

void ms_kernel_arm(struct ms_tls *t)
{
    (void)t;
}
