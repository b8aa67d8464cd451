// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/map.h"
#include "base/mem.h"
#include "node/spawn_link.h"
#include "node/spawner.h"
#include "os/clock.h"
#include "os/fd.h"
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Real helpers and children. This program is also the helper, and in some tests another supervisor:
 * "/proc/self/exe helper SOCKET". */
#define WAIT_MS 60000

struct seen { /* the last that was told of one id */
    struct spawn_reply reply;
    char what[16];
    char path[64];
    int n_exits;
};
struct rig {
    struct loop *loop;
    struct spawner *spawner;
    char dir[64], socket[96];
    struct map *seen;
    int n[SPAWN_LISTED + 1]; /* replies by type */
    bool forgets;            /* at once */
};

static const char *const ENV[] = {"PATH=/usr/bin:/bin", NULL};

static void on_reply(void *arg, const struct spawn_reply *reply)
{
    struct rig *rig = arg;
    struct seen *seen = map_get(rig->seen, reply->id);
    if (seen == NULL) {
        seen = mem_zalloc(sizeof(*seen));
        (void)map_put(rig->seen, reply->id, seen);
    }
    rig->n[reply->type]++;
    seen->reply = *reply;
    (void)snprintf(seen->what, sizeof(seen->what), "%s", reply->what);
    (void)snprintf(seen->path, sizeof(seen->path), "%s", reply->path);
    seen->n_exits += reply->type == SPAWN_EXITED;
    if (rig->forgets && reply->type == SPAWN_EXITED)
        spawner_forget(rig->spawner, reply->id);
}

static void rig_connect(struct rig *rig)
{
    const char *const helper[] = {"/proc/self/exe", "helper", rig->socket, NULL};
    struct spawner_options options = {.loop = rig->loop,
                                      .socket = rig->socket,
                                      .helper = helper,
                                      .on_reply = on_reply,
                                      .arg = rig};
    struct err err = {0};
    if (spawner_open(&options, &rig->spawner, &err) < 0)
        fail_msg("%s", err.text);
}

static void rig_begin(struct rig *rig, const char *dir)
{
    *rig = (struct rig){.seen = map_new()};
    (void)snprintf(rig->dir, sizeof(rig->dir), "%s", dir);
    (void)snprintf(rig->socket, sizeof(rig->socket), "%s/s.sock", dir);
    assert_int_equal(loop_new(&rig->loop, NULL), 0);
    rig_connect(rig);
}

static void rig_open(struct rig *rig)
{
    char dir[] = "/tmp/muster-test-spawner-XXXXXX";
    assert_non_null(mkdtemp(dir));
    rig_begin(rig, dir);
}

static bool free_seen(void *arg, const char *key, void *value)
{
    (void)arg;
    (void)key;
    mem_free(value);
    return true;
}

static void rig_end(struct rig *rig, bool quit)
{
    spawner_close(rig->spawner, quit);
    loop_free(rig->loop);
    (void)map_each(rig->seen, free_seen, NULL);
    map_free(rig->seen);
}

/* Also sees that no process was left behind. */
static void rig_close(struct rig *rig)
{
    scoped_free char *command = mem_printf("rm -rf '%s'", rig->dir);
    siginfo_t info;
    rig_end(rig, true);
    for (int i = 0; i < 2000 && waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0; i++)
        usleep(5000); /* the helper was told to quit, or went on its own */
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(system(command), 0); /* a folder of known name below /tmp */
}

static void rig_wait(struct rig *rig, enum spawn_msg type, int count)
{
    time_ms until = clock_monotonic() + WAIT_MS;
    while (rig->n[type] < count && clock_monotonic() < until)
        loop_turn(rig->loop, 100);
    if (rig->n[type] < count)
        fail_msg("only %d of %d replies of type %d", rig->n[type], count, (int)type);
}

static void rig_start(struct rig *rig, const char *id, const char *const *argv, const char *out)
{
    struct spawn_request request = {
        .id = id, .argv = argv, .envp = ENV, .out = out, .uid = -1, .gid = -1, .nofile_soft = -1};
    spawner_start(rig->spawner, &request);
}

static void rig_shell(struct rig *rig, const char *id, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    rig_start(rig, id, argv, NULL);
}

static void rig_sleep(struct rig *rig, const char *id)
{
    const char *const argv[] = {"sleep", "10000", NULL};
    rig_start(rig, id, argv, NULL);
}

static const struct seen *rig_seen(struct rig *rig, const char *id)
{
    const struct seen *seen = map_get(rig->seen, id);
    if (seen == NULL)
        fail_msg("nothing was told of %s", id);
    return seen;
}

static void assert_exit(struct rig *rig, const char *id, int code, int status)
{
    const struct seen *seen = rig_seen(rig, id);
    assert_int_equal(seen->reply.type, SPAWN_EXITED);
    assert_int_equal(seen->reply.code, code);
    assert_int_equal(seen->reply.status, status);
    assert_true(seen->reply.at_ms > 0);
}

static bool is_helper(int pid)
{
    scoped_free char *path = mem_printf("/proc/%d/comm", pid);
    scoped_str name = {0};
    return file_read(path, 64, &name, NULL) == 0 && str_starts(str_text(&name), "muster-spawner");
}

/* The helper among our children, which in some tests are not it alone; 0 when there is none now. */
static int find_helper(void)
{
    scoped_free char *path = mem_printf("/proc/self/task/%d/children", getpid());
    scoped_str text = {0};
    assert_int_equal(file_read(path, 1 << 16, &text, NULL), 0);
    char *end;
    for (char *at = text.data; at && *at; at = *end ? end + 1 : end) {
        int pid = (int)strtol(at, &end, 10);
        if (pid > 0 && is_helper(pid))
            return pid;
        if (end == at)
            break;
    }
    return 0;
}

static int helper_pid(void)
{
    int pid = find_helper();
    assert_true(pid > 0);
    return pid;
}

static void test_start_exit_and_failure(void **state)
{
    struct rig rig;
    const char *const nope[] = {"/no/such", NULL};
    (void)state;
    rig_open(&rig);
    rig_shell(&rig, "seven", "exit 7");
    rig_shell(&rig, "killed", "kill -KILL $$");
    rig_start(&rig, "missing", nope, NULL);
    rig_wait(&rig, SPAWN_EXITED, 2);
    rig_wait(&rig, SPAWN_FAILED, 1);
    assert_int_equal(rig.n[SPAWN_STARTED], 2);
    assert_exit(&rig, "seven", CLD_EXITED, 7);
    assert_exit(&rig, "killed", CLD_KILLED, SIGKILL);
    const struct seen *failed = rig_seen(&rig, "missing");
    assert_int_equal(failed->reply.error, ENOENT);
    assert_string_equal(failed->what, "exec");
    assert_string_equal(failed->path, "/no/such");
    rig_close(&rig);
}

static void test_an_id_is_taken_until_it_is_forgotten(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    rig_shell(&rig, "a", "exit 1");
    rig_shell(&rig, "a", "exit 2");
    rig_wait(&rig, SPAWN_FAILED, 1);
    assert_int_equal(rig_seen(&rig, "a")->reply.error, EEXIST);
    rig_wait(&rig, SPAWN_EXITED, 1);
    assert_exit(&rig, "a", CLD_EXITED, 1);
    rig_shell(&rig, "a", "exit 2");
    rig_wait(&rig, SPAWN_FAILED, 2);
    spawner_forget(rig.spawner, "a");
    rig_shell(&rig, "a", "exit 3");
    rig_wait(&rig, SPAWN_EXITED, 2);
    assert_exit(&rig, "a", CLD_EXITED, 3);
    rig_close(&rig);
}

static void test_signals_reach_leader_or_group(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    /* The shell waits for a member of its group. */
    rig_shell(&rig, "group", "trap 'exit 9' TERM; sleep 10000 & wait; exit 1");
    rig_sleep(&rig, "leader");
    rig_wait(&rig, SPAWN_STARTED, 2);
    spawner_signal(rig.spawner, "leader", SIGINT, false);
    spawner_signal(rig.spawner, "nobody", SIGKILL, true);
    spawner_signal(rig.spawner, "leader", 9999, true);
    rig_wait(&rig, SPAWN_EXITED, 1);
    assert_exit(&rig, "leader", CLD_KILLED, SIGINT);
    spawner_signal(rig.spawner, "leader", SIGKILL, true); /* has ended: nobody is hit */
    spawner_signal(rig.spawner, "group", SIGKILL, true);
    rig_wait(&rig, SPAWN_EXITED, 2);
    assert_exit(&rig, "group", CLD_KILLED, SIGKILL);
    rig_close(&rig); /* would find the sleeper, which is the helper's orphan now */
}

static void test_transient_ones_are_not_kept(void **state)
{
    struct rig rig;
    const char *const argv[] = {"true", NULL};
    struct spawn_request request = {.id = "probe/1",
                                    .argv = argv,
                                    .envp = ENV,
                                    .uid = -1,
                                    .gid = -1,
                                    .nofile_soft = -1,
                                    .is_transient = true};
    (void)state;
    rig_open(&rig);
    for (int i = 1; i <= 3; i++) {
        spawner_start(rig.spawner, &request);
        rig_wait(&rig, SPAWN_EXITED, i);
    }
    assert_int_equal(rig.n[SPAWN_FAILED], 0);
    spawner_list(rig.spawner);
    rig_wait(&rig, SPAWN_LISTED, 1);
    assert_int_equal(rig.n[SPAWN_ALIVE], 0);
    assert_int_equal(rig.n[SPAWN_EXITED], 3);
    rig_close(&rig);
}

static int count_children(int pid)
{
    scoped_free char *path = mem_printf("/proc/%d/task/%d/children", pid, pid);
    scoped_str text = {0};
    int n = 0;
    if (file_read(path, 1 << 20, &text, NULL) < 0)
        return -1;
    for (const char *at = str_text(&text); *at; at++)
        n += *at == ' ';
    return n;
}

static void test_orphans_are_reaped(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    /* The grandchild outlives its parent for a moment, in a session of its own. */
    rig_shell(&rig, "a", "(setsid sh -c 'sleep 0.2; exit 3' &) ; exit 0");
    rig_wait(&rig, SPAWN_EXITED, 1);
    int helper = helper_pid();
    time_ms until = clock_monotonic() + WAIT_MS;
    while (count_children(helper) != 0 && clock_monotonic() < until)
        loop_turn(rig.loop, 10);
    assert_int_equal(count_children(helper), 0);
    assert_int_equal(rig.n[SPAWN_EXITED], 1);
    rig_close(&rig);
}

static void test_signals_of_a_terminal_do_not_end_the_helper(void **state)
{
    static const int SIGNALS[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};
    struct rig rig;
    (void)state;
    rig_open(&rig);
    rig_shell(&rig, "a", "exit 0");
    rig_wait(&rig, SPAWN_EXITED, 1);
    int helper = helper_pid();
    assert_int_equal(getsid(helper), helper);
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++)
        assert_int_equal(kill(helper, SIGNALS[i]), 0);
    rig_shell(&rig, "b", "exit 5");
    rig_wait(&rig, SPAWN_EXITED, 2);
    assert_exit(&rig, "b", CLD_EXITED, 5);
    assert_int_equal(helper_pid(), helper);
    rig_close(&rig);
}

static void test_huge_requests(void **state)
{
    struct rig rig;
    scoped_free char *big = mem_zalloc(100001), *huge = mem_zalloc(SPAWN_WIRE_MAX + 1);
    (void)state;
    memset(big, 'x', 100000);
    memset(huge, 'x', SPAWN_WIRE_MAX);
    const char *const fits[] = {
        "/bin/sh", "-c", "test ${#0} = 100000 && test $# = 3", big, big, big, big, NULL};
    const char *const does_not[] = {"true", huge, NULL};
    rig_open(&rig);
    rig_start(&rig, "fits", fits, NULL);
    rig_start(&rig, "does not", does_not, NULL);
    rig_wait(&rig, SPAWN_FAILED, 1);
    assert_int_equal(rig_seen(&rig, "does not")->reply.error, E2BIG);
    rig_wait(&rig, SPAWN_EXITED, 1);
    assert_exit(&rig, "fits", CLD_EXITED, 0);
    rig_close(&rig);
}

/* Descriptors of ended children are given to new ones at once; each end must be booked on the right
 * child all the same. Each child tells by its code which one it was. */
static void test_ends_are_never_booked_on_another(void **state)
{
    enum { N = 3000, AT_ONCE = 50 };
    struct rig rig;
    char id[32], script[32];
    (void)state;
    rig_open(&rig);
    rig.forgets = true;
    for (int i = 0; i < N; i++) {
        (void)snprintf(id, sizeof(id), "c/%d", i);
        (void)snprintf(script, sizeof(script), "exit %d", i % 251);
        rig_shell(&rig, id, script);
        rig_wait(&rig, SPAWN_EXITED, i - AT_ONCE);
    }
    rig_wait(&rig, SPAWN_EXITED, N);
    for (int i = 0; i < N; i++) {
        (void)snprintf(id, sizeof(id), "c/%d", i);
        assert_exit(&rig, id, CLD_EXITED, i % 251);
        assert_int_equal(rig_seen(&rig, id)->n_exits, 1);
    }
    assert_int_equal(rig.n[SPAWN_STARTED], N);
    rig_close(&rig);
}

static void test_two_thousand_at_once(void **state)
{
    enum { N = 2000, BLOCK = 500 };
    struct rig rig;
    char id[32];
    (void)state;
    rig_open(&rig);
    for (int i = 0; i < N;) {
        time_ms begin = clock_monotonic();
        for (int end = i + BLOCK; i < end; i++) {
            (void)snprintf(id, sizeof(id), "c/%d", i);
            rig_sleep(&rig, id);
        }
        rig_wait(&rig, SPAWN_STARTED, i);
        time_ms took = clock_monotonic() - begin;
        print_message("# %d to %d: %.0f a second\n", i - BLOCK, i,
                      BLOCK * 1000.0 / (double)(took ? took : 1));
    }
    spawner_list(rig.spawner);
    rig_wait(&rig, SPAWN_LISTED, 1);
    assert_int_equal(rig.n[SPAWN_ALIVE], N);
    for (int i = 0; i < N; i++) {
        (void)snprintf(id, sizeof(id), "c/%d", i);
        spawner_signal(rig.spawner, id, SIGKILL, true);
    }
    rig_wait(&rig, SPAWN_EXITED, N);
    assert_int_equal(rig.n[SPAWN_EXITED], N);
    rig_close(&rig);
}

/* ---- the supervisor dies ---- */

static int run_self(const char *what, const char *dir)
{
    int pid = fork();
    if (pid == 0) {
        (void)execl("/proc/self/exe", "test", what, dir, NULL);
        _exit(126);
    }
    assert_true(pid > 0);
    return pid;
}

/* As another process: starts four and says so. Killed by the test. */
__attribute__((noreturn)) static int be_supervisor(const char *dir)
{
    struct rig rig;
    rig_begin(&rig, dir);
    rig_sleep(&rig, "stays");
    rig_sleep(&rig, "falls");
    rig_shell(&rig, "known", "exit 4");
    scoped_free char *script =
        mem_printf("while test ! -e %s/go; do sleep 0.01; done; exit 6", dir);
    rig_shell(&rig, "later", script);
    rig_wait(&rig, SPAWN_STARTED, 4);
    rig_wait(&rig, SPAWN_EXITED, 1); /* of "known", not forgotten */
    scoped_free char *ready = mem_printf("%s/ready", dir);
    (void)file_replace(ready, "x", 1, 0600, NULL);
    for (;;)
        loop_turn(rig.loop, -1);
}

static void wait_for_file(const char *dir, const char *name)
{
    scoped_free char *path = mem_printf("%s/%s", dir, name);
    time_ms until = clock_monotonic() + WAIT_MS;
    while (!file_exists(path) && clock_monotonic() < until)
        usleep(2000);
    assert_true(file_exists(path));
}

static void end_by_kill(int pid)
{
    siginfo_t info;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
}

static void test_a_new_supervisor_finds_all_children(void **state)
{
    struct rig rig;
    char dir[] = "/tmp/muster-test-spawner-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    int pid = run_self("supervisor", dir);
    wait_for_file(dir, "ready");
    end_by_kill(pid);
    int helper = helper_pid(); /* we are a subreaper, so it came to us */
    scoped_free char *go = mem_printf("%s/go", dir);
    assert_int_equal(file_replace(go, "x", 1, 0600, NULL), 0);
    time_ms until = clock_monotonic() + WAIT_MS;
    while (count_children(helper) > 2 && clock_monotonic() < until)
        usleep(2000); /* "later" ends while nobody listens */
    assert_int_equal(count_children(helper), 2);
    rig_begin(&rig, dir);
    spawner_list(rig.spawner);
    rig_wait(&rig, SPAWN_LISTED, 1);
    assert_int_equal(helper_pid(), helper);
    assert_int_equal(rig.n[SPAWN_ALIVE], 2);
    assert_int_equal(rig.n[SPAWN_EXITED], 2);
    assert_exit(&rig, "known", CLD_EXITED, 4);
    assert_exit(&rig, "later", CLD_EXITED, 6);
    assert_true(rig_seen(&rig, "stays")->reply.pid > 0);
    spawner_forget(rig.spawner, "known");
    rig_shell(&rig, "stays", "exit 1");
    rig_wait(&rig, SPAWN_FAILED, 1);
    assert_int_equal(rig_seen(&rig, "stays")->reply.error, EEXIST);
    spawner_signal(rig.spawner, "stays", SIGTERM, true);
    spawner_signal(rig.spawner, "falls", SIGKILL, true);
    rig_wait(&rig, SPAWN_EXITED, 4);
    assert_exit(&rig, "stays", CLD_KILLED, SIGTERM);
    spawner_list(rig.spawner);
    rig_wait(&rig, SPAWN_LISTED, 2);
    assert_int_equal(rig.n[SPAWN_EXITED], 4 + 3); /* all but the forgotten one */
    rig_close(&rig);
}

static void test_a_helper_of_no_use_goes(void **state)
{
    struct rig rig;
    siginfo_t info;
    (void)state;
    rig_open(&rig);
    rig.forgets = true;
    rig_shell(&rig, "a", "exit 0");
    rig_wait(&rig, SPAWN_EXITED, 1);
    loop_turn(rig.loop, 0); /* the order to forget goes out */
    int helper = helper_pid();
    spawner_close(rig.spawner, false);
    assert_int_equal(waitid(P_PID, (id_t)helper, &info, WEXITED), 0);
    assert_int_equal(info.si_code, CLD_EXITED);
    assert_int_equal(info.si_status, 0);
    assert_false(file_exists(rig.socket));
    rig_connect(&rig); /* and the next supervisor gets a new one */
    rig_shell(&rig, "b", "exit 3");
    rig_wait(&rig, SPAWN_EXITED, 2);
    assert_exit(&rig, "b", CLD_EXITED, 3);
    rig_close(&rig);
}

/* ---- the helper dies ---- */

static void test_a_dead_helper_loses_no_exit(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    scoped_free char *go = mem_printf("%s/go", rig.dir);
    scoped_free char *script = mem_printf("while test ! -e %s; do sleep 0.01; done; exit 6", go);
    rig_shell(&rig, "ended", "exit 2");
    rig_shell(&rig, "waits", script);
    rig_sleep(&rig, "sleeps");
    rig_wait(&rig, SPAWN_STARTED, 3);
    rig_wait(&rig, SPAWN_EXITED, 1);
    int helper = helper_pid();
    assert_int_equal(kill(helper, SIGKILL), 0);
    rig_shell(&rig, "next", "exit 8"); /* by a new helper, or told to have failed */
    time_ms until = clock_monotonic() + WAIT_MS;
    while (rig.n[SPAWN_FAILED] == 0 && rig.n[SPAWN_EXITED] < 2 && clock_monotonic() < until)
        loop_turn(rig.loop, 100);
    if (rig.n[SPAWN_FAILED]) {
        assert_int_equal(rig_seen(&rig, "next")->reply.error, ECONNRESET);
        rig_shell(&rig, "next", "exit 8");
        rig_wait(&rig, SPAWN_EXITED, 2);
    }
    assert_exit(&rig, "next", CLD_EXITED, 8);
    spawner_list(rig.spawner);
    rig_wait(&rig, SPAWN_LISTED, 1);
    assert_int_equal(rig.n[SPAWN_ALIVE], 2);
    assert_int_equal(rig_seen(&rig, "waits")->reply.type, SPAWN_ALIVE);
    int n = rig.n[SPAWN_EXITED]; /* the list had the ended ones again */
    assert_int_equal(file_replace(go, "x", 1, 0600, NULL), 0);
    rig_wait(&rig, SPAWN_EXITED, n + 1);
    assert_exit(&rig, "waits", CLD_EXITED, 6);
    rig_sleep(&rig, "sleeps");
    rig_wait(&rig, SPAWN_FAILED, rig.n[SPAWN_FAILED] + 1); /* the adopted one still has the id */
    spawner_signal(rig.spawner, "sleeps", SIGTERM, true);
    rig_wait(&rig, SPAWN_EXITED, n + 2);
    assert_exit(&rig, "sleeps", CLD_KILLED, SIGTERM);
    spawner_forget(rig.spawner, "sleeps");
    spawner_forget(rig.spawner, "ended");
    rig_sleep(&rig, "sleeps");
    rig_wait(&rig, SPAWN_STARTED, rig.n[SPAWN_STARTED] + 1);
    spawner_signal(rig.spawner, "sleeps", SIGKILL, true);
    rig_wait(&rig, SPAWN_EXITED, n + 3);
    rig_close(&rig);
}

/* It was sent, and the helper died before it could look at it. */
static void test_a_dead_helper_loses_no_signal(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    rig_sleep(&rig, "a");
    rig_sleep(&rig, "b");
    rig_wait(&rig, SPAWN_STARTED, 2);
    int helper = helper_pid();
    assert_int_equal(kill(helper, SIGSTOP), 0);
    spawner_signal(rig.spawner, "a", SIGTERM, true);
    loop_turn(rig.loop, 0);
    assert_int_equal(kill(helper, SIGKILL), 0);
    rig_wait(&rig, SPAWN_EXITED, 1);
    assert_exit(&rig, "a", CLD_KILLED, SIGTERM);
    spawner_signal(rig.spawner, "b", SIGKILL, true);
    rig_wait(&rig, SPAWN_EXITED, 2);
    rig_close(&rig);
}

/* Killed again and again under load: each start is answered once, and each that started ends once.
 * What was under way when a helper died has failed, but no more than that: nearly always the few of
 * a portion, and all that was sent if the machine stood still between the end of the connection and
 * the end of the process. */
static void test_helpers_die_under_load(void **state)
{
    enum {
        N = 1500,
        KILLS = 4,
        SENT_MAX = 128,
    };
    struct rig rig;
    char id[32];
    int n_killed = 0, n_known = 0;
    (void)state;
    rig_open(&rig);
    rig.forgets = true;
    for (int i = 0; i < N; i++) {
        (void)snprintf(id, sizeof(id), "c/%d", i);
        rig_shell(&rig, id, "exit 3");
    }
    time_ms until = clock_monotonic() + WAIT_MS;
    while (rig.n[SPAWN_EXITED] + rig.n[SPAWN_FAILED] < N && clock_monotonic() < until) {
        loop_turn(rig.loop, 100);
        int pid = n_killed < KILLS && rig.n[SPAWN_EXITED] > n_killed * 150 ? find_helper() : 0;
        n_killed += pid > 0 && kill(pid, SIGKILL) == 0;
    }
    assert_int_equal(n_killed, KILLS);
    assert_int_equal(rig.n[SPAWN_EXITED] + rig.n[SPAWN_FAILED], N);
    assert_int_equal(rig.n[SPAWN_STARTED], rig.n[SPAWN_EXITED]);
    for (int i = 0; i < N; i++) {
        (void)snprintf(id, sizeof(id), "c/%d", i);
        const struct seen *seen = rig_seen(&rig, id);
        if (seen->reply.type == SPAWN_FAILED)
            assert_string_equal(seen->what, "spawner");
        else
            assert_int_equal(seen->n_exits, 1);
        n_known += seen->reply.type == SPAWN_EXITED && seen->reply.status == 3;
    }
    print_message("# %d ended as they should, %d were not known to have started\n", n_known,
                  rig.n[SPAWN_FAILED]);
    assert_int_equal(n_known, rig.n[SPAWN_EXITED]);
    assert_true(rig.n[SPAWN_FAILED] <= KILLS * SENT_MAX);
    rig_close(&rig);
}

/* A stop does not wait behind the starts that were asked for before. */
static void test_signals_overtake_starts(void **state)
{
    enum { N = 1000 };
    struct rig rig;
    char id[32];
    (void)state;
    rig_open(&rig);
    rig.forgets = true;
    rig_sleep(&rig, "victim");
    rig_wait(&rig, SPAWN_STARTED, 1);
    for (int i = 0; i < N; i++) {
        (void)snprintf(id, sizeof(id), "c/%d", i);
        rig_sleep(&rig, id);
    }
    spawner_signal(rig.spawner, "c/999", SIGKILL, true); /* but not its own */
    spawner_signal(rig.spawner, "victim", SIGKILL, true);
    rig_wait(&rig, SPAWN_EXITED, 1);
    assert_exit(&rig, "victim", CLD_KILLED, SIGKILL);
    assert_true(rig.n[SPAWN_STARTED] < N / 2);
    rig_wait(&rig, SPAWN_EXITED, 2);
    assert_exit(&rig, "c/999", CLD_KILLED, SIGKILL);
    for (int i = 0; i < N - 1; i++) {
        (void)snprintf(id, sizeof(id), "c/%d", i);
        spawner_signal(rig.spawner, id, SIGKILL, true);
    }
    rig_wait(&rig, SPAWN_EXITED, N + 1);
    rig_close(&rig);
}

/* As another process: looks after children of a helper that is not below it. */
static int be_watcher(const char *dir)
{
    struct rig rig;
    rig_begin(&rig, dir);
    spawner_list(rig.spawner);
    rig_wait(&rig, SPAWN_LISTED, 1);
    scoped_free char *ready = mem_printf("%s/ready", dir), *ended = mem_printf("%s/ended", dir);
    (void)file_replace(ready, "x", 1, 0600, NULL);
    rig_wait(&rig, SPAWN_EXITED, 1);
    const struct seen *seen = rig_seen(&rig, "a");
    char text[64];
    int len = snprintf(text, sizeof(text), "%d %d", seen->reply.code, seen->reply.status);
    (void)file_replace(ended, text, (size_t)len, 0600, NULL);
    rig_end(&rig, true);
    return 0;
}

static bool can_tell_exit_of_strangers(void)
{
    struct {
        uint64_t mask;
        char rest[56];
    } info = {.mask = 8};
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    bool can = ioctl(fd, 0xc040ff0b, &info) == 0;
    close(fd);
    return can;
}

static void test_children_of_a_strange_helper(void **state)
{
    struct rig rig;
    siginfo_t info;
    (void)state;
    rig_open(&rig);
    scoped_free char *script =
        mem_printf("while test ! -e %s/go; do sleep 0.01; done; exit 6", rig.dir);
    scoped_free char *go = mem_printf("%s/go", rig.dir), *ended = mem_printf("%s/ended", rig.dir);
    rig_shell(&rig, "a", script);
    rig_wait(&rig, SPAWN_STARTED, 1);
    int helper = helper_pid(), child = rig_seen(&rig, "a")->reply.pid;
    spawner_close(rig.spawner, false);
    int watcher = run_self("watcher", rig.dir);
    wait_for_file(rig.dir, "ready");
    end_by_kill(helper);
    wait_for_file(rig.dir, "s.sock.log"); /* whatever it says */
    assert_int_equal(file_replace(go, "x", 1, 0600, NULL), 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED), 0); /* it came to us, we reap */
    wait_for_file(rig.dir, "ended");
    scoped_str text = {0};
    assert_int_equal(file_read(ended, 64, &text, NULL), 0);
    print_message("# told: %s\n", str_text(&text));
    if (can_tell_exit_of_strangers())
        assert_string_equal(str_text(&text), "1 6");
    else
        assert_string_equal(str_text(&text), "1 -1");
    assert_int_equal(waitid(P_PID, (id_t)watcher, &info, WEXITED), 0);
    assert_int_equal(info.si_status, 0);
    rig_connect(&rig);
    rig_close(&rig);
}

/* Another one connects and says something that makes no sense; the helper hangs up on him, and we
 * come back. What happened meanwhile is told once. */
static void test_a_lost_connection_is_made_again(void **state)
{
    struct rig rig;
    struct spawn_link other = {.fd = -1};
    char id[32];
    (void)state;
    rig_open(&rig);
    scoped_free char *go = mem_printf("%s/go", rig.dir);
    scoped_free char *script = mem_printf("while test ! -e %s; do sleep 0.01; done; exit 6", go);
    rig_shell(&rig, "waits", script);
    rig_sleep(&rig, "sleeps");
    rig_wait(&rig, SPAWN_STARTED, 2);
    int helper = helper_pid();
    for (int i = 0; i < 20; i++) {
        (void)snprintf(id, sizeof(id), "c/%d", i);
        rig_shell(&rig, id, "exit 1");
    }
    loop_turn(rig.loop, 0); /* they are sent, or some of them */
    assert_int_equal(spawn_link_connect(&other, rig.socket), 0);
    assert_int_equal(send(other.fd, "\0garbage", 8, MSG_NOSIGNAL), 8);
    struct pollfd poll_fd = {.fd = other.fd, .events = POLLRDHUP};
    assert_int_equal(poll(&poll_fd, 1, WAIT_MS), 1);
    spawn_link_done(&other);
    assert_int_equal(file_replace(go, "x", 1, 0600, NULL), 0);
    spawner_signal(rig.spawner, "sleeps", SIGTERM, true);
    time_ms until = clock_monotonic() + WAIT_MS;
    while (rig.n[SPAWN_EXITED] + rig.n[SPAWN_FAILED] < 22 && clock_monotonic() < until)
        loop_turn(rig.loop, 100);
    assert_int_equal(rig.n[SPAWN_EXITED] + rig.n[SPAWN_FAILED], 22);
    assert_exit(&rig, "waits", CLD_EXITED, 6);
    assert_exit(&rig, "sleeps", CLD_KILLED, SIGTERM);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(id, sizeof(id), "c/%d", i);
        if (rig_seen(&rig, id)->reply.type == SPAWN_FAILED) /* the helper did not get it */
            assert_int_equal(rig_seen(&rig, id)->reply.error, ECONNRESET);
        else
            assert_exit(&rig, id, CLD_EXITED, 1);
    }
    assert_int_equal(helper_pid(), helper);
    rig_close(&rig);
}

static void test_helpers_that_cannot_be(void **state)
{
    struct rig rig = {.seen = map_new(), .dir = "/tmp/muster-test-spawner-XXXXXX"};
    struct err err = {0};
    (void)state;
    assert_non_null(mkdtemp(rig.dir));
    (void)snprintf(rig.socket, sizeof(rig.socket), "%s/s.sock", rig.dir);
    assert_int_equal(loop_new(&rig.loop, NULL), 0);
    const char *const missing[] = {"/no/such", NULL}, *const useless[] = {"false", NULL};
    struct spawner_options options = {.loop = rig.loop,
                                      .socket = rig.socket,
                                      .helper = missing,
                                      .on_reply = on_reply,
                                      .arg = &rig};
    assert_int_equal(spawner_open(&options, &rig.spawner, &err), -ENOENT);
    assert_string_equal(err.text, "start the spawner: exec /no/such: No such file or directory");
    options.helper = useless;
    assert_int_equal(spawner_open(&options, &rig.spawner, &err), 0);
    rig_shell(&rig, "a", "exit 0");
    spawner_signal(rig.spawner, "a", SIGTERM, true);
    rig_wait(&rig, SPAWN_FAILED, 1);
    assert_string_equal(rig_seen(&rig, "a")->what, "spawner");
    rig_close(&rig);
}

static void test_two_spawners_side_by_side(void **state)
{
    struct rig one, two;
    (void)state;
    rig_open(&one);
    rig_open(&two);
    rig_shell(&one, "a", "exit 1");
    rig_shell(&two, "a", "exit 2");
    rig_wait(&one, SPAWN_EXITED, 1);
    rig_wait(&two, SPAWN_EXITED, 1);
    assert_exit(&one, "a", CLD_EXITED, 1);
    assert_exit(&two, "a", CLD_EXITED, 2);
    scoped_free char *command = mem_printf("rm -rf '%s'", one.dir);
    rig_end(&one, true);
    assert_int_equal(system(command), 0);
    rig_close(&two);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "helper") == 0)
        return spawner_main(argv[2]);
    if (argc == 3 && strcmp(argv[1], "supervisor") == 0)
        return be_supervisor(argv[2]);
    if (argc == 3 && strcmp(argv[1], "watcher") == 0)
        return be_watcher(argv[2]);
    fd_limit_raise();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_exit_and_failure),
        cmocka_unit_test(test_an_id_is_taken_until_it_is_forgotten),
        cmocka_unit_test(test_signals_reach_leader_or_group),
        cmocka_unit_test(test_transient_ones_are_not_kept),
        cmocka_unit_test(test_orphans_are_reaped),
        cmocka_unit_test(test_signals_of_a_terminal_do_not_end_the_helper),
        cmocka_unit_test(test_huge_requests),
        cmocka_unit_test(test_ends_are_never_booked_on_another),
        cmocka_unit_test(test_two_thousand_at_once),
        cmocka_unit_test(test_a_new_supervisor_finds_all_children),
        cmocka_unit_test(test_a_helper_of_no_use_goes),
        cmocka_unit_test(test_a_dead_helper_loses_no_exit),
        cmocka_unit_test(test_a_dead_helper_loses_no_signal),
        cmocka_unit_test(test_helpers_die_under_load),
        cmocka_unit_test(test_signals_overtake_starts),
        cmocka_unit_test(test_children_of_a_strange_helper),
        cmocka_unit_test(test_a_lost_connection_is_made_again),
        cmocka_unit_test(test_helpers_that_cannot_be),
        cmocka_unit_test(test_two_spawners_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
