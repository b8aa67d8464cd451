// SPDX-License-Identifier: Apache-2.0
#include "agent/worker.h"
#include "agent/say.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_FOUND 127 /* as shells say it */
#define NOT_EXECUTABLE 126
#define EPOCH_VARIABLE "MUSTER_EPOCH="
#define TOKEN_VARIABLE "MUSTER_TOKEN="
#define ENV_MAX 4096

void worker_adopt_orphans(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* Linux has it since 3.4 */
}

/* ---- starting ---- */

static bool is_ours(const char *variable)
{
    return strncmp(variable, EPOCH_VARIABLE, strlen(EPOCH_VARIABLE)) == 0 ||
           strncmp(variable, TOKEN_VARIABLE, strlen(TOKEN_VARIABLE)) == 0;
}

/* Ours with MUSTER_EPOCH and without the token, made without asking for memory. */
static char **environment(int64_t epoch)
{
    static char variable[40];
    static char *env[ENV_MAX + 2];
    size_t n = 0;
    (void)snprintf(variable, sizeof(variable), EPOCH_VARIABLE "%lld", (long long)epoch);
    env[n++] = variable;
    for (char **at = environ; *at != NULL && n <= ENV_MAX; at++) {
        if (!is_ours(*at))
            env[n++] = *at;
    }
    return env;
}

__attribute__((noreturn)) static void become(char *const command[], int64_t epoch, pid_t parent)
{
    sigset_t none;
    (void)setsid(); /* cannot fail in a new process */
    /* Should we be killed, the worker goes too, and does not meet its successor. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(128 + SIGKILL); /* it happened before that was in place */
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)execvpe(command[0], command, environment(epoch)); /* it returns only when it failed */
    int code = errno;
    struct err err = {0};
    (void)err_set(&err, -code, "cannot run '%s': %s", command[0], strerror(code));
    say_problem(&err);
    _exit(code == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

int worker_start(struct worker *worker, char *const command[], int64_t epoch)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        become(command, epoch, parent);
    *worker = (struct worker){.pid = pid};
    return 0;
}

bool worker_is_there(const struct worker *worker)
{
    return worker->pid > 0;
}

/* ---- ending ---- */

void worker_signal(const struct worker *worker, int signo)
{
    /* Who has just been forked may have no group yet. */
    if (worker->pid > 0 && !worker->has_exited && kill(-worker->pid, signo) < 0)
        (void)kill(worker->pid, signo);
}

/* Those that left the group: each is our child once its own parents are gone. */
static void kill_children(void)
{
    char text[1024];
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t len;
    long long pid = 0;
    while ((len = read(fd, text, sizeof(text))) > 0) {
        for (ssize_t i = 0; i < len; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid * 10 + (text[i] - '0');
                continue;
            }
            if (pid > 1)
                (void)kill((pid_t)pid, SIGKILL);
            pid = 0;
        }
    }
    (void)close(fd); /* only read from */
}

void worker_kill(const struct worker *worker)
{
    if (worker->pid <= 0)
        return;
    (void)kill(-worker->pid, SIGKILL);
    if (!worker->has_exited)
        (void)kill(worker->pid, SIGKILL);
    if (getpid() == 1)
        (void)kill(-1, SIGKILL); /* first in its container: all that is here is the worker's */
    else
        kill_children();
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool worker_reap(struct worker *worker)
{
    for (;;) {
        int status = 0;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid <= 0) {
            bool is_empty = pid < 0;
            if (worker->pid == 0 || !worker->has_exited)
                return false;
            if (!is_empty) {
                worker_kill(worker); /* what the worker left behind does not outlive it */
                return false;
            }
            worker->pid = 0;
            return true;
        }
        if (pid == worker->pid) {
            worker->has_exited = true;
            worker->code = code_of(status);
        }
    }
}
