// SPDX-License-Identifier: Apache-2.0
#include "cli/run_server.h"
#include "base/mem.h"
#include "os/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIR_MAX 80 /* the path of a socket in it may have 107 bytes */
#define LOG_BYTES_MAX (64u << 20)
#define OPEN_MAX_WALK 16
#define WORDS_MAX 12

static int make_dir(char **ret_dir, struct err *err)
{
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] != '/' || strlen(base) > DIR_MAX)
        base = "/tmp";
    char *dir = mem_printf("%s/muster-run-XXXXXX", base);
    if (mkdtemp(dir) == NULL) {
        int r = err_set(err, -errno, "cannot make a folder in '%s': %s", base, strerror(errno));
        mem_free(dir);
        return r;
    }
    /* Pods of other users have to get at their volumes, not see what is here. */
    if (chmod(dir, 0711) < 0) {
        int r = err_set(err, -errno, "cannot open '%s' to others: %s", dir, strerror(errno));
        (void)rmdir(dir); /* empty; what is left is in the message */
        mem_free(dir);
        return r;
    }
    *ret_dir = dir;
    return 0;
}

struct beginning {
    const char *words[WORDS_MAX]; /* its command line, NULL at the end */
    int out_fd, log_fd;
    pid_t parent;
};

/* In the child: nothing here may allocate, and nothing returns. */
static void become_server(const struct beginning *with)
{
    sigset_t none;
    (void)sigemptyset(&none); /* the calls up to exec cannot fail with these arguments, */
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setsid(); /* a child is never the leader of its group */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)unsetenv("NOTIFY_SOCKET"); /* that is ours, not the child's */
    if (getppid() != with->parent)
        _exit(EXIT_FAILURE); /* it died before it could be watched */
    if (dup2(with->out_fd, STDOUT_FILENO) < 0 || dup2(with->log_fd, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        (void)dup2(null, STDIN_FILENO); /* at worst it could read our terminal, and does not */
    (void)execv("/proc/self/exe", (char *const *)with->words);
    _exit(127);
}

static struct beginning beginning_of(const char *dir, const struct run_wishes *wishes)
{
    struct beginning with = {.words = {"muster", "up", "--data", dir, "--log-level", "warn"},
                             .parent = getpid()};
    size_t n = 6;
    if (wishes->nodes != NULL) {
        with.words[n++] = "--nodes";
        with.words[n++] = wishes->nodes;
    }
    if (wishes->config != NULL) {
        with.words[n++] = "--config";
        with.words[n++] = wishes->config;
    }
    return with;
}

int run_server_start(struct run_server *server, const struct run_wishes *wishes, struct err *err)
{
    int pipe_fds[2];
    *server = (struct run_server){.pidfd = -1, .out_fd = -1};
    int r = make_dir(&server->dir, err);
    if (r < 0)
        return r;
    scoped_free char *log = mem_printf("%s/server.log", server->dir);
    scoped_fd log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0 || pipe2(pipe_fds, O_CLOEXEC) < 0)
        return err_set(err, -errno, "cannot prepare a private server: %s", strerror(errno));
    scoped_fd write_fd = pipe_fds[1];
    server->out_fd = pipe_fds[0];
    (void)fcntl(server->out_fd, F_SETFL, O_NONBLOCK); /* a pipe takes it */
    struct beginning with = beginning_of(server->dir, wishes);
    with.out_fd = write_fd;
    with.log_fd = log_fd;
    server->pid = fork();
    if (server->pid == 0)
        become_server(&with);
    if (server->pid < 0) {
        server->pid = 0;
        return err_set(err, -errno, "cannot start a private server: %s", strerror(errno));
    }
    server->pidfd = (int)syscall(SYS_pidfd_open, server->pid, 0);
    if (server->pidfd >= 0)
        return 0;
    r = err_set(err, -errno, "cannot watch the private server: %s", strerror(errno));
    run_server_signal(server, SIGTERM);
    (void)run_server_reap(server); /* it failed anyway */
    return r;
}

int run_server_look(struct run_server *server)
{
    char part[512];
    ssize_t n = read(server->out_fd, part, sizeof(part));
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
    if (n == 0)
        return -EPIPE;
    str_addn(&server->said, part, (size_t)n);
    const char *text = str_text(&server->said);
    return str_starts(text, "ready ") && strchr(text, '\n') != NULL;
}

void run_server_signal(const struct run_server *server, int signo)
{
    if (server->pid > 0)
        (void)kill(server->pid, signo); /* our own child, not reaped yet: the pid is its */
}

int run_server_reap(struct run_server *server)
{
    int status = 0;
    while (waitpid(server->pid, &status, 0) < 0 && errno == EINTR)
        ;
    server->pid = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void run_server_tail(const struct run_server *server, size_t lines, struct str *out)
{
    scoped_free char *path = mem_printf("%s/server.log", server->dir);
    scoped_str text = {0};
    if (file_read(path, LOG_BYTES_MAX, &text, NULL) < 0)
        return;
    size_t at = text.len;
    while (at > 0 && lines > 0) {
        at--;
        while (at > 0 && text.data[at - 1] != '\n')
            at--;
        lines--;
    }
    str_addn(out, str_text(&text) + at, text.len - at);
}

char *run_server_warning(const struct run_server *server)
{
    static const char MARK[] = " node.cgroups warning=\"";
    scoped_free char *path = mem_printf("%s/server.log", server->dir);
    scoped_str text = {0};
    if (file_read(path, LOG_BYTES_MAX, &text, NULL) < 0)
        return NULL;
    const char *from = strstr(str_text(&text), MARK);
    if (from == NULL)
        return NULL;
    from += sizeof(MARK) - 1;
    return mem_strndup(from, strcspn(from, "\"\n"));
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type, (void)where;
    (void)remove(path); /* what stays is seen by the rmdir of its folder */
    return 0;
}

void run_server_done(struct run_server *server)
{
    /* Not into what a pod may have mounted there. */
    if (server->dir != NULL)
        (void)nftw(server->dir, remove_entry, OPEN_MAX_WALK, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (server->pidfd >= 0)
        close(server->pidfd);
    if (server->out_fd >= 0)
        close(server->out_fd);
    str_done(&server->said);
    mem_free(server->dir);
    *server = (struct run_server){.pidfd = -1, .out_fd = -1};
}
