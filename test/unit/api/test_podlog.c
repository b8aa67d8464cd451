// SPDX-License-Identifier: Apache-2.0
/* The address /log with real logs behind it: a server in this thread, clients in others. */
#include "api/host.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/logsource.h"
#include "os/client.h"
#include "os/clock.h"
#include "os/fd.h"
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PODS "/api/v1/namespaces/default/pods"
#define PATIENCE_MS 30000

struct stage {
    struct loop *loop;
    struct host *host;
    struct logs *logs;
    struct log_source source;
    char dir[64];
    bool stopped;
};

/* ---- one request in a thread, while this thread serves it ---- */

struct ask {
    const char *socket;
    struct client_request req;
    struct client_response res;
    int result;
    _Atomic bool done;
    pthread_t thread;
};

static void *run_ask(void *arg)
{
    struct ask *ask = arg;
    struct client *client = NULL;
    struct err err = {0};
    ask->result = client_new(&(struct client_options){.unix_path = ask->socket}, &client, &err);
    if (ask->result == 0)
        ask->result = client_call(client, &ask->req, &ask->res, &err);
    client_free(client);
    ask->done = true;
    return NULL;
}

static void ask_start(struct stage *stage, struct ask *ask)
{
    ask->socket = host_socket(stage->host);
    ask->done = false;
    assert_int_equal(pthread_create(&ask->thread, NULL, run_ask, ask), 0);
}

static void ask_finish(struct stage *stage, struct ask *ask)
{
    time_ms limit = clock_monotonic() + PATIENCE_MS;
    while (!ask->done && clock_monotonic() < limit)
        loop_turn(stage->loop, 10);
    assert_true(ask->done);
    assert_int_equal(pthread_join(ask->thread, NULL), 0);
    assert_int_equal(ask->result, 0);
}

/* JSON with ' for ". */
static void json_of(const char *text, struct str *out)
{
    for (; *text != '\0'; text++)
        str_addc(out, *text == '\'' ? '"' : *text);
}

static void send(struct stage *stage, const char *method, const char *target, const char *body,
                 int status)
{
    scoped_str json = {0};
    json_of(body, &json);
    bool patch = strcmp(method, "PATCH") == 0;
    struct ask ask = {
        .req = {.method = method,
                .target = target,
                .content_type = patch ? "application/merge-patch+json" : "application/json",
                .body = {str_text(&json), json.len}}};
    ask_start(stage, &ask);
    ask_finish(stage, &ask);
    if (ask.res.status != status)
        fail_msg("%s %s: %d %s", method, target, ask.res.status, str_text(&ask.res.body));
    client_response_done(&ask.res);
}

static void get(struct stage *stage, const char *target, struct client_response *res)
{
    struct ask ask = {.req = {.target = target}};
    ask_start(stage, &ask);
    ask_finish(stage, &ask);
    *res = ask.res;
}

/* ---- the stage ---- */

static void add_pod(struct stage *stage, const char *name, const char *rest)
{
    scoped_str body = {0};
    str_addf(&body, "{'metadata':{'name':'%s'%s", name, rest);
    send(stage, "POST", PODS, str_text(&body), 201);
}

static void set_status(struct stage *stage, const char *name, const char *statuses)
{
    scoped_str target = {0}, body = {0};
    str_addf(&target, PODS "/%s/status", name);
    str_addf(&body, "{'status':{'phase':'Running','containerStatuses':[%s]}}", statuses);
    send(stage, "PATCH", str_text(&target), str_text(&body), 200);
}

static struct log_name name_of(struct stage *stage, const char *pod, const char *container,
                               uint32_t generation)
{
    const struct obj *obj = cache_get(host_store(stage->host)->cache, &KIND_POD, "default", pod);
    assert_non_null(obj);
    return (struct log_name){"default", pod, obj->meta.uid, container, generation};
}

static char *begin_log(struct stage *stage, const struct log_name *name, const char *text)
{
    char *path = NULL;
    struct err err = {0};
    if (logs_begin(stage->logs, name, &path, &err) < 0)
        fail_msg("%s", err.text);
    int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
    return path;
}

#define ONE "},'spec':{'containers':[{'name':'c','image':'x'}]}}"
#define TWO                                                                                        \
    "'spec':{'containers':[{'name':'a','image':'x'},{'name':'b','image':'x'}],'initContainers':["  \
    "{'name':'i','image':'x'}]}}"
#define RUNNING "'image':'x','imageID':'','ready':true,'state':{'running':{}}"

static int open_stage(void **state)
{
    struct stage *stage = mem_zalloc(sizeof(*stage));
    struct err err = {0};
    (void)snprintf(stage->dir, sizeof(stage->dir), "/tmp/muster-podlog-XXXXXX");
    assert_non_null(mkdtemp(stage->dir));
    scoped_free char *logs = mem_printf("%s/logs", stage->dir);
    assert_int_equal(loop_new(&stage->loop, &err), 0);
    assert_int_equal(logs_open(stage->loop, logs, &stage->logs, &err), 0);
    stage->source = logsource_of(stage->logs);
    struct host_options options = {
        .data = stage->dir, .listen = "127.0.0.1:0", .logs = &stage->source};
    if (host_start(stage->loop, &options, &stage->host, &err) < 0)
        fail_msg("%s", err.text);
    add_pod(stage, "one", ONE);
    add_pod(stage, "two", "}," TWO);
    add_pod(stage, "marked",
            ",'annotations':{'kubectl.kubernetes.io/default-container':'b'}}," TWO);
    *state = stage;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void on_stopped(void *arg)
{
    struct stage *stage = arg;
    stage->stopped = true;
}

static int close_stage(void **state)
{
    struct stage *stage = *state;
    if (!stage->stopped)
        host_stop(stage->host, on_stopped, stage);
    while (!stage->stopped)
        loop_turn(stage->loop, 10);
    host_free(stage->host);
    logs_close(stage->logs);
    loop_free(stage->loop);
    (void)nftw(stage->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    mem_free(stage);
    return 0;
}

/* ---- cases ---- */

struct want {
    const char *target; /* behind PODS */
    int status;
    const char *text; /* whole body, or the message of a refusal */
};

static void check(struct stage *stage, const struct want *want)
{
    scoped_str target = {0};
    struct client_response res = {0};
    str_addf(&target, PODS "/%s", want->target);
    get(stage, str_text(&target), &res);
    const char *got = str_text(&res.body);
    scoped_json *doc = NULL;
    if (res.status != 200 && json_parse((struct sv){got, res.body.len}, &doc, NULL) == 0)
        got = json_str_at(yyjson_doc_get_root(doc), "message");
    if (res.status != want->status || strcmp(got, want->text) != 0)
        fail_msg("%s: %d '%s'", want->target, res.status, got);
    if (res.status == 200)
        assert_string_equal(str_text(&res.content_type), "text/plain");
    client_response_done(&res);
}

static void test_refusals(void **state)
{
    struct stage *stage = *state;
    static const struct want WANTED[] = {
        {"none/log", 404, "pods \"none\" not found"},
        {"one/log", 400, "container \"c\" in pod \"one\" is waiting to start: ContainerCreating"},
        {"one/log?container=x", 400, "container x is not valid for pod one"},
        {"two/log", 400,
         "a container name must be specified for pod two, choose one of: [a b] or one of the init "
         "containers: [i]"},
        {"two/log?container=a", 400,
         "container \"a\" in pod \"two\" is waiting to start: PodInitializing"},
        {"two/log?container=i", 400,
         "container \"i\" in pod \"two\" is waiting to start: ContainerCreating"},
        {"marked/log", 400,
         "container \"b\" in pod \"marked\" is waiting to start: PodInitializing"},
        {"one/log?previous=true", 400,
         "previous terminated container \"c\" in pod \"one\" not found"},
        {"one/log?tailLines=-1", 422,
         "PodLogOptions \"one\" is invalid: tailLines: Invalid value: \"-1\": must be greater than "
         "or equal to 0"},
        {"one/log?limitBytes=0", 422,
         "PodLogOptions \"one\" is invalid: limitBytes: Invalid value: \"0\": must be greater than "
         "0"},
        {"one/log?sinceTime=yesterday", 422,
         "PodLogOptions \"one\" is invalid: sinceTime: Invalid value: \"yesterday\": must be a "
         "time as in RFC 3339"},
        {"one/log?sinceTime=2026-01-01T00:00:00Z&sinceSeconds=5", 422,
         "PodLogOptions \"one\" is invalid: sinceTime: Invalid value: \"2026-01-01T00:00:00Z\": at "
         "most one of `sinceTime` or `sinceSeconds` may be specified"},
        {"one/log?stream=Both", 422,
         "PodLogOptions \"one\" is invalid: stream: Invalid value: \"Both\": supported values: "
         "\"All\", \"Stderr\", \"Stdout\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(WANTED); i++)
        check(stage, &WANTED[i]);
    send(stage, "PUT", PODS "/one/log", "{}", 405);
    send(stage, "DELETE", PODS "/one/log", "", 405);
    set_status(stage, "one",
               "{'name':'c','restartCount':0,'image':'x','imageID':'','ready':false,"
               "'state':{'waiting':{'reason':'StartGate'}}}");
    check(stage, &(struct want){"one/log", 400,
                                "container \"c\" in pod \"one\" is waiting to start: StartGate"});
    set_status(stage, "one", "{'name':'c','restartCount':0," RUNNING "}");
    check(stage, &(struct want){"one/log", 404, "log of container \"c\" in pod \"one\" not found"});
}

static void test_text(void **state)
{
    struct stage *stage = *state;
    struct log_name name = name_of(stage, "one", "c", 1);
    scoped_free char *path = begin_log(stage, &name, "1\n22\n333\n");
    struct timespec when = {1767268800, 5000000};
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){when, when}, 0), 0);
    set_status(stage, "one", "{'name':'c','restartCount':0," RUNNING "}");
    static const struct want WANTED[] = {
        {"one/log", 200, "1\n22\n333\n"},
        {"one/log?container=c&stream=All", 200, "1\n22\n333\n"},
        {"one/log?tailLines=2", 200, "22\n333\n"},
        {"one/log?limitBytes=3", 200, "1\n2"},
        {"one/log?sinceSeconds=60", 200, ""},
        {"one/log?sinceTime=2026-01-01T12:00:00Z", 200, "1\n22\n333\n"},
        {"one/log?tailLines=1&timestamps=true", 200, "2026-01-01T12:00:00.005Z 333\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(WANTED); i++)
        check(stage, &WANTED[i]);
}

static void test_lives(void **state)
{
    struct stage *stage = *state;
    struct log_name first = name_of(stage, "two", "a", 1), second = name_of(stage, "two", "a", 2);
    mem_free(begin_log(stage, &first, "first\n"));
    logs_end(stage->logs, &first);
    const char *ended = "'lastState':{'terminated':{'exitCode':1}}";
    scoped_str status = {0};
    str_addf(&status,
             "{'name':'a','restartCount':0,'image':'x','imageID':'','ready':false,'state':"
             "{'waiting':{'reason':'CrashLoopBackOff'}},%s}",
             ended);
    set_status(stage, "two", str_text(&status));
    check(stage, &(struct want){"two/log?container=a", 200, "first\n"});
    check(stage, &(struct want){"two/log?container=a&previous=true", 200, "first\n"});
    mem_free(begin_log(stage, &second, "second\n"));
    str_clear(&status);
    str_addf(&status, "{'name':'a','restartCount':1," RUNNING ",%s}", ended);
    set_status(stage, "two", str_text(&status));
    check(stage, &(struct want){"two/log?container=a", 200, "second\n"});
    check(stage, &(struct want){"two/log?container=a&previous=true", 200, "first\n"});
}

/* Follows until the container ends; text comes while it runs. */
static void test_follow(void **state)
{
    struct stage *stage = *state;
    struct log_name name = name_of(stage, "marked", "b", 1);
    mem_free(begin_log(stage, &name, "begin\n"));
    set_status(stage, "marked", "{'name':'b','restartCount':0," RUNNING "}");
    struct ask ask = {.req = {.target = PODS "/marked/log?follow=true"}};
    ask_start(stage, &ask);
    for (int i = 0; i < 20; i++)
        loop_turn(stage->loop, 10);
    assert_false(ask.done);
    mem_free(begin_log(stage, &name, "end\n"));
    logs_end(stage->logs, &name);
    ask_finish(stage, &ask);
    assert_string_equal(str_text(&ask.res.body), "begin\nend\n");
    client_response_done(&ask.res);
}

/* The verb, following two containers at once over two connections: lines of both come as they are
 * written, none is torn, and it ends with the last of them. */
struct run {
    struct ask ask; /* for `done` and the thread */
    char *server;
    char *out, *err;
    size_t out_len, err_len;
    int exit_code;
};

static void *run_verb(void *arg)
{
    struct run *run = arg;
    struct cli cli = {.in = stdin,
                      .out = open_memstream(&run->out, &run->out_len),
                      .err = open_memstream(&run->err, &run->err_len)};
    char *argv[] = {(char *)"muster",           (char *)"logs", (char *)"-f", (char *)"both",
                    (char *)"--all-containers", (char *)"-s",   run->server};
    run->exit_code = cli_main(&cli, ARRAY_LEN(argv), argv);
    (void)fclose(cli.out);
    (void)fclose(cli.err);
    cli_done(&cli);
    run->ask.done = true;
    return NULL;
}

static void test_verb_follows_two(void **state)
{
    struct stage *stage = *state;
    add_pod(stage, "both",
            "},'spec':{'containers':[{'name':'a','image':'x'},{'name':'b','image':'x'}]}}");
    struct log_name names[] = {name_of(stage, "both", "a", 1), name_of(stage, "both", "b", 1)};
    for (size_t i = 0; i < 2; i++)
        mem_free(begin_log(stage, &names[i], "begin\n"));
    set_status(stage, "both",
               "{'name':'a','restartCount':0," RUNNING "},{'name':'b','restartCount':0," RUNNING
               "}");
    struct run run = {.server = mem_printf("unix:%s", host_socket(stage->host))};
    assert_int_equal(pthread_create(&run.ask.thread, NULL, run_verb, &run), 0);
    for (int round = 0; round < 20; round++) {
        mem_free(begin_log(stage, &names[round % 2], "more\n"));
        loop_turn(stage->loop, 10);
    }
    assert_false(run.ask.done);
    logs_end(stage->logs, &names[0]);
    mem_free(begin_log(stage, &names[1], "last"));
    logs_end(stage->logs, &names[1]);
    ask_finish(stage, &run.ask);
    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.err, "");
    size_t lines[2] = {0};
    struct sv rest = {run.out, run.out_len};
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        assert_true(sv_starts(line, "[pod/both/a] ") || sv_starts(line, "[pod/both/b] "));
        lines[line.ptr[10] == 'b']++;
    }
    assert_int_equal(lines[0], 11);
    assert_int_equal(lines[1], 12);
    assert_non_null(strstr(run.out, "[pod/both/b] last\n"));
    free(run.out);
    free(run.err);
    mem_free(run.server);
}

/* More than any queue takes: nothing is lost on the way, and the server holds little of it. */
static void test_much(void **state)
{
    struct stage *stage = *state;
    struct log_name name = name_of(stage, "marked", "a", 1);
    scoped_str text = {0};
    while (text.len < (size_t)16 << 20)
        str_addf(&text, "this is byte number %zu of a log that goes on and on\n", text.len);
    logs_set_limits(stage->logs, &(struct logs_limits){64 << 20, 1});
    mem_free(begin_log(stage, &name, str_text(&text)));
    logs_end(stage->logs, &name);
    set_status(stage, "marked", "{'name':'a','restartCount':0," RUNNING "}");
    struct client_response res = {0};
    get(stage, PODS "/marked/log?container=a&follow=true", &res);
    assert_int_equal(res.status, 200);
    assert_int_equal(res.body.len, text.len);
    assert_memory_equal(res.body.data, text.data, text.len);
    client_response_done(&res);
}

static void test_discovery(void **state)
{
    struct stage *stage = *state;
    struct client_response res = {0};
    get(stage, "/api/v1", &res);
    assert_non_null(strstr(str_text(&res.body),
                           "{\"name\":\"pods/log\",\"singularName\":\"\",\"namespaced\":true,"
                           "\"kind\":\"Pod\",\"verbs\":[\"get\"]}"));
    client_response_done(&res);
}

/* A stop of the server ends those who follow. Last: nothing is served after it. */
static void test_stop_ends_followers(void **state)
{
    struct stage *stage = *state;
    struct ask ask = {.req = {.target = PODS "/one/log?follow=true"}};
    ask_start(stage, &ask);
    for (int i = 0; i < 20; i++)
        loop_turn(stage->loop, 10);
    assert_false(ask.done);
    host_stop(stage->host, on_stopped, stage);
    ask_finish(stage, &ask);
    assert_string_equal(str_text(&ask.res.body), "1\n22\n333\n");
    client_response_done(&ask.res);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_lives),
        cmocka_unit_test(test_follow),
        cmocka_unit_test(test_verb_follows_two),
        cmocka_unit_test(test_much),
        cmocka_unit_test(test_discovery),
        cmocka_unit_test(test_stop_ends_followers),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
