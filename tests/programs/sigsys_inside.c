// SPDX-License-Identifier: MIT
// Has memory mapped where SIGSYS is blocked by what runs there: a thread with a mask, a handler
// with one, a handler within ppoll, a context. argv[1]: thread, handler, ppoll or context.
#include "say.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

static sigset_t all, most, none, usr1; // most: all but SIGUSR1
static ucontext_t back, inside;
static char stack[65536];

static void ask(void)
{
    for (int i = 0; i < 10; i++)
        free(malloc(hidden(1 << 20)));
}

static void *work(void *unused)
{
    ask();
    return unused;
}

static void handler(int number)
{
    need(number == SIGUSR1, "signal");
    ask();
}

static void in_thread(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setsigmask_np(&attr, &all);
    need(pthread_create(&thread, &attr, work, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
}

static void in_handler(int within_ppoll)
{
    struct timespec second = {1, 0};
    struct sigaction action = {.sa_handler = handler, .sa_mask = within_ppoll ? none : all};
    sigaction(SIGUSR1, &action, NULL);
    if (within_ppoll)
        sigprocmask(SIG_BLOCK, &usr1, NULL);
    raise(SIGUSR1);
    if (within_ppoll)
        ppoll(NULL, 0, &second, &most);
}

static void in_context(void)
{
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &back;
    inside.uc_sigmask = all;
    makecontext(&inside, ask, 0);
    swapcontext(&back, &inside);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "thread";
    sigfillset(&all);
    sigfillset(&most);
    sigdelset(&most, SIGUSR1);
    sigaddset(&usr1, SIGUSR1);
    mallopt(M_MMAP_THRESHOLD, 65536); // never raised now: each block is a mapping
    ask();
    if (!strcmp(how, "thread"))
        in_thread();
    else if (!strcmp(how, "context"))
        in_context();
    else
        in_handler(!strcmp(how, "ppoll"));
    ask();
    say("count kind=malloc n=30 bytes=31457280");
    say("count kind=free n=30");
    return 7;
}
