// SPDX-License-Identifier: Apache-2.0
/* Questions to servers in the same loop. A script is what a server does with each connection: texts
 * that are sent one a turn once a request has come, then END or SILENCE. */
#include "../os/fixture.h"
#include "../os/tls_fixture.h"
#include "node/prober.h"
#include "node/prober_http.h"
#include "os/fd.h"
#include "os/socket.h"
#include <errno.h>
#include <inttypes.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PARTS_MAX 8
#define TALKS_MAX 32
#define PLENTY_MS 10000 /* never reached where an answer is expected */

struct script {
    const char *parts[PARTS_MAX]; /* NULL ends them */
    bool is_silent;               /* stays open instead of closing */
    bool is_deaf;                 /* does not wait for the request */
};

struct talk {
    struct stage *stage;
    int fd;
    struct loop_io *io;
    struct loop_timer timer;
    size_t next;
    struct str heard;
};

/* A loop, a prober, perhaps a server, and the latest answer. */
struct stage {
    struct loop *loop;
    struct prober *prober;
    int listener, port;
    struct loop_io *io;
    const struct script *script;
    struct talk talks[TALKS_MAX];
    size_t n_talks;
    int answers;
    uint64_t ticket;
    bool is_ok;
    char text[1024];
};

static void on_answer(void *arg, uint64_t ticket, bool is_ok, const char *text)
{
    struct stage *s = arg;
    s->answers++;
    s->ticket = ticket;
    s->is_ok = is_ok;
    (void)snprintf(s->text, sizeof(s->text), "%s", text);
}

static void hang_up(struct talk *talk)
{
    loop_timer_clear(talk->stage->loop, &talk->timer);
    loop_io_del(talk->io);
    talk->io = NULL;
    fd_close_scoped(&talk->fd);
}

static void say_next(void *arg)
{
    struct talk *talk = arg;
    const struct script *script = talk->stage->script;
    const char *part = talk->next < PARTS_MAX ? script->parts[talk->next] : NULL;
    talk->next++;
    if (part == NULL) {
        if (!script->is_silent)
            hang_up(talk);
        return;
    }
    (void)send(talk->fd, part, strlen(part), MSG_NOSIGNAL); /* the prober may have gone */
    loop_timer_set(talk->stage->loop, &talk->timer, loop_now(talk->stage->loop));
}

static void on_heard(void *arg, uint32_t events)
{
    struct talk *talk = arg;
    (void)events;
    char part[4096];
    ssize_t n = recv(talk->fd, part, sizeof(part), 0);
    if (n <= 0) {
        hang_up(talk);
        return;
    }
    str_addn(&talk->heard, part, (size_t)n);
    if (strstr(str_text(&talk->heard), "\r\n\r\n") != NULL && talk->next == 0)
        say_next(talk);
}

static void on_caller(void *arg, uint32_t events)
{
    struct stage *s = arg;
    (void)events;
    int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    assert_true(s->n_talks < TALKS_MAX);
    struct talk *talk = &s->talks[s->n_talks++];
    *talk = (struct talk){.stage = s, .fd = fd};
    loop_timer_init(&talk->timer, say_next, talk);
    talk->io = loop_io_add(s->loop, fd, EPOLLIN, on_heard, talk);
    if (s->script->is_deaf)
        say_next(talk);
}

static void stage_begin(struct stage *s)
{
    *s = (struct stage){.listener = -1};
    assert_int_equal(loop_new(&s->loop, NULL), 0);
    s->prober = prober_new(s->loop, on_answer, s);
}

static void stage_serve(struct stage *s, const char *address, const struct script *script)
{
    char host[256];
    assert_int_equal(socket_listen_tcp(address, &s->listener, host, &s->port, NULL), 0);
    s->script = script;
    s->io = loop_io_add(s->loop, s->listener, EPOLLIN, on_caller, s);
}

static void stage_end(struct stage *s)
{
    prober_free(s->prober);
    for (size_t i = 0; i < s->n_talks; i++) {
        if (s->talks[i].fd >= 0)
            hang_up(&s->talks[i]);
        str_done(&s->talks[i].heard);
    }
    loop_io_del(s->io);
    fd_close_scoped(&s->listener);
    loop_free(s->loop);
}

static void ask(struct stage *s, const char *host, const char *path, time_ms timeout_ms)
{
    struct prober_question question = {
        .host = host, .port = s->port, .path = path, .timeout_ms = timeout_ms};
    s->answers = 0;
    prober_ask(s->prober, &question, 7);
    assert_int_equal(s->answers, 0); /* never from within */
    until(s, s->answers > 0);
    assert_int_equal(s->answers, 1);
    assert_int_equal(s->ticket, 7);
}

/* ---- answers ---- */

static void test_answers(void **state)
{
    static const struct {
        struct script script;
        bool is_ok;
        const char *text;
    } ROWS[] = {
        {{{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}, .is_silent = true},
         true,
         "HTTP status 200"},
        {{{"HTTP/1.1 204 No Content\r\n\r\n"}, .is_silent = true}, true, "HTTP status 204"},
        {{{"HTTP/1.1 399 Odd\r\nContent-Length: 0\r\n\r\n"}}, true, "HTTP status 399"},
        {{{"HTTP/1.1 304 Not Modified\r\n\r\n"}}, true, "HTTP status 304"},
        {{{"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n"}}, false, "HTTP status 400"},
        {{{"HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\nnot\nyet\xff!"}},
         false,
         "HTTP status 503: not yet?!"},
        {{{"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}},
         true,
         "HTTP status 200"},
        {{{"HTTP/1.0 200 OK\r\n\r\n", "until the end"}}, true, "HTTP status 200"},
        {{{"HT", "TP/1.1 2", "00 OK\r", "\nContent-Le", "ngth: 4\r\n\r\n", "ab", "cd"}},
         true,
         "HTTP status 200"},
        {{{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\nabc\r\n", "0\r\n\r\n"},
          .is_silent = true},
         true,
         "HTTP status 200"},
        {{{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "ab"}},
         false,
         "ended before the answer was complete"},
        {{{"HTTP/1.1 200"}}, false, "ended before the answer was complete"},
        {{{NULL}}, false, "ended before the answer was complete"},
        {{{"SSH-2.0-OpenSSH_9.2\r\n"}, .is_silent = true}, false, "the answer is not HTTP"},
        {{{"\x16\x03\x01 nonsense"}, .is_silent = true}, false, "the answer is not HTTP"},
        {{{"HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: "
           "0\r\n\r\n"}},
         true,
         "not followed to http://elsewhere.example/"},
        {{{"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"}},
         false,
         "too many redirects"},
        {{{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}, .is_deaf = true},
         true,
         "HTTP status 200"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct stage s;
        stage_begin(&s);
        stage_serve(&s, "127.0.0.1:0", &ROWS[i].script);
        ask(&s, "127.0.0.1", "/healthz", PLENTY_MS);
        if (s.is_ok != ROWS[i].is_ok || strstr(s.text, ROWS[i].text) == NULL)
            fail_msg("row %zu: %d %s", i, s.is_ok, s.text);
        stage_end(&s);
    }
}

/* More than is read: the verdict comes without the end of the body. */
static void test_huge_answer(void **state)
{
    (void)state;
    scoped_str body = {0};
    for (int i = 0; i < 3000; i++)
        str_add(&body, "0123456789");
    struct script script = {.is_silent = true};
    script.parts[0] = "HTTP/1.1 500 Bad\r\nContent-Length: 1000000000\r\n\r\n";
    script.parts[1] = str_text(&body);
    struct stage s;
    stage_begin(&s);
    stage_serve(&s, "127.0.0.1:0", &script);
    ask(&s, "127.0.0.1", "/", PLENTY_MS);
    assert_false(s.is_ok);
    assert_true(str_starts(s.text, "HTTP status 500: 0123456789"));
    assert_true(strlen(s.text) < 300);
    stage_end(&s);
}

static void test_request(void **state)
{
    static const struct script OK = {{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}};
    static const char *const HEADERS[] = {"X-A: 1", "Host: shop", "Bad: a\r\nInjected: b", NULL};
    (void)state;
    struct stage s;
    stage_begin(&s);
    stage_serve(&s, "127.0.0.1:0", &OK);
    struct prober_question question = {.host = "127.0.0.1",
                                       .port = s.port,
                                       .path = "/a b\r\nX",
                                       .headers = HEADERS,
                                       .timeout_ms = PLENTY_MS};
    prober_ask(s.prober, &question, 1);
    until(&s, s.answers == 1);
    const char *heard = str_text(&s.talks[0].heard);
    assert_true(str_starts(heard, "GET /a%20b%0D%0AX HTTP/1.1\r\n"));
    assert_non_null(strstr(heard, "\r\nX-A: 1\r\n"));
    assert_non_null(strstr(heard, "\r\nHost: shop\r\n"));
    assert_null(strstr(heard, "127.0.0.1"));
    assert_null(strstr(heard, "\r\nInjected"));
    assert_non_null(strstr(heard, "\r\nAccept: */*\r\n"));
    stage_end(&s);
}

static void test_redirect_is_followed(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    struct script script = {0};
    stage_serve(&s, "127.0.0.1:0", &script);
    scoped_free char *first =
        mem_printf("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:%d/new?x#y\r\n"
                   "Content-Length: 0\r\n\r\n",
                   s.port);
    script.parts[0] = first;
    struct prober_question question = {
        .host = "127.0.0.1", .port = s.port, .path = "/old", .timeout_ms = PLENTY_MS};
    prober_ask(s.prober, &question, 1);
    until(&s, s.n_talks == 1 && s.talks[0].next > 0);
    script.parts[0] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    until(&s, s.answers == 1);
    assert_true(s.is_ok);
    assert_int_equal(s.n_talks, 2);
    assert_true(str_starts(str_text(&s.talks[1].heard), "GET /new?x HTTP/1.1\r\n"));
    stage_end(&s);
}

/* ---- connections ---- */

static const struct script NOTHING = {.is_silent = true};

static void test_tcp(void **state)
{
    static const char *const HOSTS[] = {"127.0.0.1", "localhost"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(HOSTS); i++) {
        struct stage s;
        stage_begin(&s);
        stage_serve(&s, "127.0.0.1:0", &NOTHING);
        ask(&s, HOSTS[i], NULL, PLENTY_MS);
        assert_true(s.is_ok);
        stage_end(&s);
    }
}

static bool has_v6(void)
{
    int fd = -1, port = 0;
    char host[256];
    bool works = socket_listen_tcp("[::1]:0", &fd, host, &port, NULL) == 0;
    fd_close_scoped(&fd);
    return works;
}

static void test_v6(void **state)
{
    static const struct script OK = {{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}};
    static const char *const HOSTS[] = {"::1", "[::1]", "localhost"};
    (void)state;
    if (!has_v6())
        skip();
    for (size_t i = 0; i < ARRAY_LEN(HOSTS); i++) {
        struct stage s;
        stage_begin(&s);
        stage_serve(&s, "[::1]:0", &OK);
        ask(&s, HOSTS[i], "/", PLENTY_MS);
        if (!s.is_ok)
            fail_msg("%s: %s", HOSTS[i], s.text);
        stage_end(&s);
    }
}

static void test_refused(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    stage_serve(&s, "127.0.0.1:0", &NOTHING);
    loop_io_del(s.io); /* nobody has this port now */
    s.io = NULL;
    fd_close_scoped(&s.listener);
    scoped_free char *text = mem_printf("connect to 127.0.0.1:%d: Connection refused", s.port);
    ask(&s, "127.0.0.1", NULL, PLENTY_MS);
    assert_false(s.is_ok);
    assert_string_equal(s.text, text);
    ask(&s, "127.0.0.1", "/x", PLENTY_MS);
    assert_non_null(strstr(s.text, "/x: Connection refused"));
    ask(&s, "shop.example", "/", PLENTY_MS);
    assert_false(s.is_ok);
    assert_non_null(strstr(s.text, "names are not looked up"));
    stage_end(&s);
}

/* Silence, and a server that says a little at a time, are late alike. */
static void test_late(void **state)
{
    static const struct script SLOW = {{"HTTP/1.1 200 OK\r\n", "X: 1\r\n"}, .is_silent = true};
    (void)state;
    const struct script *const scripts[] = {&NOTHING, &SLOW};
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        struct stage s;
        stage_begin(&s);
        stage_serve(&s, "127.0.0.1:0", scripts[i]);
        int64_t start = test_now_ms();
        ask(&s, "127.0.0.1", "/", 60);
        assert_false(s.is_ok);
        assert_non_null(strstr(s.text, "no answer within 60ms"));
        assert_true(test_now_ms() - start >= 59);
        stage_end(&s);
    }
}

/* ---- many, cancelled, dropped ---- */

static void test_cancel(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    stage_serve(&s, "127.0.0.1:0", &NOTHING);
    struct prober_question question = {
        .host = "127.0.0.1", .port = s.port, .path = "/", .timeout_ms = 80};
    for (uint64_t ticket = 1; ticket <= 3; ticket++)
        prober_ask(s.prober, &question, ticket);
    prober_cancel(s.prober, 1);
    until(&s, s.n_talks >= 2);
    prober_cancel(s.prober, 3);
    prober_cancel(s.prober, 99); /* unknown */
    until(&s, s.answers == 1);
    assert_int_equal(s.ticket, 2);
    loop_turn(s.loop, 120); /* the others' time-outs are over as well */
    assert_int_equal(s.answers, 1);
    prober_ask(s.prober, &question, 4); /* dropped with the prober */
    stage_end(&s);
}

static void on_answer_ask_again(void *arg, uint64_t ticket, bool is_ok, const char *text)
{
    struct stage *s = arg;
    on_answer(arg, ticket, is_ok, text);
    struct prober_question question = {.host = "127.0.0.1", .port = s->port, .timeout_ms = 1000};
    if (ticket < 20)
        prober_ask(s->prober, &question, ticket + 1);
}

static void test_ask_from_the_answer(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    prober_free(s.prober);
    s.prober = prober_new(s.loop, on_answer_ask_again, &s);
    stage_serve(&s, "127.0.0.1:0", &NOTHING);
    on_answer_ask_again(&s, 0, true, "");
    until(&s, s.ticket == 20);
    assert_true(s.is_ok);
    stage_end(&s);
}

/* ---- TLS ---- */

static void test_https(void **state)
{
    (void)state;
    SSL_CTX *server = NULL, *client = NULL;
    tls_fixture_new(&server, &client);
    SSL_CTX_free(client); /* ours trusts nobody and does not ask */
    struct fixture f;
    fixture_open(&f, NULL, server);
    struct stage s = {.loop = f.loop, .listener = -1};
    s.prober = prober_new(f.loop, on_answer, &s);
    struct prober_question question = {.host = "127.0.0.1",
                                       .port = f.port,
                                       .path = "/echo",
                                       .is_tls = true,
                                       .timeout_ms = PLENTY_MS};
    prober_ask(s.prober, &question, 1);
    until(&s, s.answers == 1);
    if (!s.is_ok)
        fail_msg("%s", s.text);
    f.big_bytes = 200000;
    question.path = "/big";
    prober_ask(s.prober, &question, 2);
    until(&s, s.answers == 2);
    assert_true(s.is_ok);
    question.is_tls = false; /* clear text to a TLS port */
    prober_ask(s.prober, &question, 3);
    until(&s, s.answers == 3);
    assert_false(s.is_ok);
    prober_free(s.prober);
    fixture_close(&f);
    SSL_CTX_free(server);
}

static void test_https_to_clear_text(void **state)
{
    static const struct script PLAIN = {{"HTTP/1.1 400 Bad\r\n\r\n"}, .is_deaf = true};
    (void)state;
    struct stage s;
    stage_begin(&s);
    stage_serve(&s, "127.0.0.1:0", &PLAIN);
    struct prober_question question = {
        .host = "127.0.0.1", .port = s.port, .path = "/", .is_tls = true, .timeout_ms = PLENTY_MS};
    prober_ask(s.prober, &question, 1);
    until(&s, s.answers == 1);
    assert_false(s.is_ok);
    assert_true(str_starts(s.text, "TLS with https://127.0.0.1:"));
    stage_end(&s);
}

/* ---- redirects as texts ---- */

static void test_redirect_texts(void **state)
{
    static const struct {
        const char *location, *result; /* NULL: not followed */
    } ROWS[] = {
        {"/x", "http://h:80/x"},
        {"x", "http://h:80/a/x"},
        {"?q", "http://h:80/a/?q"},
        {"//h:81/x", "http://h:81/x"},
        {"http://h/x", "http://h:80/x"},
        {"HTTP://H:8080", "http://h:8080/"},
        {"https://h/x", "https://h:443/x"},
        {"https://h:1?q", "https://h:1/?q"},
        {"http://other/x", NULL},
        {"http://h:0/", NULL},
        {"http://h:99999/", NULL},
        {"http://h:8x/", NULL},
        {"http://[h/", NULL},
        {"ftp://h/", NULL},
        {"mailto:a@h", NULL},
        {"", NULL},
        {"   ", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct probe_target target = {mem_strdup("h"), 80, mem_strdup("/a/b?c"), false};
        bool follows = probe_redirect(&target, ROWS[i].location);
        scoped_str text = {0};
        probe_target_name(&target, &text);
        const char *want = ROWS[i].result != NULL ? ROWS[i].result : "http://h:80/a/b?c";
        if (follows != (ROWS[i].result != NULL) || !str_eq(str_text(&text), want))
            fail_msg("'%s': %d %s", ROWS[i].location, follows, str_text(&text));
        probe_target_done(&target);
    }
    struct probe_target v6 = {mem_strdup("::1"), 80, mem_strdup("/"), false};
    assert_true(probe_redirect(&v6, "http://[::1]:9/z"));
    assert_int_equal(v6.port, 9);
    probe_target_done(&v6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_huge_answer),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_redirect_is_followed),
        cmocka_unit_test(test_tcp),
        cmocka_unit_test(test_v6),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_ask_from_the_answer),
        cmocka_unit_test(test_https),
        cmocka_unit_test(test_https_to_clear_text),
        cmocka_unit_test(test_redirect_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
