// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/mem.h"
#include "node/spawners.h"
#include "os/clock.h"
#include "os/fd.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Real helpers and children, two spawners behind one door. This program is also the helper. */
#define WAIT_MS 60000
#define MANY 64

struct rig {
    struct loop *loop;
    struct spawners *spawners;
    char dir[64], socket[96];
    int n[SPAWN_LISTED + 1]; /* replies by type */
    int parents[MANY];       /* of the children, by their number */
};

static int parent_of(int pid)
{
    scoped_free char *path = mem_printf("/proc/%d/stat", pid);
    scoped_str text = {0};
    if (file_read(path, 4096, &text, NULL) < 0)
        return 0;
    const char *after = strrchr(str_text(&text), ')');
    return after != NULL ? (int)strtol(after + 4, NULL, 10) : 0;
}

static void on_reply(void *arg, const struct spawn_reply *reply)
{
    struct rig *rig = arg;
    rig->n[reply->type]++;
    if (reply->type == SPAWN_STARTED || reply->type == SPAWN_ALIVE)
        rig->parents[strtol(reply->id, NULL, 10)] = parent_of(reply->pid);
    if (reply->type == SPAWN_EXITED)
        spawners_forget(rig->spawners, reply->id);
}

static void rig_connect(struct rig *rig)
{
    const char *const helper[] = {"/proc/self/exe", "helper", NULL};
    struct spawner_options options = {.loop = rig->loop,
                                      .socket = rig->socket,
                                      .helper = helper,
                                      .on_reply = on_reply,
                                      .arg = rig};
    struct err err = {0};
    if (spawners_open(&options, &rig->spawners, &err) < 0)
        fail_msg("%s", err.text);
}

static void rig_open(struct rig *rig)
{
    char dir[] = "/tmp/muster-test-spawners-XXXXXX";
    *rig = (struct rig){0};
    assert_non_null(mkdtemp(dir));
    (void)snprintf(rig->dir, sizeof(rig->dir), "%s", dir);
    (void)snprintf(rig->socket, sizeof(rig->socket), "%s/s.sock", dir);
    assert_int_equal(loop_new(&rig->loop, NULL), 0);
    rig_connect(rig);
}

/* Also sees that no process was left behind. */
static void rig_close(struct rig *rig)
{
    scoped_free char *command = mem_printf("rm -rf '%s'", rig->dir);
    siginfo_t info;
    spawners_close(rig->spawners, true);
    loop_free(rig->loop);
    for (int i = 0; i < 2000 && waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0; i++)
        usleep(5000); /* the helpers were told to quit */
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(system(command), 0); /* a folder of known name below /tmp */
}

static void rig_wait(struct rig *rig, enum spawn_msg type, int count)
{
    time_ms until = clock_monotonic() + WAIT_MS;
    while (rig->n[type] < count && clock_monotonic() < until)
        loop_turn(rig->loop, 100);
    assert_int_equal(rig->n[type], count);
}

static void start(struct rig *rig, int number)
{
    static const char *const ENV[] = {"PATH=/usr/bin:/bin", NULL};
    const char *const argv[] = {"sleep", "10000", NULL};
    char id[16];
    (void)snprintf(id, sizeof(id), "%d", number);
    struct spawn_request request = {
        .id = id, .argv = argv, .envp = ENV, .uid = -1, .gid = -1, .nofile_soft = -1};
    spawners_start(rig->spawners, &request);
}

static void end_all(struct rig *rig, int count)
{
    char id[16];
    for (int i = 0; i < count; i++) {
        (void)snprintf(id, sizeof(id), "%d", i);
        spawners_signal(rig->spawners, id, SIGKILL, true);
    }
    rig_wait(rig, SPAWN_EXITED, count);
}

static int others(const struct rig *rig, int count)
{
    int n = 0;
    for (int i = 1; i < count; i++)
        n += rig->parents[i] != rig->parents[0];
    return n;
}

static void test_few_need_one(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    for (int i = 0; i < 8; i++)
        start(&rig, i);
    rig_wait(&rig, SPAWN_STARTED, 8);
    assert_int_equal(others(&rig, 8), 0);
    end_all(&rig, 8);
    rig_close(&rig);
}

static void test_many_are_shared(void **state)
{
    struct rig rig;
    (void)state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    rig_open(&rig);
    for (int i = 0; i < MANY; i++)
        start(&rig, i);
    rig_wait(&rig, SPAWN_STARTED, MANY);
    assert_true(others(&rig, MANY) > MANY / 8);
    start(&rig, MANY - 1); /* whoever has it says that it is there already */
    rig_wait(&rig, SPAWN_FAILED, 1);
    end_all(&rig, MANY);
    rig_close(&rig);
}

/* The next supervisor finds the children of both. */
static void test_both_are_taken_over(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    for (int i = 0; i < MANY; i++)
        start(&rig, i);
    rig_wait(&rig, SPAWN_STARTED, MANY);
    spawners_close(rig.spawners, false);
    rig_connect(&rig);
    spawners_list(rig.spawners);
    rig_wait(&rig, SPAWN_LISTED, 1);
    assert_int_equal(rig.n[SPAWN_ALIVE], MANY);
    end_all(&rig, MANY);
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_need_one),
        cmocka_unit_test(test_many_are_shared),
        cmocka_unit_test(test_both_are_taken_over),
    };
    if (argc == 3 && strcmp(argv[1], "helper") == 0)
        return spawner_main(argv[2]);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests_name("node/spawners", tests, NULL, NULL);
}
