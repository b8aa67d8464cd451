// SPDX-License-Identifier: Apache-2.0
#include "node/spawn.h"
#include "base/mem.h"
#include "node/spawn_plan.h"
#include "os/fd.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A start is one clone that shares our memory and, in a process without other threads, our table
 * of descriptors; we sleep until the child has become the program.
 *
 *  1. Its cost does not depend on how many children there are: a copied table would (a pidfd a
 *     child), and each child would keep its size.
 *  2. The child takes its standard descriptors from two reserved low numbers, so that it need only
 *     copy the low end of the table and never touches ours.
 *  3. We wake up when the program's memory is in place, which is before the kernel has closed what
 *     is close-on-exec. The child therefore closes everything itself before it executes; no pidfd
 *     or socket of ours has a second holder when we run again.
 *  4. A kernel that lacks something gets the slower way, not an error: no clone3 (old, or filtered)
 *     means clone, and a group that one cannot be born into is joined through its file.
 *  5. A child is born with our own score for the killer of last resort, so we take on what it
 * should have, and keep it while more of the same follow. A child that looks itself up in /proc
 * leaves entries there that the kernel has to find and remove at its end: a tenth of a whole
 * restart. */

#define STACK_BYTES (size_t)(128 * 1024)
#define CHILD_FLAGS (CLONE_VM | CLONE_VFORK | CLONE_PIDFD)

const char *const SPAWN_STAGE[] = {
    [SPAWN_AT_OUT] = "out",         [SPAWN_AT_CLONE] = "clone",   [SPAWN_AT_FILES] = "files",
    [SPAWN_AT_SESSION] = "session", [SPAWN_AT_CGROUP] = "cgroup", [SPAWN_AT_MOUNT] = "mount",
    [SPAWN_AT_CHDIR] = "chdir",     [SPAWN_AT_LIMIT] = "limit",   [SPAWN_AT_USER] = "user",
    [SPAWN_AT_EXEC] = "exec",
};

#if defined(__x86_64__) && defined(SYS_clone3)
#define HAS_CLONE3 true
/* The C library has no wrapper. The child comes back from the kernel on another stack, so it must
 * not return into C code that believes to be on the old one. */
__attribute__((noinline)) static long clone3_run(struct clone_args *args, void *plan)
{
    long r;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "movq %[plan], %%rdi\n\t"
                     "call *%[run]\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(r)
                     : "0"((long)SYS_clone3), "D"(args),
                       "S"(sizeof(*args)), [run] "r"(spawn_child_run), [plan] "r"(plan)
                     : "rcx", "r11", "memory");
    return r;
}
#else
#define HAS_CLONE3 false
static long clone3_run(struct clone_args *args, void *plan)
{
    (void)args;
    (void)plan;
    return -ENOSYS;
}
#endif

static uint64_t ignored_signals(void)
{
    uint64_t ignored = 0;
    for (int signo = 1; signo < _NSIG; signo++) {
        struct spawn_sigaction action = {0};
        if (syscall(SYS_rt_sigaction, signo, NULL, &action, SPAWN_SIGSET_BYTES) == 0 &&
            action.handler == SIG_IGN)
            ignored |= UINT64_C(1) << (signo - 1);
    }
    return ignored;
}

/* Without it children have our score: they run all the same. */
static void learn_oom_score(struct spawn *spawn)
{
    char text[16] = {0};
    spawn->oom_fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (spawn->oom_fd < 0 || pread(spawn->oom_fd, text, sizeof(text) - 1, 0) <= 0)
        fd_close_scoped(&spawn->oom_fd);
    spawn->oom_own = spawn->oom_now = (int)strtol(text, NULL, 10);
}

/* Below what we began with takes a capability: without it the child has what we have. */
static void set_oom_score(struct spawn *spawn, int value)
{
    char text[16];
    if (spawn->oom_fd < 0 || value == spawn->oom_now)
        return;
    int len = snprintf(text, sizeof(text), "%d", value);
    if (pwrite(spawn->oom_fd, text, (size_t)len, 0) == len)
        spawn->oom_now = value;
}

void spawn_rest(struct spawn *spawn)
{
    set_oom_score(spawn, spawn->oom_own);
}

static int reserve_null(int *ret_fd, struct err *err)
{
    scoped_fd fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, -errno, "open '/dev/null': %s", strerror(errno));
    int low = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* above the standard ones, which may be closed */
    if (low < 0)
        return err_set(err, -errno, "duplicate a descriptor: %s", strerror(errno));
    *ret_fd = low;
    return 0;
}

int spawn_init(struct spawn *spawn, bool is_threaded, struct err *err)
{
    struct spawn s = {.null_fd = -1, .out_fd = -1, .oom_fd = -1, .is_threaded = is_threaded};
    int r = reserve_null(&s.null_fd, err);
    if (r == 0)
        r = reserve_null(&s.out_fd, err);
    if (r == 0) {
        s.stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (s.stack == MAP_FAILED) {
            s.stack = NULL;
            r = err_set(err, -errno, "map a stack: %s", strerror(errno));
        }
    }
    if (r < 0) {
        spawn_done(&s);
        return r;
    }
    (void)mprotect(s.stack, 4096, PROT_NONE); /* a guard; nothing reaches it */
    s.ignored = ignored_signals();
    learn_oom_score(&s);
    s.has_clone3 = HAS_CLONE3;
    s.has_into_cgroup = HAS_CLONE3;
    s.has_close_range = close_range(~0U, ~0U, 0) == 0;
    *spawn = s;
    return 0;
}

void spawn_done(struct spawn *spawn)
{
    fd_close_scoped(&spawn->null_fd);
    fd_close_scoped(&spawn->out_fd);
    fd_close_scoped(&spawn->oom_fd);
    if (spawn->stack)
        (void)munmap(spawn->stack, STACK_BYTES);
    spawn->stack = NULL;
}

static int fault(struct spawn_fault *ret, enum spawn_stage stage, int error, const char *path)
{
    *ret = (struct spawn_fault){stage, error, path ? path : ""};
    return -error;
}

static int clone_old(struct spawn *spawn, struct spawn_plan *plan, int *ret_pidfd)
{
    int flags = CHILD_FLAGS | SIGCHLD | (plan->shares_files ? CLONE_FILES : 0);
    plan->has_handlers = true;
    int pid = clone(spawn_child_run, spawn->stack + STACK_BYTES, flags, plan, ret_pidfd);
    return pid < 0 ? -errno : pid;
}

static int clone_new(struct spawn *spawn, struct spawn_plan *plan, int cgroup_fd, int *ret_pidfd)
{
    struct clone_args args = {
        .flags = CHILD_FLAGS | CLONE_CLEAR_SIGHAND | (plan->shares_files ? CLONE_FILES : 0) |
                 (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)spawn->stack,
        .stack_size = STACK_BYTES,
        .cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
    };
    plan->has_handlers = false;
    return (int)clone3_run(&args, plan);
}

/* Tries the best way first and remembers what the kernel does not have. */
static int clone_any(struct spawn *spawn, struct spawn_plan *plan, int cgroup_fd, int *ret_pidfd)
{
    if (spawn->has_clone3 && cgroup_fd >= 0 && spawn->has_into_cgroup) {
        const char *procs = plan->procs;
        plan->procs = NULL;
        int r = clone_new(spawn, plan, cgroup_fd, ret_pidfd);
        /* EBADF: not a group of the second version. EINVAL, E2BIG: the flag is not known. */
        if (r != -EBADF && r != -EINVAL && r != -E2BIG && r != -ENOSYS)
            return r;
        spawn->has_into_cgroup = r == -EBADF;
        plan->procs = procs;
    }
    if (spawn->has_clone3) {
        int r = clone_new(spawn, plan, -1, ret_pidfd);
        if (r != -ENOSYS && r != -EINVAL && r != -EPERM)
            return r;
        spawn->has_clone3 = false; /* a filter may say EPERM for it */
    }
    return clone_old(spawn, plan, ret_pidfd);
}

/* All signals wait while the child uses our memory: a handler of ours must not run in it. */
static int clone_quietly(struct spawn *spawn, struct spawn_plan *plan, int cgroup_fd,
                         int *ret_pidfd)
{
    sigset_t all, before;
    int dumpable = prctl(PR_GET_DUMPABLE);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int pid = clone_any(spawn, plan, cgroup_fd, ret_pidfd);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* A child that changed its user took this from the memory that was still ours. */
    if (dumpable == 1 && (plan->request->uid >= 0 || plan->request->gid >= 0))
        (void)prctl(PR_SET_DUMPABLE, 1);
    return pid;
}

static void reap(int pidfd)
{
    siginfo_t info;
    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0 && errno == EINTR)
        ;
    (void)close(pidfd);
}

static int open_cgroup(const struct spawn_request *request, int *ret_fd, char procs[PATH_MAX])
{
    if (request->cgroup == NULL)
        return 0;
    int len = snprintf(procs, PATH_MAX, "%s/cgroup.procs", request->cgroup);
    if (len >= PATH_MAX)
        return -ENAMETOOLONG;
    *ret_fd = open(request->cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd < 0 ? -errno : 0;
}

static int open_out(const struct spawn *spawn, const char *path)
{
    if (path == NULL)
        return 0;
    scoped_fd fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC, 0640);
    return fd < 0 || dup3(fd, spawn->out_fd, O_CLOEXEC) < 0 ? -errno : 0;
}

static uint64_t ident_of(int pidfd)
{
    struct stat st;
    return fstat(pidfd, &st) < 0 ? 0 : st.st_ino;
}

/* The number stays taken, but not the file: it may be on a disk that is to be unmounted. */
static void release_out(const struct spawn *spawn, const char *path)
{
    if (path)
        (void)dup3(spawn->null_fd, spawn->out_fd, O_CLOEXEC); /* it stays open if this fails */
}

int spawn_start(struct spawn *spawn, const struct spawn_request *request,
                struct spawn_born *ret_born, struct spawn_fault *ret_fault)
{
    char procs[PATH_MAX];
    scoped_fd cgroup_fd = -1;
    int pidfd = -1;
    if (request->argv == NULL || request->argv[0] == NULL)
        return fault(ret_fault, SPAWN_AT_EXEC, EINVAL, "");
    int r = open_cgroup(request, &cgroup_fd, procs);
    if (r < 0)
        return fault(ret_fault, SPAWN_AT_CGROUP, -r, request->cgroup);
    r = open_out(spawn, request->out);
    if (r < 0)
        return fault(ret_fault, SPAWN_AT_OUT, -r, request->out);
    struct spawn_plan plan = {
        .spawn = spawn,
        .request = request,
        .procs = request->cgroup ? procs : NULL,
        .shares_files = !spawn->is_threaded && spawn->has_close_range,
        .has_out = request->out != NULL,
    };
    set_oom_score(spawn, request->oom_score_adj);
    int pid = clone_quietly(spawn, &plan, cgroup_fd, &pidfd);
    release_out(spawn, request->out);
    if (pid < 0) {
        bool is_group = pid == -EACCES || pid == -EBUSY || pid == -EOPNOTSUPP || pid == -ENODEV;
        return fault(ret_fault, is_group ? SPAWN_AT_CGROUP : SPAWN_AT_CLONE, -pid,
                     is_group ? request->cgroup : "");
    }
    if (plan.error != 0) {
        reap(pidfd);
        return fault(ret_fault, plan.stage, plan.error, plan.path);
    }
    *ret_born = (struct spawn_born){pid, pidfd, ident_of(pidfd)};
    return 0;
}
