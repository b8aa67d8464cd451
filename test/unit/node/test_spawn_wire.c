// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/mem.h"
#include "node/spawn_link.h"
#include "node/spawn_wire.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static const char *const ARGV[] = {"/bin/prog", "", "two words", NULL};
static const char *const ENVP[] = {"PATH=/bin", NULL};
static const char *const JOIN[] = {"/a/cgroup.procs", "/b/cgroup.procs", NULL};
static const int64_t GROUPS[] = {5, 4000000000};
static const struct spawn_mount MOUNTS[] = {{"/src", "/dst", true}, {"/x", "/y", false}};

static struct spawn_order full_start(void)
{
    return (struct spawn_order){
        .type = SPAWN_START,
        .start = {.id = "uid/main/3",
                  .argv = ARGV,
                  .envp = ENVP,
                  .dir = "/tmp",
                  .cgroup = "/sys/fs/cgroup/x",
                  .join = JOIN,
                  .uid = 1000,
                  .gid = -1,
                  .groups = GROUPS,
                  .n_groups = ARRAY_LEN(GROUPS),
                  .nofile_soft = 1024,
                  .oom_score_adj = -5,
                  .is_transient = true,
                  .mounts = MOUNTS,
                  .n_mounts = ARRAY_LEN(MOUNTS)},
    };
}

static void assert_texts(const char *const *got, const char *const *wanted)
{
    size_t i = 0;
    for (; wanted[i]; i++)
        assert_string_equal(got[i], wanted[i]);
    assert_null(got[i]);
}

static void assert_full_start(const struct spawn_request *start)
{
    assert_string_equal(start->id, "uid/main/3");
    assert_texts(start->argv, ARGV);
    assert_texts(start->envp, ENVP);
    assert_texts(start->join, JOIN);
    assert_string_equal(start->dir, "/tmp");
    assert_null(start->out);
    assert_string_equal(start->cgroup, "/sys/fs/cgroup/x");
    assert_int_equal(start->uid, 1000);
    assert_int_equal(start->gid, -1);
    assert_int_equal(start->n_groups, 2);
    assert_int_equal(start->groups[1], 4000000000);
    assert_int_equal(start->nofile_soft, 1024);
    assert_int_equal(start->oom_score_adj, -5);
    assert_true(start->is_transient);
    assert_int_equal(start->n_mounts, 2);
    assert_string_equal(start->mounts[0].source, "/src");
    assert_string_equal(start->mounts[1].target, "/y");
    assert_true(start->mounts[0].is_read_only);
    assert_false(start->mounts[1].is_read_only);
}

static void test_orders_come_out_as_they_went_in(void **state)
{
    struct spawn_order orders[] = {
        {.type = SPAWN_HELLO, .version = 7, .pid = 42},
        {.type = SPAWN_LIST},
        full_start(),
        {.type = SPAWN_SIGNAL, .id = "a", .signo = 15, .to_group = true},
        {.type = SPAWN_FORGET, .id = "b"},
        {.type = SPAWN_QUIT},
    };
    scoped_str bytes = {0};
    struct arena arena;
    struct spawn_order got[ARRAY_LEN(orders) + 1];
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(orders); i++)
        assert_int_equal(spawn_wire_put_order(&bytes, &orders[i]), 0);
    struct sv rest = {bytes.data, bytes.len};
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        assert_int_equal(spawn_wire_next_order(&rest, &arena, &got[i]), 1);
        assert_int_equal(got[i].type, orders[i].type);
    }
    assert_int_equal(spawn_wire_next_order(&rest, &arena, &got[6]), 0);
    assert_int_equal(got[0].version, 7);
    assert_int_equal(got[0].pid, 42);
    assert_full_start(&got[2].start);
    assert_string_equal(got[2].id, "uid/main/3");
    assert_string_equal(got[3].id, "a");
    assert_int_equal(got[3].signo, 15);
    assert_true(got[3].to_group);
    assert_string_equal(got[4].id, "b");
    arena_done(&arena);
}

static void test_replies_come_out_as_they_went_in(void **state)
{
    struct spawn_reply in = {.type = SPAWN_FAILED,
                             .id = "i",
                             .version = 1,
                             .pid = 2,
                             .ident = UINT64_MAX,
                             .error = 3,
                             .what = "exec",
                             .path = "/x",
                             .code = 4,
                             .status = -1,
                             .at_ms = INT64_MAX};
    struct spawn_reply out;
    scoped_str bytes = {0};
    (void)state;
    assert_int_equal(spawn_wire_put_reply(&bytes, &in), 0);
    assert_int_equal(spawn_wire_put_reply(&bytes, &(struct spawn_reply){.type = SPAWN_LISTED}), 0);
    struct sv rest = {bytes.data, bytes.len};
    assert_int_equal(spawn_wire_next_reply(&rest, &out), 1);
    assert_string_equal(out.id, "i");
    assert_int_equal(out.pid, 2);
    assert_true(out.ident == UINT64_MAX);
    assert_int_equal(out.error, 3);
    assert_string_equal(out.what, "exec");
    assert_string_equal(out.path, "/x");
    assert_int_equal(out.code, 4);
    assert_int_equal(out.status, -1);
    assert_true(out.at_ms == INT64_MAX);
    assert_int_equal(spawn_wire_next_reply(&rest, &out), 1);
    assert_int_equal(out.type, SPAWN_LISTED);
    assert_string_equal(out.id, "");
    assert_int_equal(spawn_wire_next_reply(&rest, &out), 0);
}

/* Cut anywhere it is refused; only the cut before the first byte leaves nothing to refuse. */
static void test_every_cut_is_refused(void **state)
{
    struct spawn_order order = full_start();
    scoped_str bytes = {0};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    (void)spawn_wire_put_order(&bytes, &order);
    for (size_t len = 1; len < bytes.len; len++) {
        scoped_free char *copy = mem_dup(bytes.data, len); /* so that reading behind it is seen */
        struct sv rest = {copy, len};
        assert_int_equal(spawn_wire_next_order(&rest, &arena, &order), -EBADMSG);
        if (len < 8)
            continue;
        uint32_t size = (uint32_t)len; /* the message itself ends too early */
        memcpy(copy, &size, sizeof(size));
        rest = (struct sv){copy, len};
        assert_int_equal(spawn_wire_next_order(&rest, &arena, &order), -EBADMSG);
        arena_reset(&arena);
    }
    arena_done(&arena);
}

static void test_unknown_types_and_fields_are_skipped(void **state)
{
    scoped_str bytes = {0};
    struct spawn_order order;
    struct arena arena;
    (void)state;
    arena_init(&arena);
    static const char UNKNOWN[] = {12, 0, 0, 0, 99, 0, 0, 0, 1, 2, 3, 4};
    static const char LONGER[] = {12, 0, 0, 0, SPAWN_QUIT, 0, 0, 0, 1, 2, 3, 4};
    str_addn(&bytes, UNKNOWN, sizeof(UNKNOWN));
    str_addn(&bytes, LONGER, sizeof(LONGER));
    struct sv rest = {bytes.data, bytes.len};
    assert_int_equal(spawn_wire_next_order(&rest, &arena, &order), 1);
    assert_int_equal(order.type, SPAWN_QUIT);
    assert_int_equal(spawn_wire_next_order(&rest, &arena, &order), 0);
    arena_done(&arena);
}

static void test_lies_are_refused(void **state)
{
    static const struct {
        const char *what;
        char bytes[20];
        size_t len;
    } LIES[] = {
        {"a size below the head", {7, 0, 0, 0, SPAWN_QUIT, 0, 0, 0}, 8},
        {"no size at all", {0, 0, 0, 0, SPAWN_QUIT, 0, 0, 0}, 8},
        {"an empty id", {13, 0, 0, 0, SPAWN_FORGET, 0, 0, 0, 0, 0, 0, 0, 0}, 13},
        {"a NUL inside", {15, 0, 0, 0, SPAWN_FORGET, 0, 0, 0, 2, 0, 0, 0, 'a', 0, 0}, 15},
        {"no NUL behind", {14, 0, 0, 0, SPAWN_FORGET, 0, 0, 0, 1, 0, 0, 0, 'a', 'b'}, 14},
        {"an absent id", {12, 0, 0, 0, SPAWN_FORGET, 0, 0, 0, -1, -1, -1, -1}, 12},
        {"a length past the end", {13, 0, 0, 0, SPAWN_FORGET, 0, 0, 0, -2, -1, -1, -1, 0}, 13},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(LIES); i++) {
        struct sv rest = {LIES[i].bytes, LIES[i].len};
        struct spawn_order order;
        if (spawn_wire_next_order(&rest, &arena, &order) != -EBADMSG)
            fail_msg("%s was accepted", LIES[i].what);
    }
    arena_done(&arena);
}

static void test_too_big_a_message_leaves_no_trace(void **state)
{
    scoped_free char *huge = mem_zalloc(SPAWN_WIRE_MAX + 1);
    memset(huge, 'x', SPAWN_WIRE_MAX);
    const char *const argv[] = {"/bin/true", huge, NULL};
    struct spawn_order order = {.type = SPAWN_START, .start = {.id = "a", .argv = argv}};
    scoped_str bytes = {0};
    (void)state;
    (void)spawn_wire_put_order(&bytes, &(struct spawn_order){.type = SPAWN_LIST});
    size_t before = bytes.len;
    assert_int_equal(spawn_wire_put_order(&bytes, &order), -EMSGSIZE);
    assert_int_equal(bytes.len, before);
}

struct pair {
    struct spawn_link a, b;
    struct arena arena;
    size_t n;
    char last[64];
};

static struct pair pair_open(void)
{
    int fds[2];
    struct pair pair = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    pair.a.fd = fds[0];
    pair.b.fd = fds[1];
    arena_init(&pair.arena);
    return pair;
}

static void pair_close(struct pair *pair)
{
    spawn_link_done(&pair->a);
    spawn_link_done(&pair->b);
    arena_done(&pair->arena);
}

static void pair_drain(struct pair *pair)
{
    struct sv rest;
    struct spawn_order order;
    while (spawn_link_read(&pair->b, &rest) > 0 || pair->b.is_gathering) {
        if (pair->b.is_gathering)
            continue;
        while (spawn_wire_next_order(&rest, &pair->arena, &order) > 0) {
            pair->n++;
            assert_true(strlen(order.id) < sizeof(pair->last));
            memcpy(pair->last, order.id, strlen(order.id) + 1);
        }
    }
}

/* Far more than the socket holds, so that it fills up again and again. */
static void test_a_full_link_goes_on_where_it_stopped(void **state)
{
    struct pair pair = pair_open();
    size_t n_full = 0;
    (void)state;
    for (size_t i = 0; i < 20000; i++) {
        scoped_free char *id = mem_printf("some/long/enough/id/%zu", i);
        struct spawn_order order = {.type = SPAWN_FORGET, .id = id};
        assert_int_equal(spawn_wire_put_order(&pair.a.out, &order), 0);
    }
    int r;
    while ((r = spawn_link_flush(&pair.a)) == 1) {
        n_full++;
        pair_drain(&pair);
    }
    assert_int_equal(r, 0);
    pair_drain(&pair);
    assert_true(n_full > 0);
    assert_int_equal(pair.n, 20000);
    assert_string_equal(pair.last, "some/long/enough/id/19999");
    pair_close(&pair);
}

static void test_a_big_message_is_spread_over_datagrams(void **state)
{
    struct pair pair = pair_open();
    scoped_free char *big = mem_zalloc(900001);
    const char *const argv[] = {"/bin/true", big, NULL};
    struct spawn_order order = {.type = SPAWN_START, .start = {.id = "big", .argv = argv}};
    struct spawn_order after = {.type = SPAWN_FORGET, .id = "after"};
    (void)state;
    memset(big, 'x', 900000);
    assert_int_equal(spawn_wire_put_order(&pair.a.out, &after), 0);
    assert_int_equal(spawn_wire_put_order(&pair.a.out, &order), 0);
    assert_int_equal(spawn_wire_put_order(&pair.a.out, &after), 0);
    while (spawn_link_flush(&pair.a) == 1) {
        struct sv rest;
        struct spawn_order got;
        if (spawn_link_read(&pair.b, &rest) <= 0)
            continue;
        while (spawn_wire_next_order(&rest, &pair.arena, &got) > 0)
            pair.n++;
    }
    pair_drain(&pair);
    assert_int_equal(pair.n, 3);
    assert_string_equal(pair.last, "after");
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_come_out_as_they_went_in),
        cmocka_unit_test(test_replies_come_out_as_they_went_in),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_unknown_types_and_fields_are_skipped),
        cmocka_unit_test(test_lies_are_refused),
        cmocka_unit_test(test_too_big_a_message_leaves_no_trace),
        cmocka_unit_test(test_a_full_link_goes_on_where_it_stopped),
        cmocka_unit_test(test_a_big_message_is_spread_over_datagrams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
