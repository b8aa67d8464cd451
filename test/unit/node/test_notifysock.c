// SPDX-License-Identifier: Apache-2.0
/* What children say on their notify socket. Each sender is a process of its own. */
#include "base/mem.h"
#include "base/str.h"
#include "node/notifysock.h"
#include "os/clock.h"
#include "os/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OTHER_USER 54321

struct stage {
    struct loop *loop;
    char dir[32];
    char *path;
    struct notifysock *sock;
    struct str heard; /* assignments, each with a | behind it */
    bool closes;      /* at the first one */
};

static void on_said(void *arg, const char *assignment)
{
    struct stage *s = arg;
    str_addf(&s->heard, "%s|", assignment);
    if (s->closes) {
        notifysock_close(s->sock);
        s->sock = NULL;
    }
}

static void stage_begin(struct stage *s, const char *below)
{
    *s = (struct stage){.dir = "/tmp/muster-notify-XXXXXX"};
    assert_non_null(mkdtemp(s->dir));
    assert_int_equal(chmod(s->dir, 0711), 0);
    s->path = mem_printf("%s/%s", s->dir, below);
    assert_int_equal(loop_new(&s->loop, NULL), 0);
    struct err err = {0};
    if (notifysock_open(s->loop, s->path, on_said, s, &s->sock, &err) < 0)
        fail_msg("%s", err.text);
}

static void stage_end(struct stage *s)
{
    notifysock_close(s->sock);
    assert_false(file_exists(s->path));
    assert_int_equal(rmdir(s->dir), 0);
    loop_free(s->loop);
    str_done(&s->heard);
    mem_free(s->path);
}

static void until_heard(struct stage *s, const char *text)
{
    time_ms deadline = clock_monotonic() + 10000;
    while (!str_eq(str_text(&s->heard), text)) {
        if (clock_monotonic() > deadline)
            fail_msg("heard '%s', not '%s'", str_text(&s->heard), text);
        loop_turn(s->loop, 5);
    }
}

/* In the child: as sd_notify() does it. Returns an exit code. */
static int send_to(const char *address, const char *data, size_t len, int fd_along)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t size = strlen(address);
    if (size >= sizeof(to.sun_path))
        return 2;
    memcpy(to.sun_path, address, size);
    if (*address == '@')
        to.sun_path[0] = '\0';
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)data, len};
    struct msghdr message = {.msg_name = &to,
                             .msg_namelen =
                                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size),
                             .msg_iov = &part,
                             .msg_iovlen = 1};
    if (fd_along >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(head), &fd_along, sizeof(int));
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || sendmsg(fd, &message, MSG_NOSIGNAL) != (ssize_t)len)
        return 1;
    return 0;
}

/* 0, or why the child could not send. */
static int say(struct stage *s, uid_t uid, const char *data, size_t len)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (uid != geteuid() && setresuid(uid, uid, uid) < 0)
            _exit(3);
        _exit(send_to(notifysock_address(s->sock), data, len, -1));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void say_well(struct stage *s, const char *text)
{
    assert_int_equal(say(s, geteuid(), text, strlen(text)), 0);
}

static void test_assignments(void **state)
{
    static const struct {
        const char *sent, *heard;
    } ROWS[] = {
        {"READY=1", "READY=1|"},
        {"READY=1\n", "READY=1|"},
        {"READY=1\nSTATUS=up and\ttrue\nMAINPID=42", "READY=1|STATUS=up and\ttrue|MAINPID=42|"},
        {"\n\nWATCHDOG=1\n\n\nX", "WATCHDOG=1|X|"},
        {"EXTEND_TIMEOUT_USEC=5000000", "EXTEND_TIMEOUT_USEC=5000000|"},
        {"nonsense", "nonsense|"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct stage s;
        stage_begin(&s, "notify");
        assert_string_equal(notifysock_address(s.sock), s.path);
        say_well(&s, ROWS[i].sent);
        until_heard(&s, ROWS[i].heard);
        stage_end(&s);
    }
}

/* Dropped as a whole; what comes after is heard. */
static void test_bad_datagrams(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s, "notify");
    scoped_free char *huge = mem_alloc(10000);
    memset(huge, 'x', 10000);
    assert_int_equal(say(&s, geteuid(), huge, 10000), 0);
    assert_int_equal(say(&s, geteuid(), "A=1\0B=2", 7), 0);
    assert_int_equal(say(&s, geteuid(), "", 0), 0);
    assert_int_equal(say(&s, geteuid(), "C=3\0", 4), 0); /* its end is its end */
    assert_int_equal(say(&s, geteuid(), huge, 4096), 0); /* the most that fits */
    huge[4096] = '\0';
    scoped_free char *want = mem_printf("C=3|%s|", huge);
    until_heard(&s, want);
    stage_end(&s);
}

static void test_many(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s, "notify");
    scoped_str want = {0};
    for (int i = 0; i < 100; i++) {
        scoped_free char *text = mem_printf("N=%d", i);
        assert_int_equal(send_to(notifysock_address(s.sock), text, strlen(text), -1), 0);
        str_addf(&want, "%s|", text);
        if (i % 5 == 4)
            until_heard(&s, str_text(&want)); /* the kernel keeps few at a time */
    }
    stage_end(&s);
}

/* A sender that passes a pipe along sees it closed: sd_notify_barrier() waits for that. */
static void test_descriptors_are_closed(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s, "notify");
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(send_to(notifysock_address(s.sock), "BARRIER=1", 9, ends[1]), 0);
    (void)close(ends[1]);
    until_heard(&s, "BARRIER=1|");
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0); /* nobody else holds the other end */
    (void)close(ends[0]);
    stage_end(&s);
}

static void test_users(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can send as somebody else */
    struct stage s;
    stage_begin(&s, "notify");
    assert_int_equal(say(&s, OTHER_USER, "READY=1", 7), 1); /* may not write to the file */
    assert_int_equal(chmod(s.path, 0666), 0);
    assert_int_equal(say(&s, OTHER_USER, "READY=1", 7), 0); /* now he may, and is not heard */
    say_well(&s, "A=1");
    until_heard(&s, "A=1|");
    assert_int_equal(chmod(s.path, 0600), 0);
    assert_int_equal(notifysock_allow(s.sock, OTHER_USER, NULL), 0);
    assert_int_equal(say(&s, OTHER_USER, "READY=1", 7), 0);
    until_heard(&s, "A=1|READY=1|");
    assert_int_equal(say(&s, OTHER_USER + 1, "READY=1", 7), 1);
    say_well(&s, "B=1");
    until_heard(&s, "A=1|READY=1|B=1|");
    stage_end(&s);
}

static void test_long_path(void **state)
{
    (void)state;
    scoped_str name = {0};
    for (int i = 0; i < 30; i++)
        str_add(&name, "long-");
    struct stage s;
    stage_begin(&s, str_text(&name));
    const char *address = notifysock_address(s.sock);
    assert_int_equal(*address, '@');
    assert_true(strlen(address) < 108);
    say_well(&s, "READY=1");
    until_heard(&s, "READY=1|");

    /* The name belongs to the path, and to one socket at a time. */
    struct notifysock *second = NULL;
    struct err err = {0};
    assert_int_equal(notifysock_open(s.loop, s.path, on_said, &s, &second, &err), -EADDRINUSE);
    assert_non_null(strstr(err.hint, "--data"));
    scoped_free char *before = mem_strdup(address);
    notifysock_close(s.sock);
    assert_int_equal(notifysock_open(s.loop, s.path, on_said, &s, &s.sock, NULL), 0);
    assert_string_equal(notifysock_address(s.sock), before);
    stage_end(&s);
}

/* A supervisor that was killed leaves its socket; the next one takes the path over. */
static void test_taken_over(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s, "notify");
    struct notifysock *old = s.sock;
    assert_int_equal(notifysock_open(s.loop, s.path, on_said, &s, &s.sock, NULL), 0);
    say_well(&s, "READY=1");
    until_heard(&s, "READY=1|");
    struct notifysock *now = s.sock;
    s.sock = old;
    notifysock_close(now);
    stage_end(&s);
}

static void test_closed_from_within(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s, "notify");
    s.closes = true;
    say_well(&s, "READY=1\nSTATUS=never heard");
    until_heard(&s, "READY=1|");
    loop_turn(s.loop, 0);
    assert_string_equal(str_text(&s.heard), "READY=1|");
    stage_end(&s);
}

static void test_no_folder(void **state)
{
    (void)state;
    struct loop *loop = NULL;
    assert_int_equal(loop_new(&loop, NULL), 0);
    struct notifysock *sock = NULL;
    struct err err = {0};
    assert_int_equal(notifysock_open(loop, "/nowhere/at/all", on_said, NULL, &sock, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
    assert_null(sock);
    notifysock_close(NULL);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assignments), cmocka_unit_test(test_bad_datagrams),
        cmocka_unit_test(test_many),        cmocka_unit_test(test_descriptors_are_closed),
        cmocka_unit_test(test_users),       cmocka_unit_test(test_long_path),
        cmocka_unit_test(test_taken_over),  cmocka_unit_test(test_closed_from_within),
        cmocka_unit_test(test_no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
