// SPDX-License-Identifier: Apache-2.0
/* Things are tried rather than looked up: a file is written and synced, a port bound, a control
 * group made. What only makes a server worse is a warning. */
#include "cli/machine.h"
#include "base/mem.h"
#include "node/cgroup.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/filelock.h"
#include "os/socket.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define FREE_BYTES_LEAST ((uint64_t)256 << 20)
#define SYNC_MS_MOST 50
#define FILES_LEAST 4096
#define PIDS_LEAST 4096
#define POD_FILES 3 /* of the server for each pod: log, notify socket, events of its group */

struct machine {
    struct cli *cli;
    struct str data;
    bool is_able;
};

enum mark { FINE, WORSE, UNABLE };

__attribute__((format(printf, 4, 5))) static void say(struct machine *machine, enum mark mark,
                                                      const char *what, const char *fmt, ...)
{
    static const char *const WORDS[] = {"ok", "warn", "FAILED"};
    static const char *const COLORS[] = {"\033[32m", "\033[33m", "\033[31m"};
    struct cli *cli = machine->cli;
    va_list args;
    fprintf(cli->out, "%s%-6s%s  %-14s  ", cli->color ? COLORS[mark] : "", WORDS[mark],
            cli->color ? "\033[0m" : "", what);
    va_start(args, fmt);
    (void)vfprintf(cli->out, fmt, args);
    va_end(args);
    fputc('\n', cli->out);
    if (mark == UNABLE)
        machine->is_able = false;
}

static void hint(struct machine *machine, const char *text)
{
    if (text[0] != '\0')
        fprintf(machine->cli->out, "        hint: %s\n", text);
}

/* ---- the data directory ---- */

/* Milliseconds for a small synced write there, or a negative errno. */
static int64_t try_sync(const char *folder)
{
    scoped_free char *path = mem_printf("%s/.check-%ld", folder, (long)getpid());
    scoped_fd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    char page[4096] = {0};
    time_ms before = clock_monotonic();
    int64_t r = write(fd, page, sizeof(page)) == (ssize_t)sizeof(page) && fdatasync(fd) == 0
                    ? clock_monotonic() - before
                    : -errno;
    (void)unlink(path); /* we made it */
    return r;
}

static void check_data(struct machine *machine)
{
    const char *folder = str_text(&machine->data);
    struct err err = {0};
    bool was_there = file_exists(folder);
    if (dir_make(folder, 0700, &err) < 0) {
        say(machine, UNABLE, "data directory", "%s", err.text);
        hint(machine, "name another one with --data, or make it writable");
        return;
    }
    int64_t ms = try_sync(folder);
    struct statvfs disk = {0};
    (void)statvfs(folder, &disk); /* 0 bytes is what we say then */
    uint64_t available = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (!was_there)
        (void)rmdir(folder);
    if (ms < 0) {
        say(machine, UNABLE, "data directory", "%s: %s", folder, strerrordesc_np((int)-ms));
        hint(machine, "name another one with --data, or make it writable");
    } else {
        say(machine, available < FREE_BYTES_LEAST || ms > SYNC_MS_MOST ? WORSE : FINE,
            "data directory", "%s, %" PRIu64 " MB free, a synced write takes %" PRId64 " ms",
            folder, available >> 20, ms);
        hint(machine, available < FREE_BYTES_LEAST ? "free some space: a full disk refuses writes"
                      : ms > SYNC_MS_MOST ? "a slow disk makes every change slow; use a local SSD"
                                          : "");
    }
}

static void check_instance(struct machine *machine)
{
    scoped_free char *path = mem_printf("%s/muster.db.lock", str_text(&machine->data));
    scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    long holder = 0;
    if (fd < 0 || filelock_take(fd, LOCK_SH, &holder) == 1) {
        say(machine, FINE, "other servers", "none uses this directory");
        return;
    }
    if (holder > 0)
        say(machine, UNABLE, "other servers", "process %ld uses this directory", holder);
    else
        say(machine, UNABLE, "other servers", "one uses this directory");
    hint(machine, "stop that one, or give this one a directory of its own with --data");
}

/* ---- network ---- */

static void check_listen(struct machine *machine)
{
    const char *address = opt_get(&machine->cli->opts, "listen");
    struct err err = {0};
    scoped_fd fd = -1;
    char host[256];
    int port = 0;
    if (socket_listen_tcp(address, &fd, host, &port, &err) < 0) {
        say(machine, UNABLE, "address", "%s", err.text);
        hint(machine, err.hint[0] ? err.hint : "name another one with --listen");
        return;
    }
    say(machine, FINE, "address", "%s can be listened on", address);
}

/* ---- control groups ---- */

static int try_group(struct cgroup_tree *tree, struct err *err)
{
    struct cgroup_limits limits = {.cpu_weight = 100};
    int r = cgroup_pod_make(tree, "check", &limits, err);
    if (r == 0)
        r = cgroup_leaf_make(tree, "check", "check.g1", &limits, err);
    (void)cgroup_leaf_remove(tree, "check", "check.g1"); /* empty: nothing was put in */
    (void)cgroup_pod_remove(tree, "check");              /* nobody was in it */
    return r;
}

static void tell_groups(struct machine *machine, struct cgroup_can can, const char *why)
{
    struct str list = {0};
    const struct {
        bool is_there;
        const char *name;
    } PARTS[] = {{can.cpu, "weights"},
                 {can.cpu_max, "CPU limits"},
                 {can.memory, "memory limits"},
                 {can.pids, "pids"},
                 {can.kill, "killing at once"}};
    bool is_whole = true;
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++) {
        if (PARTS[i].is_there)
            str_addf(&list, "%s%s", list.len > 0 ? ", " : "", PARTS[i].name);
        is_whole = is_whole && PARTS[i].is_there;
    }
    say(machine, is_whole ? FINE : WORSE, "control groups", "%s",
        list.len > 0 ? str_text(&list) : "made, without any control");
    if (!is_whole)
        hint(machine, why[0] ? why : "some settings of pods will have no effect");
    str_done(&list);
}

static void check_groups(struct machine *machine)
{
    if (opt_is_given(&machine->cli->opts, "no-cgroups")) {
        say(machine, WORSE, "control groups", "not wanted: --no-cgroups");
        return;
    }
    scoped_str why = {0};
    scoped_free char *name = mem_printf("check-%ld", (long)getpid());
    struct cgroup_tree *tree = cgroup_tree_open(CGROUP_ROOT, name, &why);
    struct cgroup_can can = cgroup_can(tree);
    struct err err = {0};
    if (!can.is_there || try_group(tree, &err) < 0) {
        say(machine, WORSE, "control groups", "none: %s", err.text[0] ? err.text : str_text(&why));
        hint(machine, "pods run in process groups, without limits and without protection of those "
                      "that are ready; root, or a delegated group, has them");
    } else {
        tell_groups(machine, can, str_text(&why));
    }
    cgroup_tree_remove(tree);
    cgroup_tree_close(tree);
}

/* ---- kernel and limits ---- */

static void check_kernel(struct machine *machine)
{
    struct utsname name = {0};
    (void)uname(&name); /* cannot fail */
    long fd = syscall(SYS_pidfd_open, getpid(), 0);
    if (fd >= 0)
        (void)close((int)fd);
    if (fd < 0) {
        say(machine, UNABLE, "kernel", "%s has no pidfd", name.release);
        hint(machine, "Linux 5.4 or newer is needed to run pods; --no-node serves objects only");
        return;
    }
    say(machine, FINE, "kernel", "%s %s", name.sysname, name.release);
}

static void check_files(struct machine *machine)
{
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_NOFILE, &limit); /* cannot fail */
    bool is_few = limit.rlim_max < FILES_LEAST;
    say(machine, is_few ? WORSE : FINE, "open files", "%llu: about %llu pods",
        (unsigned long long)limit.rlim_max, (unsigned long long)(limit.rlim_max / POD_FILES));
    hint(machine, is_few ? "raise the hard limit (ulimit -Hn, LimitNOFILE=) for more" : "");
}

static void check_pids(struct machine *machine)
{
    scoped_str text = {0};
    if (file_read("/proc/sys/kernel/pid_max", 64, &text, NULL) < 0)
        return;
    long most = strtol(str_text(&text), NULL, 10);
    say(machine, most < PIDS_LEAST ? WORSE : FINE, "processes", "at most %ld on this machine",
        most);
    hint(machine, most < PIDS_LEAST ? "raise kernel.pid_max" : "");
}

static void check_pressure(struct machine *machine)
{
    bool is_there = access("/proc/pressure/cpu", R_OK) == 0;
    say(machine, is_there ? FINE : WORSE, "pressure", "%s",
        is_there ? "measured by the kernel" : "not measured by this kernel");
    hint(machine, is_there ? ""
                           : "only the setting maxPressure of a NodeConfig needs it; psi=1 on the "
                             "kernel's command line turns it on");
}

int machine_check(struct cli *cli)
{
    struct machine machine = {.cli = cli, .is_able = true};
    struct err err = {0};
    if (cli_data_dir(cli, &machine.data, &err) < 0)
        return cli_error(cli, CLI_FAILED, &err);
    check_data(&machine);
    check_instance(&machine);
    check_listen(&machine);
    if (!opt_flag(&cli->opts, "no-node")) {
        check_kernel(&machine);
        check_groups(&machine);
        check_files(&machine);
        check_pids(&machine);
        check_pressure(&machine);
    }
    str_done(&machine.data);
    return machine.is_able ? CLI_OK : CLI_FAILED;
}
