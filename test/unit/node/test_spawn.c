// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/mem.h"
#include "node/spawn.h"
#include "os/fd.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Real children. Each test runs in a folder of its own with a file for their output. */
struct rig {
    struct spawn spawn;
    char dir[64];
    char out[96];
    siginfo_t end;
    struct spawn_fault fault;
    struct str text;
};

static const char *const ENV[] = {"PATH=/usr/bin:/bin", "A=b", NULL};

static struct rig rig_open(bool is_threaded)
{
    struct rig rig = {.dir = "/tmp/muster-test-spawn-XXXXXX"};
    struct err err = {0};
    assert_non_null(mkdtemp(rig.dir));
    (void)snprintf(rig.out, sizeof(rig.out), "%s/out", rig.dir);
    assert_int_equal(spawn_init(&rig.spawn, is_threaded, &err), 0);
    return rig;
}

static void rig_close(struct rig *rig)
{
    scoped_free char *command = mem_printf("rm -rf '%s'", rig->dir);
    spawn_done(&rig->spawn);
    str_done(&rig->text);
    int r = system(command); /* a folder of known name below /tmp */
    assert_int_equal(r, 0);
}

static struct spawn_request plain(const struct rig *rig, const char *const *argv)
{
    return (struct spawn_request){.id = "t",
                                  .argv = argv,
                                  .envp = ENV,
                                  .out = rig->out,
                                  .uid = -1,
                                  .gid = -1,
                                  .nofile_soft = -1};
}

static void wait_end(struct rig *rig, int pidfd)
{
    memset(&rig->end, 0, sizeof(rig->end));
    assert_int_equal(waitid(P_PIDFD, (id_t)pidfd, &rig->end, WEXITED), 0);
    close(pidfd);
}

/* Starts it, waits for its end and reads what it said. */
static int run(struct rig *rig, const struct spawn_request *request)
{
    struct spawn_born born;
    int r = spawn_start(&rig->spawn, request, &born, &rig->fault);
    if (r < 0)
        return r;
    assert_true(born.pid > 0 && born.pidfd > 2);
    wait_end(rig, born.pidfd);
    str_clear(&rig->text);
    if (request->out)
        assert_int_equal(file_read(request->out, 1 << 20, &rig->text, NULL), 0);
    return 0;
}

static const char *run_shell(struct rig *rig, struct spawn_request request, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    request.argv = argv;
    int r = run(rig, &request);
    if (r < 0)
        fail_msg("%s %s: %s", SPAWN_STAGE[rig->fault.stage], rig->fault.path, strerror(-r));
    return str_text(&rig->text);
}

static void test_exit_codes_and_signals_are_told_apart(void **state)
{
    struct rig rig = rig_open(false);
    struct spawn_request request = plain(&rig, NULL);
    (void)state;
    (void)run_shell(&rig, request, "exit 7");
    assert_int_equal(rig.end.si_code, CLD_EXITED);
    assert_int_equal(rig.end.si_status, 7);
    (void)run_shell(&rig, request, "exit 127");
    assert_int_equal(rig.end.si_status, 127);
    (void)run_shell(&rig, request, "kill -TERM $$");
    assert_int_equal(rig.end.si_code, CLD_KILLED);
    assert_int_equal(rig.end.si_status, SIGTERM);
    rig_close(&rig);
}

static void make_file(const struct rig *rig, const char *name, const char *text, mode_t mode)
{
    scoped_free char *path = mem_printf("%s/%s", rig->dir, name);
    scoped_fd fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void test_each_failure_has_its_name(void **state)
{
    struct rig rig = rig_open(false);
    (void)state;
    make_file(&rig, "plain", "no program", 0644);
    make_file(&rig, "script", "#!/no/such/interpreter\n", 0755);
    scoped_free char *no_exec = mem_printf("%s/plain", rig.dir);
    scoped_free char *bad_script = mem_printf("%s/script", rig.dir);
    const struct {
        const char *program, *dir, *out, *cgroup;
        const char *join;
        enum spawn_stage stage;
        int error;
        const char *path;
    } CASES[] = {
        {"/no/such", NULL, rig.out, NULL, NULL, SPAWN_AT_EXEC, ENOENT, "/no/such"},
        {"no-such-program", NULL, rig.out, NULL, NULL, SPAWN_AT_EXEC, ENOENT, "no-such-program"},
        {"", NULL, rig.out, NULL, NULL, SPAWN_AT_EXEC, ENOENT, ""},
        {no_exec, NULL, rig.out, NULL, NULL, SPAWN_AT_EXEC, EACCES, no_exec},
        {bad_script, NULL, rig.out, NULL, NULL, SPAWN_AT_EXEC, ENOENT, bad_script},
        {"/bin/true", "/no/dir", rig.out, NULL, NULL, SPAWN_AT_CHDIR, ENOENT, "/no/dir"},
        {"/bin/true", no_exec, rig.out, NULL, NULL, SPAWN_AT_CHDIR, ENOTDIR, no_exec},
        {"/bin/true", NULL, "/no/dir/out", NULL, NULL, SPAWN_AT_OUT, ENOENT, "/no/dir/out"},
        {"/bin/true", NULL, rig.out, "/no/group", NULL, SPAWN_AT_CGROUP, ENOENT, "/no/group"},
        {"/bin/true", NULL, rig.out, NULL, "/no/procs", SPAWN_AT_CGROUP, ENOENT, "/no/procs"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const char *const argv[] = {CASES[i].program, NULL}, *join[] = {CASES[i].join, NULL};
        struct spawn_request request = plain(&rig, argv);
        request.dir = CASES[i].dir;
        request.out = CASES[i].out;
        request.cgroup = CASES[i].cgroup;
        request.join = join;
        assert_int_equal(run(&rig, &request), -CASES[i].error);
        assert_int_equal(rig.fault.stage, CASES[i].stage);
        assert_int_equal(rig.fault.error, CASES[i].error);
        assert_string_equal(rig.fault.path, CASES[i].path);
    }
    assert_int_equal(waitid(P_ALL, 0, &rig.end, WEXITED | WNOHANG), -1); /* no zombie is left */
    assert_int_equal(errno, ECHILD);
    const char *const nothing[] = {NULL};
    struct spawn_request request = plain(&rig, nothing);
    assert_int_equal(run(&rig, &request), -EINVAL);
    rig_close(&rig);
}

static void test_environment_folder_and_output(void **state)
{
    struct rig rig = rig_open(false);
    struct spawn_request request = plain(&rig, NULL);
    (void)state;
    char cwd[4096];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    scoped_free char *wanted = mem_printf("b\noops\n%s\n", cwd);
    assert_string_equal(run_shell(&rig, request, "echo $A; echo oops >&2; pwd"), wanted);
    request.dir = "/usr";
    run_shell(&rig, request, "pwd"); /* appended */
    assert_true(str_ends(str_text(&rig.text), "\n/usr\n"));
    assert_true(str_starts(str_text(&rig.text), "b\noops\n"));
    request.out = NULL;
    (void)run_shell(&rig, request, "echo to nowhere && test -z \"$(cat)\"");
    assert_int_equal(rig.end.si_status, 0);
    rig_close(&rig);
}

static void test_programs_are_searched_in_the_childs_path(void **state)
{
    struct rig rig = rig_open(false);
    (void)state;
    make_file(&rig, "muster-test-prog", "#!/bin/sh\necho found\n", 0755);
    const char *const argv[] = {"muster-test-prog", NULL};
    struct spawn_request request = plain(&rig, argv);
    assert_int_equal(run(&rig, &request), -ENOENT);
    scoped_free char *path = mem_printf("PATH=/no/such:/etc/passwd:%s", rig.dir);
    const char *const env[] = {path, NULL};
    request.envp = env;
    assert_int_equal(run(&rig, &request), 0);
    assert_string_equal(str_text(&rig.text), "found\n");
    const char *const here[] = {"PATH=/no/such:", NULL};
    request.envp = here;
    request.dir = rig.dir;
    assert_int_equal(run(&rig, &request), 0);
    /* Without a PATH the usual places are searched, and without an environment too. */
    const char *const echo[] = {"true", NULL};
    request = plain(&rig, echo);
    request.envp = NULL;
    assert_int_equal(run(&rig, &request), 0);
    rig_close(&rig);
}

static const char *run_self(struct rig *rig, const char *what)
{
    const char *const argv[] = {"/proc/self/exe", what, NULL};
    struct spawn_request request = plain(rig, argv);
    unlink(rig->out);
    assert_int_equal(run(rig, &request), 0);
    return str_text(&rig->text);
}

/* The way that is taken on kernels without this or that, or beside other threads. */
struct way {
    const char *name;
    bool is_threaded, has_no_clone3, has_no_close_range;
};
static const struct way WAYS[] = {
    {"the best", false, false, false},    {"threads", true, false, false},
    {"no clone3", false, true, false},    {"no close_range", false, false, true},
    {"an old kernel", false, true, true},
};

static struct rig rig_of(const struct way *way)
{
    struct rig rig = rig_open(way->is_threaded);
    print_message("# way: %s\n", way->name);
    rig.spawn.has_clone3 &= !way->has_no_clone3;
    rig.spawn.has_close_range &= !way->has_no_close_range;
    return rig;
}

static void test_a_child_sees_three_descriptors(void **state)
{
    (void)state;
    for (size_t w = 0; w < ARRAY_LEN(WAYS); w++) {
        struct rig rig = rig_of(&WAYS[w]);
        assert_string_equal(run_self(&rig, "fds"), "0 1 2 \n");
        int fds[900];
        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
            fds[i] = dup(0); /* none of them close-on-exec */
        assert_true(fds[899] > 0);
        assert_string_equal(run_self(&rig, "fds"), "0 1 2 \n");
        for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
            assert_true(fcntl(fds[i], F_GETFD) >= 0); /* and ours are all still there */
            close(fds[i]);
        }
        rig_close(&rig);
    }
}

static void on_nothing(int signo)
{
    (void)signo;
}

static void test_signals_are_as_in_the_beginning(void **state)
{
    (void)state;
    sigset_t some, before;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigaddset(&some, SIGTERM);
    sigprocmask(SIG_BLOCK, &some, &before);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGUSR1, on_nothing);
    const uintptr_t ignore[8] = {(uintptr_t)SIG_IGN}; /* one that the C library keeps for itself */
    assert_int_equal(syscall(SYS_rt_sigaction, 33, ignore, NULL, 8), 0);
    for (size_t w = 0; w < ARRAY_LEN(WAYS); w++) {
        struct rig rig = rig_of(&WAYS[w]);
        const char *const argv[] = {"cat", "/proc/self/status", NULL};
        struct spawn_request request = plain(&rig, argv);
        assert_int_equal(run(&rig, &request), 0);
        const char *signals = strstr(str_text(&rig.text), "SigBlk:");
        assert_non_null(signals);
        assert_true(str_starts(signals, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
                                        "SigCgt:\t0000000000000000\n"));
        rig_close(&rig);
    }
    struct sigaction ours;
    sigaction(SIGUSR1, NULL, &ours);
    assert_ptr_equal(ours.sa_handler, on_nothing); /* still */
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    (void)signal(SIGUSR1, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void test_each_child_leads_a_session(void **state)
{
    struct rig rig = rig_open(false);
    (void)state;
    assert_string_equal(run_self(&rig, "session"), "leader\n");
    rig_close(&rig);
}

static void test_limits(void **state)
{
    struct rig rig = rig_open(false);
    struct spawn_request request = plain(&rig, NULL);
    (void)state;
    request.nofile_soft = 123;
    assert_string_equal(run_shell(&rig, request, "ulimit -Sn"), "123\n");
    request.nofile_soft = INT64_MAX; /* as much as there may be */
    assert_true(str_starts(
        run_shell(&rig, request, "test $(ulimit -Sn) = $(ulimit -Hn) && echo ok"), "123\nok"));
    rig_close(&rig);
}

/* The child has what was asked for, whatever the one before it had; we have our own again. */
static void test_scores_of_the_killer(void **state)
{
    struct rig rig = rig_open(false);
    struct spawn_request request = plain(&rig, NULL);
    (void)state;
    int own = rig.spawn.oom_own;
    const int WANTED[] = {own + 10 > 1000 ? 1000 : own + 10, own, 1000};
    for (size_t i = 0; i < ARRAY_LEN(WANTED); i++) {
        request.oom_score_adj = WANTED[i];
        unlink(rig.out);
        scoped_free char *wanted = mem_printf("%d\n", WANTED[i]);
        assert_string_equal(run_shell(&rig, request, "cat /proc/self/oom_score_adj"), wanted);
    }
    spawn_rest(&rig.spawn);
    scoped_str now = {0};
    assert_int_equal(file_read("/proc/self/oom_score_adj", 64, &now, NULL), 0);
    assert_int_equal(strtol(str_text(&now), NULL, 10), own);
    rig_close(&rig);
}

static void test_user_and_groups(void **state)
{
    if (geteuid() != 0) {
        print_message("# only root may become another user\n");
        skip();
    }
    struct rig rig = rig_open(false);
    const int64_t groups[] = {4321, 1234};
    struct spawn_request request = plain(&rig, NULL);
    (void)state;
    request.uid = 65534;
    request.gid = 65533;
    request.groups = groups;
    request.n_groups = 2;
    run_shell(&rig, request, "id -u; id -ru; id -g; id -G");
    assert_string_equal(str_text(&rig.text), "65534\n65534\n65533\n65533 1234 4321\n");
    assert_int_equal(prctl(PR_GET_DUMPABLE), 1); /* what the child gave up we have not */
    request.n_groups = 0;
    unlink(rig.out);
    assert_string_equal(run_shell(&rig, request, "id -G"), "65533\n"); /* none of ours */
    rig_close(&rig);
}

static void test_mounts_are_the_childs_alone(void **state)
{
    struct rig rig = rig_open(false);
    (void)state;
    make_file(&rig, "secret", "inside\n", 0644);
    scoped_free char *file = mem_printf("%s/secret", rig.dir);
    scoped_free char *to_file = mem_printf("%s/a/b/file", rig.dir);
    scoped_free char *to_dir = mem_printf("%s/c/dir", rig.dir);
    const struct spawn_mount mounts[] = {{file, to_file, true}, {"/usr", to_dir, false}};
    struct spawn_request request = plain(&rig, NULL);
    request.mounts = mounts;
    request.n_mounts = 2;
    const char *const argv[] = {"/bin/true", NULL};
    request.argv = argv;
    if (run(&rig, &request) == -EPERM) {
        rig_close(&rig);
        print_message("# mounts are not allowed here\n");
        skip();
    }
    scoped_free char *script = mem_printf(
        "cat '%s'; (echo x >'%s') 2>/dev/null || echo refused; test -d '%s/bin' && echo usr",
        to_file, to_file, to_dir);
    assert_string_equal(run_shell(&rig, request, script), "inside\nrefused\nusr\n");
    struct stat st;
    assert_int_equal(stat(to_file, &st), 0);
    assert_int_equal(st.st_size, 0); /* only the place is there */
    const struct spawn_mount missing[] = {{"/no/such/source", to_dir, false}};
    request.mounts = missing;
    request.n_mounts = 1;
    assert_int_equal(run(&rig, &request), -ENOENT);
    assert_int_equal(rig.fault.stage, SPAWN_AT_MOUNT);
    assert_string_equal(rig.fault.path, to_dir);
    rig_close(&rig);
}

/* ---- control groups ---- */

/* A new group of that hierarchy, or NULL after a word about why not. */
static char *group_make(const char *const *roots, const char *mark, const char *name)
{
    for (; *roots; roots++) {
        scoped_free char *file = mem_printf("%s/%s", *roots, mark);
        scoped_free char *path = mem_printf("%s/muster-test-spawn-%d%s", *roots, getpid(), name);
        if (access(file, F_OK) == 0 && mkdir(path, 0755) == 0)
            return take_ptr(path);
    }
    print_message("# no control group can be made here\n");
    return NULL;
}
static const char *const V2_ROOTS[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup", NULL};
static const char *const V1_ROOTS[] = {"/sys/fs/cgroup/freezer", "/sys/fs/cgroup/cpu", NULL};

static void group_remove(const char *path)
{
    for (int i = 0; i < 1000 && rmdir(path) < 0 && errno == EBUSY; i++)
        usleep(1000); /* the dead leave it a little later */
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_birth_in_a_group(void **state)
{
    scoped_free char *group = group_make(V2_ROOTS, "cgroup.controllers", "");
    (void)state;
    if (group == NULL)
        skip();
    scoped_free char *wanted = mem_printf("muster-test-spawn-%d\n", getpid());
    for (size_t w = 0; w < ARRAY_LEN(WAYS); w++) {
        struct rig rig = rig_of(&WAYS[w]);
        struct spawn_request request = plain(&rig, NULL);
        request.cgroup = group;
        run_shell(&rig, request, "grep ^0:: /proc/self/cgroup");
        assert_true(str_ends(str_text(&rig.text), wanted));
        assert_int_equal(rig.spawn.has_into_cgroup, true);
        rig_close(&rig);
    }
    group_remove(group);
}

/* A session of its own is dear, and one that has no terminal can be shared. */
static void test_in_a_group_our_session_is_enough(void **state)
{
    scoped_free char *group = group_make(V2_ROOTS, "cgroup.controllers", "");
    (void)state;
    if (group == NULL)
        skip();
    const char *const argv[] = {"/proc/self/exe", "session", NULL};
    struct rig rig = rig_open(false);
    struct spawn_request request = plain(&rig, argv);
    request.cgroup = group;
    for (int shares = 0; shares < 2; shares++) {
        rig.spawn.has_session = shares;
        unlink(rig.out);
        assert_int_equal(run(&rig, &request), 0);
        assert_string_equal(str_text(&rig.text), shares ? "group\n" : "leader\n");
    }
    rig_close(&rig);
    group_remove(group);
}

static void test_groups_of_the_first_version_are_joined(void **state)
{
    scoped_free char *group = group_make(V1_ROOTS, "tasks", "");
    (void)state;
    if (group == NULL)
        skip();
    struct rig rig = rig_open(false);
    struct spawn_request request = plain(&rig, NULL);
    scoped_free char *tasks = mem_printf("%s/tasks", group);
    const char *const join[] = {tasks, NULL};
    request.join = join;
    scoped_free char *wanted = mem_printf("muster-test-spawn-%d\n", getpid());
    run_shell(&rig, request, "grep muster-test /proc/self/cgroup");
    assert_true(str_ends(str_text(&rig.text), wanted));
    /* Taken for one of the second version it is still joined, through its file. */
    request.join = NULL;
    request.cgroup = group;
    unlink(rig.out);
    run_shell(&rig, request, "grep muster-test /proc/self/cgroup");
    assert_true(str_ends(str_text(&rig.text), wanted));
    rig_close(&rig);
    group_remove(group);
}

static void kill_group(const char *group)
{
    scoped_free char *path = mem_printf("%s/cgroup.kill", group);
    scoped_fd fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "1", 1), 1);
}

/* On some kernels (6.18 is one) a group that was killed once kills whatever is born in it. Hence a
 * fresh group for each start; and this shows that a fresh one is enough. */
static void test_a_killed_group_is_not_used_again(void **state)
{
    scoped_free char *first = group_make(V2_ROOTS, "cgroup.controllers", ".g1");
    scoped_free char *second = group_make(V2_ROOTS, "cgroup.controllers", ".g2");
    (void)state;
    if (first == NULL || second == NULL)
        skip();
    struct rig rig = rig_open(false);
    const char *const argv[] = {"sleep", "1000", NULL}, *const quick[] = {"true", NULL};
    struct spawn_request request = plain(&rig, argv);
    struct spawn_born born;
    request.cgroup = first;
    assert_int_equal(spawn_start(&rig.spawn, &request, &born, &rig.fault), 0);
    kill_group(first);
    wait_end(&rig, born.pidfd);
    assert_int_equal(rig.end.si_code, CLD_KILLED);
    assert_int_equal(rig.end.si_status, SIGKILL);
    request.argv = quick;
    assert_int_equal(run(&rig, &request), 0);
    print_message("# a killed group %s what is born in it\n",
                  rig.end.si_code == CLD_KILLED ? "kills" : "spares");
    assert_true(rig.end.si_status == (rig.end.si_code == CLD_KILLED ? SIGKILL : 0));
    request.cgroup = second;
    assert_int_equal(run(&rig, &request), 0);
    assert_int_equal(rig.end.si_code, CLD_EXITED);
    assert_int_equal(rig.end.si_status, 0);
    rig_close(&rig);
    group_remove(first);
    group_remove(second);
}

/* ---- what this program does as a child ---- */

static int child_fds(void)
{
    for (int fd = 0; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    printf("\n");
    return 0;
}

static int child_session(void)
{
    bool has_session = getsid(0) == getpid() && open("/dev/tty", O_RDWR) < 0;
    printf("%s\n", getpgrp() != getpid() ? "member" : has_session ? "leader" : "group");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "fds") == 0)
        return child_fds();
    if (argc == 2 && strcmp(argv[1], "session") == 0)
        return child_session();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_codes_and_signals_are_told_apart),
        cmocka_unit_test(test_each_failure_has_its_name),
        cmocka_unit_test(test_environment_folder_and_output),
        cmocka_unit_test(test_programs_are_searched_in_the_childs_path),
        cmocka_unit_test(test_a_child_sees_three_descriptors),
        cmocka_unit_test(test_signals_are_as_in_the_beginning),
        cmocka_unit_test(test_each_child_leads_a_session),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_scores_of_the_killer),
        cmocka_unit_test(test_user_and_groups),
        cmocka_unit_test(test_mounts_are_the_childs_alone),
        cmocka_unit_test(test_birth_in_a_group),
        cmocka_unit_test(test_in_a_group_our_session_is_enough),
        cmocka_unit_test(test_groups_of_the_first_version_are_joined),
        cmocka_unit_test(test_a_killed_group_is_not_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
