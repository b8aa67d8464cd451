// SPDX-License-Identifier: Apache-2.0
/* metrics.k8s.io of a real server in this process, whose guest measures what the table below says:
 * as raw HTTP, and as an unmodified `kubectl top` shows it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "api/host.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/log.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define GROUP "/apis/metrics.k8s.io/v1beta1"
#define MI ((int64_t)1 << 20)
#define MILLI INT64_C(1000000)
#define AT 1767323045000 /* 2026-01-02T03:04:05Z */

static const struct row {
    const char *ns, *name; /* ns NULL: a node */
    struct usage_reading reading;
} ROWS[] = {
    {"team", "web", {"app", AT, 1500, 250 * MILLI, 64 * MI}},
    {"team", "web", {"log", AT - 2000, 1000, 3 * MILLI + 1, 8 * MI}},
    {"team", "db", {"db", AT, 60000, 1200 * MILLI, 2048 * MI}},
    {"other", "web", {"app", AT, 1000, 0, 0}},
    {NULL, "one", {"one", AT, 1000, 1500 * MILLI, 2048 * MI}},
};

struct server {
    struct loop *loop;
    struct host *host;
    struct host_guest guest;
    struct usage_source source;
    char data[64];
};

/* ---- the guest ---- */

static int guest_open(void *arg, const char *data, struct err *err)
{
    (void)arg, (void)data, (void)err;
    return 0;
}

static void no_map(struct control *control, const struct change *change)
{
    (void)control, (void)change;
}

static void no_reconcile(struct control *control, const char *key)
{
    (void)control, (void)key;
}

static const struct controller *guest_controller(void *arg, size_t index)
{
    static const struct controller IDLE = {
        .name = "idle", .map = no_map, .reconcile = no_reconcile};
    (void)arg;
    return index == 0 ? &IDLE : NULL;
}

static void guest_stop(void *arg, void (*done)(void *done_arg), void *done_arg)
{
    (void)arg;
    done(done_arg);
}

static void guest_close(void *arg)
{
    (void)arg;
}

static void guest_metrics(void *arg, struct str *out)
{
    (void)arg, (void)out;
}

static const struct usage_source *guest_usage(void *arg)
{
    struct server *server = arg;
    return &server->source;
}

static void measure_pod(void *arg, const char *uid, usage_fn *each, void *each_arg)
{
    struct server *server = arg;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        if (ROWS[i].ns == NULL)
            continue;
        const struct obj *pod =
            cache_get(host_store(server->host)->cache, &KIND_POD, ROWS[i].ns, ROWS[i].name);
        if (pod != NULL && strcmp(pod->meta.uid, uid) == 0)
            each(each_arg, &ROWS[i].reading);
    }
}

static void measure_node(void *arg, const char *name, usage_fn *each, void *each_arg)
{
    (void)arg;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        if (ROWS[i].ns == NULL && strcmp(ROWS[i].name, name) == 0)
            each(each_arg, &ROWS[i].reading);
    }
}

/* ---- clients ---- */

/* Turns the loop until the descriptor is at its end. */
static void read_all(struct server *server, int fd, struct str *got)
{
    time_ms deadline = clock_monotonic() + PATIENCE_MS;
    for (;;) {
        ssize_t n = read(fd, str_reserve(got, 4096), 4096);
        if (n == 0)
            return;
        if (n > 0) {
            got->len += (size_t)n;
            got->data[got->len] = '\0';
            continue;
        }
        assert_true(errno == EAGAIN || errno == EWOULDBLOCK);
        if (clock_monotonic() > deadline)
            fail_msg("no end after a minute: %s", str_text(got));
        loop_turn(server->loop, 2);
    }
}

/* One request over the unix socket, where we are an administrator; gives the status. */
static int ask(struct server *server, const char *method, const char *target, const char *more,
               struct str *got)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *body = strstr(more, "{");
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", host_socket(server->host));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    scoped_free char *head = mem_strndup(more, body ? (size_t)(body - more) : strlen(more));
    scoped_free char *text =
        mem_printf("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                   "Content-Length: %zu\r\n%s\r\n%s",
                   method, target, body ? strlen(body) : 0, head, body ? body : "");
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    str_clear(got);
    read_all(server, fd, got);
    (void)close(fd);
    assert_true(str_starts(str_text(got), "HTTP/1.1 "));
    return (int)strtol(str_text(got) + 9, NULL, 10);
}

#define JSON "Content-Type: application/json\r\n"
#define MERGE "Content-Type: application/merge-patch+json\r\n"
#define POD(name, labels)                                                                          \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                       \
    "\",\"labels\":" labels "},\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"i\"}]}}"

static const struct {
    const char *method, *target, *body;
    int status;
} WORLD[] = {
    {"POST", "/api/v1/namespaces", JSON "{\"metadata\":{\"name\":\"team\"}}", 201},
    {"POST", "/api/v1/namespaces", JSON "{\"metadata\":{\"name\":\"other\"}}", 201},
    {"POST", "/api/v1/nodes",
     JSON "{\"metadata\":{\"name\":\"one\",\"labels\":{\"disk\":\"ssd\"}}}", 201},
    {"PATCH", "/api/v1/nodes/one/status",
     MERGE "{\"status\":{\"capacity\":{\"cpu\":\"4\",\"memory\":\"8Gi\"},\"allocatable\":{\"cpu\":"
           "\"4\",\"memory\":\"8Gi\"}}}",
     200},
    {"POST", "/api/v1/namespaces/team/pods", JSON POD("web", "{\"app\":\"web\"}"), 201},
    {"POST", "/api/v1/namespaces/team/pods", JSON POD("db", "{\"app\":\"db\"}"), 201},
    {"POST", "/api/v1/namespaces/team/pods", JSON POD("waits", "{\"app\":\"web\"}"), 201},
    {"POST", "/api/v1/namespaces/other/pods", JSON POD("web", "{}"), 201},
};

static void server_start(struct server *server, bool measures)
{
    struct err err = {0};
    *server = (struct server){
        .guest = {.open = guest_open,
                  .controller = guest_controller,
                  .stop = guest_stop,
                  .close = guest_close,
                  .metrics = guest_metrics,
                  .usage = measures ? guest_usage : NULL,
                  .arg = server},
        .source = {measure_pod, measure_node, server},
    };
    (void)snprintf(server->data, sizeof(server->data), "/tmp/test_usage.XXXXXX");
    assert_non_null(mkdtemp(server->data));
    assert_int_equal(loop_new(&server->loop, &err), 0);
    struct host_options options = {
        .data = server->data, .listen = "127.0.0.1:0", .guest = &server->guest};
    if (host_start(server->loop, &options, &server->host, &err) < 0)
        fail_msg("%s", err.text);
}

static void on_stopped(void *arg)
{
    *(bool *)arg = true;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void server_end(struct server *server)
{
    bool is_stopped = false;
    host_stop(server->host, on_stopped, &is_stopped);
    while (!is_stopped)
        loop_turn(server->loop, 2);
    host_free(server->host);
    loop_free(server->loop);
    assert_int_equal(nftw(server->data, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static int setup(void **state)
{
    struct server *server = mem_zalloc(sizeof(*server));
    scoped_str got = {0};
    server_start(server, true);
    for (size_t i = 0; i < ARRAY_LEN(WORLD); i++) {
        int status = ask(server, WORLD[i].method, WORLD[i].target, WORLD[i].body, &got);
        if (status != WORLD[i].status)
            fail_msg("%s: %s", WORLD[i].target, str_text(&got));
    }
    *state = server;
    return 0;
}

static int teardown(void **state)
{
    server_end(*state);
    mem_free(*state);
    return 0;
}

/* ---- raw ---- */

#define ITEM(ns, name, labels, at, window, containers)                                             \
    "{\"kind\":\"PodMetrics\",\"apiVersion\":\"metrics.k8s.io/v1beta1\",\"metadata\":{\"name\":"   \
    "\"" name "\",\"namespace\":\"" ns "\",\"creationTimestamp\":\"" at "\"" labels                \
    "},\"timestamp\":\"" at "\",\"window\":\"" window "\",\"containers\":[" containers "]}"
#define USES(name, cpu, memory)                                                                    \
    "{\"name\":\"" name "\",\"usage\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}}"
#define LABELS(app) ",\"labels\":{\"app\":\"" app "\"}"
#define TEAM_WEB                                                                                   \
    ITEM("team", "web", LABELS("web"), "2026-01-02T03:04:03Z", "1.5s",                             \
         USES("app", "250000000n", "65536Ki") "," USES("log", "3000001n", "8192Ki"))
#define TEAM_DB                                                                                    \
    ITEM("team", "db", LABELS("db"), "2026-01-02T03:04:05Z", "1m0s",                               \
         USES("db", "1200000000n", "2097152Ki"))
#define OTHER_WEB                                                                                  \
    ITEM("other", "web", ",\"labels\":{}", "2026-01-02T03:04:05Z", "1s", USES("app", "0n", "0Ki"))
#define PODS(items)                                                                                \
    "{\"kind\":\"PodMetricsList\",\"apiVersion\":\"metrics.k8s.io/"                                \
    "v1beta1\",\"metadata\":{},\"items\":[" items "]}\n"
#define NODE                                                                                       \
    "{\"kind\":\"NodeMetrics\",\"apiVersion\":\"metrics.k8s.io/v1beta1\",\"metadata\":{\"name\":"  \
    "\"one\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"labels\":{\"disk\":\"ssd\"}},"       \
    "\"timestamp\":\"2026-01-02T03:04:05Z\",\"window\":\"1s\",\"usage\":{\"cpu\":\"1500000000n\"," \
    "\"memory\":\"2097152Ki\"}}"
#define NODES(items)                                                                               \
    "{\"kind\":\"NodeMetricsList\",\"apiVersion\":\"metrics.k8s.io/"                               \
    "v1beta1\",\"metadata\":{},\"items\":[" items "]}\n"

static const struct {
    const char *method, *target, *more;
    int status;
    const char *body; /* whole when it begins with '{', else in it */
} RAW[] = {
    {"GET", GROUP "/namespaces/team/pods/web", "", 200, TEAM_WEB},
    {"GET", GROUP "/namespaces/team/pods", "", 200, PODS(TEAM_DB "," TEAM_WEB)},
    {"GET", GROUP "/pods", "", 200, PODS(OTHER_WEB "," TEAM_DB "," TEAM_WEB)},
    {"GET", GROUP "/pods?labelSelector=app%3Ddb", "", 200, PODS(TEAM_DB)},
    {"GET", GROUP "/pods?fieldSelector=metadata.name%3Dweb,metadata.namespace%3Dother", "", 200,
     PODS(OTHER_WEB)},
    {"GET", GROUP "/namespaces/none/pods", "", 200, PODS("")},
    {"GET", GROUP "/nodes", "", 200, NODES(NODE)},
    {"GET", GROUP "/nodes?labelSelector=disk%21%3Dssd", "", 200, NODES("")},
    {"GET", GROUP "/nodes/one", "", 200, NODE},
    {"GET", GROUP "/nodes/two", "", 404, "nodes.metrics.k8s.io \\\"two\\\" not found"},
    {"GET", GROUP "/namespaces/team/pods/waits", "", 404,
     "pods.metrics.k8s.io \\\"waits\\\" not found"},
    {"GET", GROUP "/namespaces/team/pods/web", "Accept: application/json;as=Table\r\n", 200,
     "\"cells\":[\"web\",\"254m\",\"72Mi\",\"1.5s\"]"},
    {"GET", GROUP "/nodes?includeObject=None", "Accept: application/json;as=Table\r\n", 200,
     "\"rows\":[{\"cells\":[\"one\",\"1500m\",\"2048Mi\",\"1s\"],\"object\":null}]"},
    {"GET", GROUP "/pods?labelSelector=%2C%2C", "", 400, "BadRequest"},
    {"GET", GROUP "/pods?watch=true", "", 405, "MethodNotAllowed"},
    {"DELETE", GROUP "/namespaces/team/pods/web", "", 405, "MethodNotAllowed"},
    {"POST", GROUP "/nodes", JSON "{}", 405, "MethodNotAllowed"},
    {"GET", GROUP "/namespaces/team/nodes", "", 404, "could not find the requested resource"},
    {"GET", GROUP "/pods/web", "", 404, "could not find the requested resource"},
    {"GET", GROUP "/namespaces/team/pods/web/status", "", 404, "could not find"},
    {"GET", "/apis/metrics.k8s.io", "", 200, "\"groupVersion\":\"metrics.k8s.io/v1beta1\""},
    {"GET", GROUP, "", 200,
     "{\"name\":\"pods\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"PodMetrics\","
     "\"verbs\":[\"get\",\"list\"]}"},
    {"GET", "/openapi/v3", "", 200, "\"apis/metrics.k8s.io/v1beta1\""},
    {"GET", "/openapi/v3/apis/metrics.k8s.io/v1beta1", "", 200, "ContainerMetrics"},
    {"GET", "/api/v1/namespaces/team/pods/web", "", 200, "\"kind\":\"Pod\""},
};

static void test_raw(void **state)
{
    struct server *server = *state;
    scoped_str got = {0};
    for (size_t i = 0; i < ARRAY_LEN(RAW); i++) {
        int status = ask(server, RAW[i].method, RAW[i].target, RAW[i].more, &got);
        const char *body = strstr(str_text(&got), "\r\n\r\n");
        bool is_whole = strncmp(RAW[i].body, "{\"kind", 6) == 0;
        bool is_right =
            body && (is_whole ? str_eq(body + 4, RAW[i].body) : strstr(body, RAW[i].body) != NULL);
        if (status != RAW[i].status || !is_right)
            fail_msg("%s %s: expected %d %s\ngot %s", RAW[i].method, RAW[i].target, RAW[i].status,
                     RAW[i].body, str_text(&got));
    }
}

/* ---- kubectl ---- */

#define KUBECTL_ARGS 12

/* Runs it while the server serves; gives what it printed on both streams. */
static void kubectl(struct server *server, const char *const *args, struct str *got)
{
    const char *argv[KUBECTL_ARGS + 4] = {getenv("KUBECTL"), "--cache-dir", server->data};
    int ends[2], status = 0;
    for (size_t i = 0; args[i] != NULL; i++)
        argv[3 + i] = args[i];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)setenv("KUBECONFIG", host_kubeconfig(server->host), 1);
        (void)setenv("HOME", server->data, 1);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    (void)close(ends[1]);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    str_clear(got);
    read_all(server, ends[0], got);
    (void)close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* One blank between words, so that widths of columns do not matter. */
static void squeeze(struct str *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->len; i++) {
        bool is_extra = text->data[i] == ' ' && (text->data[i + 1] == ' ' || //
                                                 text->data[i + 1] == '\n');
        if (!is_extra)
            text->data[n++] = text->data[i];
    }
    text->len = n;
    if (text->data != NULL)
        text->data[n] = '\0';
}

static const struct {
    const char *args[KUBECTL_ARGS];
    const char *out;
} TOPS[] = {
    {{"top", "pods", "-n", "team"},
     "NAME CPU(cores) MEMORY(bytes)\ndb 1200m 2048Mi\nweb 254m 72Mi\n"},
    {{"top", "pods", "-n", "team", "--containers", "--sort-by=memory"},
     "POD NAME CPU(cores) MEMORY(bytes)\ndb db 1200m 2048Mi\nweb app 250m 64Mi\n"
     "web log 4m 8Mi\n"},
    {{"top", "pods", "-A", "--sort-by=cpu"},
     "NAMESPACE NAME CPU(cores) MEMORY(bytes)\nteam db 1200m 2048Mi\nteam web 254m 72Mi\n"
     "other web 0m 0Mi\n"},
    {{"top", "pods", "-A", "-l", "app=web"},
     "NAMESPACE NAME CPU(cores) MEMORY(bytes)\nteam web 254m 72Mi\n"},
    {{"top", "pod", "web", "-n", "team", "--no-headers"}, "web 254m 72Mi\n"},
    {{"top", "nodes", "--no-headers"}, "one 1500m 37% 2048Mi 25%\n"},
    {{"top", "node", "one", "--no-headers"}, "one 1500m 37% 2048Mi 25%\n"},
    {{"get", "pods.metrics.k8s.io", "-n", "team"},
     "NAME CPU MEMORY WINDOW\ndb 1200m 2048Mi 1m0s\nweb 254m 72Mi 1.5s\n"},
    {{"get", "pods", "-n", "other", "-o", "name"}, "pod/web\n"},
};

static void test_kubectl_top(void **state)
{
    struct server *server = *state;
    scoped_str got = {0};
    if (getenv("KUBECTL") == NULL) {
        print_message("# skipped: no kubectl\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(TOPS); i++) {
        kubectl(server, TOPS[i].args, &got);
        squeeze(&got);
        if (!str_eq(str_text(&got), TOPS[i].out))
            fail_msg("kubectl %s %s ...: '%s' instead of '%s'", TOPS[i].args[0], TOPS[i].args[1],
                     str_text(&got), TOPS[i].out);
    }
}

static void test_nobody_measures(void **state)
{
    struct server server;
    scoped_str got = {0};
    (void)state;
    server_start(&server, false);
    assert_int_equal(ask(&server, "GET", GROUP "/pods", "", &got), 404);
    assert_int_equal(ask(&server, "GET", GROUP, "", &got), 404);
    assert_int_equal(ask(&server, "GET", "/apis", "", &got), 200);
    assert_null(strstr(str_text(&got), "metrics.k8s.io"));
    assert_int_equal(ask(&server, "GET", "/openapi/v3", "", &got), 200);
    assert_null(strstr(str_text(&got), "metrics.k8s.io"));
    if (getenv("KUBECTL") != NULL) {
        kubectl(&server, (const char *const[]){"top", "pods", NULL}, &got);
        assert_string_equal(str_text(&got), "error: Metrics API not available\n");
    }
    server_end(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_raw, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kubectl_top, setup, teardown),
        cmocka_unit_test(test_nobody_measures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
