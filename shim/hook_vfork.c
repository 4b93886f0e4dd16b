// SPDX-License-Identifier: MIT
// vfork. Its child runs on the caller's stack frame and overwrites what is below, so that no C
// function can stand around it: vfork_<machine>.S does, and calls these before and after. The
// caller's return address is kept with the thread. Context: any thread; ms_vfork_after runs twice,
// in the child and, when that has gone, in the parent.
#include "death.h"
#include "real.h"
#include "lineage.h"
#include "life.h"
#include "spy.h"
#include "sys.h"

#include <errno.h>
#include <unistd.h>

// What the assembly needs, returned in two registers.
struct ms_vfork_plan {
    pid_t (*real)(void);
    uintptr_t records; // whether ms_vfork_after is to be called
};

MS_HIDDEN struct ms_vfork_plan ms_vfork_before(void *return_address);
MS_HIDDEN void *ms_vfork_after(pid_t child);

struct ms_vfork_plan ms_vfork_before(void *return_address)
{
    struct ms_tls *t = &ms_tls;
    uint64_t entry = ms_sys_ticks();
    ms_real_init();
    struct ms_vfork_plan plan = {ms_real.vfork != NULL ? ms_real.vfork : ms_real.fork, 0};
    if (!ms_life_here())
        return plan;
    if (!ms_life_is_guest())
        ms_spy_make_room();
    if (!ms_thread_attached(t) || t->thread->vfork_depth == MS_VFORKS)
        return plan;
    // The frame is taken before it is filled: a signal handler may vfork as well.
    struct ms_vfork *frame = &t->thread->vforks[t->thread->vfork_depth++];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    frame->return_address = return_address;
    frame->pid = ms_sys_pid();
    frame->state = t->place.state;
    frame->gap = (struct ms_gap){0};
    frame->own = 0;
    frame->mapped = 0;
    plan.records = ms_spawn_before(&frame->birth, MS_SPAWN_VFORK, return_address, entry);
    if (!plan.records)
        t->thread->vfork_depth--;
    else if (frame->birth.memory.threads == 1 && !ms_life_is_guest()) {
        ms_death_suspend();
        frame->birth.start = ms_sys_ticks();
    }
    return plan;
}

// The frame of the calling process: those above it are of descendants that never came back to it.
static uint32_t own_depth(const struct ms_thread *thread)
{
    int pid = ms_sys_pid();
    uint32_t depth = thread->vfork_depth;
    while (depth > 1 && thread->vforks[depth - 1].pid != pid)
        depth--;
    return depth;
}

void *ms_vfork_after(pid_t child)
{
    struct ms_tls *t = &ms_tls;
    if (child == 0) {
        struct ms_vfork *frame = &t->thread->vforks[t->thread->vfork_depth - 1];
        frame->gap.begin = ms_sys_ticks();
        return frame->return_address;
    }
    uint32_t depth = own_depth(t->thread);
    struct ms_vfork *frame = &t->thread->vforks[depth - 1];
    struct ms_spawn_result result = {
            .cost = ms_spawn_cost(&frame->birth), .has_cost = true, .child = child};
    // What recording did in the child was not the program's.
    result.cost -= frame->own < result.cost ? frame->own : result.cost;
    int saved = errno;
    if (!ms_life_is_guest())
        ms_death_resume();
    result.error = child < 0 ? saved : 0;
    t->place.state = frame->state;
    if (frame->mapped != 0)
        ms_sys_unmap(frame->environment, frame->mapped);
    ms_spawn_after(&frame->birth, &result);
    errno = saved;
    void *return_address = frame->return_address;
    // Given back last of all, for a signal handler's sake.
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->thread->vfork_depth = depth - 1;
    return return_address;
}
