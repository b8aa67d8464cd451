// SPDX-License-Identifier: Apache-2.0
#include "os/init.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const int PASSED_ON[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
#define PASSED_ON_COUNT (sizeof(PASSED_ON) / sizeof(PASSED_ON[0]))

static void ends_as(int status)
{
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* All that has ended; the child's end is ours. */
static void reap(pid_t child)
{
    int status = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == child)
            ends_as(status);
    }
    if (pid < 0 && errno == ECHILD)
        exit(EXIT_FAILURE); /* cannot be while the child lives */
}

void init_guard(void)
{
    if (getpid() != 1)
        return;
    sigset_t signals, before;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < PASSED_ON_COUNT; i++)
        (void)sigaddset(&signals, PASSED_ON[i]);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    pid_t child = fork();
    if (child <= 0) { /* the child; or alone, which is better than not at all */
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        return;
    }
    for (;;) {
        int signo = 0;
        if (sigwait(&signals, &signo) != 0)
            continue;
        if (signo == SIGCHLD)
            reap(child);
        else
            (void)kill(child, signo);
    }
}
