// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/spawn_plan.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Between clone and exec. The memory is the parent's, which sleeps meanwhile:
 *
 *  1. Nothing here allocates, takes a lock or returns to the caller's frames. Ids are changed by
 *     bare system calls: those of the C library would look for threads in the parent's memory.
 *  2. The table of descriptors may be the parent's too. The first step copies its low end and
 *     leaves the rest behind; before that no descriptor may be opened, closed or moved.
 *  3. Changing the user makes the kernel forbid tracing of this memory, so nobody of that user
 *     gets at the parent through us. It comes last but exec all the same.
 *
 * Sanitizers keep books about one stack a thread, and this is another one. */
#if defined(__clang__)
#define CHILD_CODE __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define CHILD_CODE __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define CLOSE_MAX 65536

CHILD_CODE static int failed(void)
{
    return errno ? -errno : -EIO;
}

CHILD_CODE static void close_all(const struct spawn *spawn)
{
    if (spawn->has_close_range && close_range(3, ~0U, 0) == 0)
        return;
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 3; fd < CLOSE_MAX && (rlim_t)fd < limit.rlim_cur; fd++)
        (void)close(fd); /* most are not open */
}

CHILD_CODE static int step_files(struct spawn_plan *plan)
{
    const struct spawn *spawn = plan->spawn;
    int out = plan->has_out ? spawn->out_fd : spawn->null_fd;
    unsigned first = (unsigned)(spawn->null_fd > spawn->out_fd ? spawn->null_fd : spawn->out_fd);
    if (plan->shares_files && close_range(first + 1, ~0U, CLOSE_RANGE_UNSHARE) < 0)
        return failed();
    if (dup2(spawn->null_fd, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        return failed();
    close_all(spawn);
    return 0;
}

/* A group that can be signalled, and no terminal: in a session of ours that has none, that takes no
 * session of its own. With each session the kernel makes a group for the scheduler, which costs as
 * much as all else here and is of use only to who is in no control group. */
CHILD_CODE static int step_session(struct spawn_plan *plan)
{
    bool has_group = plan->request->cgroup != NULL || plan->request->join != NULL;
    bool may_stay = plan->spawn->has_session && has_group;
    return (may_stay ? setpgid(0, 0) : setsid()) < 0 ? failed() : 0;
}

CHILD_CODE static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return failed();
    int r = write(fd, text, strlen(text)) < 0 ? failed() : 0;
    (void)close(fd);
    return r;
}

CHILD_CODE static int step_cgroup(struct spawn_plan *plan)
{
    const char *const *join = plan->request->join;
    int r = 0;
    if (plan->procs) {
        plan->path = plan->request->cgroup;
        r = write_file(plan->procs, "0");
    }
    for (; r == 0 && join && *join; join++) {
        plan->path = *join;
        r = write_file(*join, "0");
    }
    return r;
}

CHILD_CODE static int step_limit(struct spawn_plan *plan)
{
    struct rlimit limit;
    if (plan->request->nofile_soft < 0)
        return 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return failed();
    rlim_t soft = (rlim_t)plan->request->nofile_soft;
    soft = soft > limit.rlim_max ? limit.rlim_max : soft;
    if (limit.rlim_cur == soft)
        return 0;
    limit.rlim_cur = soft;
    return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? failed() : 0;
}

/* The place to mount on, with its parents, when it is not there. */
CHILD_CODE static int make_point(const char *target, bool is_dir)
{
    char part[PATH_MAX];
    if (access(target, F_OK) == 0)
        return 0;
    if (strlen(target) >= sizeof(part))
        return -ENAMETOOLONG;
    memcpy(part, target, strlen(target) + 1);
    for (char *at = part + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST && access(part, F_OK) < 0)
            return failed();
        *at = '/';
    }
    if (is_dir)
        return mkdir(target, 0755) < 0 && errno != EEXIST ? failed() : 0;
    int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return failed();
    (void)close(fd);
    return 0;
}

/* A remount sets all flags anew: those that the file system came with must be said again. */
CHILD_CODE static int make_read_only(const char *target)
{
    static const struct {
        unsigned long has, wants;
    } FLAGS[] = {
        {ST_NOSUID, MS_NOSUID},   {ST_NODEV, MS_NODEV},           {ST_NOEXEC, MS_NOEXEC},
        {ST_NOATIME, MS_NOATIME}, {ST_NODIRATIME, MS_NODIRATIME},
    };
    struct statvfs st;
    unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY;
    if (statvfs(target, &st) < 0)
        return failed();
    for (size_t i = 0; i < ARRAY_LEN(FLAGS); i++)
        flags |= st.f_flag & FLAGS[i].has ? FLAGS[i].wants : 0;
    return mount(NULL, target, NULL, flags, NULL) < 0 ? failed() : 0;
}

CHILD_CODE static int mount_one(const struct spawn_mount *mnt)
{
    struct stat st;
    if (stat(mnt->source, &st) < 0)
        return failed();
    int r = make_point(mnt->target, S_ISDIR(st.st_mode));
    if (r < 0)
        return r;
    if (mount(mnt->source, mnt->target, NULL, MS_BIND | MS_REC, NULL) < 0)
        return failed();
    return mnt->is_read_only ? make_read_only(mnt->target) : 0;
}

CHILD_CODE static int step_mount(struct spawn_plan *plan)
{
    const struct spawn_request *request = plan->request;
    if (request->n_mounts == 0)
        return 0;
    plan->path = "/";
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return failed();
    for (size_t i = 0; i < request->n_mounts; i++) {
        plan->path = request->mounts[i].target;
        int r = mount_one(&request->mounts[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

CHILD_CODE static int step_chdir(struct spawn_plan *plan)
{
    if (plan->request->dir == NULL)
        return 0;
    plan->path = plan->request->dir;
    return chdir(plan->request->dir) < 0 ? failed() : 0;
}

CHILD_CODE static int set_groups(const struct spawn_request *request)
{
    gid_t groups[NGROUPS_MAX < 256 ? NGROUPS_MAX : 256];
    if (request->n_groups > ARRAY_LEN(groups))
        return -E2BIG;
    for (size_t i = 0; i < request->n_groups; i++)
        groups[i] = (gid_t)request->groups[i];
    return syscall(SYS_setgroups, request->n_groups, groups) < 0 ? failed() : 0;
}

CHILD_CODE static int step_user(struct spawn_plan *plan)
{
    const struct spawn_request *request = plan->request;
    bool has_uid = request->uid >= 0 && request->uid != geteuid();
    bool has_gid = request->gid >= 0 && request->gid != getegid();
    uid_t uid = (uid_t)request->uid;
    gid_t gid = (gid_t)request->gid;
    if (has_uid || has_gid || request->n_groups > 0) {
        int r = set_groups(request); /* an empty list too: ours are not for others */
        if (r < 0)
            return r;
    }
    if (has_gid && syscall(SYS_setresgid, gid, gid, gid) < 0)
        return failed();
    if (has_uid && syscall(SYS_setresuid, uid, uid, uid) < 0)
        return failed();
    return 0;
}

CHILD_CODE static void reset_signals(const struct spawn_plan *plan)
{
    struct spawn_sigaction action = {.handler = SIG_DFL};
    sigset_t none;
    for (int signo = 1; signo < _NSIG; signo++)
        if (plan->has_handlers || plan->spawn->ignored >> (signo - 1) & 1)
            (void)syscall(SYS_rt_sigaction, signo, &action, NULL, SPAWN_SIGSET_BYTES);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

CHILD_CODE static const char *path_of(char *const *envp)
{
    for (; *envp; envp++)
        if (strncmp(*envp, "PATH=", 5) == 0)
            return *envp + 5;
    return PATH_DEFAULT;
}

/* Like execvpe(), but with the PATH that the program will have. */
CHILD_CODE static int exec_search(char *const *argv, char *const *envp)
{
    char file[PATH_MAX];
    size_t name_len = strlen(argv[0]);
    int error = ENOENT;
    for (const char *dir = path_of(envp), *end; dir; dir = *end ? end + 1 : NULL) {
        end = strchrnul(dir, ':');
        size_t len = (size_t)(end - dir);
        if (len + name_len + 2 > sizeof(file))
            continue;
        memcpy(file, dir, len);
        file[len] = '/';
        /* An empty part is the current folder. */
        memcpy(file + (len ? len + 1 : 0), argv[0], name_len + 1);
        (void)execve(file, argv, envp);
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
            return failed();
        if (errno == EACCES)
            error = EACCES;
    }
    return -error;
}

CHILD_CODE static int step_exec(struct spawn_plan *plan)
{
    char *const none[] = {NULL};
    char *const *argv = (char *const *)plan->request->argv;
    char *const *envp = plan->request->envp ? (char *const *)plan->request->envp : none;
    plan->path = argv[0];
    reset_signals(plan);
    if (argv[0][0] == '\0')
        return -ENOENT;
    if (strchr(argv[0], '/') == NULL)
        return exec_search(argv, envp);
    (void)execve(argv[0], argv, envp);
    return failed();
}

static const struct {
    enum spawn_stage stage;
    int (*run)(struct spawn_plan *plan);
} STEPS[] = {
    {SPAWN_AT_FILES, step_files}, {SPAWN_AT_SESSION, step_session}, {SPAWN_AT_CGROUP, step_cgroup},
    {SPAWN_AT_LIMIT, step_limit}, {SPAWN_AT_MOUNT, step_mount},     {SPAWN_AT_CHDIR, step_chdir},
    {SPAWN_AT_USER, step_user},   {SPAWN_AT_EXEC, step_exec},
};

CHILD_CODE int spawn_child_run(void *arg)
{
    struct spawn_plan *plan = arg;
    for (size_t i = 0; i < ARRAY_LEN(STEPS); i++) {
        plan->path = "";
        int r = STEPS[i].run(plan);
        if (r == 0)
            continue;
        plan->stage = STEPS[i].stage;
        plan->error = -r;
        break;
    }
    _exit(127); /* of a failure that was told; nobody sees this code */
}
