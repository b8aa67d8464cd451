// SPDX-License-Identifier: Apache-2.0
#include "cli/follow.h"
#include "base/mem.h"
#include "cli/target.h"
#include <errno.h>
#include <time.h>

enum next { NEXT_WATCH, NEXT_LIST, NEXT_STOP };

/* Streams that break this often in a row without a word mean that the server is gone. */
#define BROKEN_MAX 3

struct run {
    struct cli *cli;
    const struct follow *follow;
    char *version;
    enum next next;
    int exit_code;
    size_t lines; /* of this stream */
    int broken;
};

static void set_version(struct run *run, const char *version)
{
    if (version == NULL || *version == '\0')
        return;
    mem_free(run->version);
    run->version = mem_strdup(version);
}

static void stop(struct run *run, int exit_code)
{
    run->next = NEXT_STOP;
    run->exit_code = exit_code;
}

static bool is_timed(const struct run *run)
{
    return run->follow->deadline != TIME_NEVER;
}

/* 0 when the deadline has passed; what is left otherwise, fit for the client. */
static int left_ms(const struct run *run)
{
    time_ms left = run->follow->deadline - cli_monotonic(run->cli);
    if (left <= 0)
        return 0;
    return left > INT32_MAX ? INT32_MAX : (int)left;
}

static bool is_late(const struct run *run)
{
    return is_timed(run) && left_ms(run) == 0;
}

static void list(struct run *run)
{
    scoped_json *doc = NULL;
    struct request req = {.target = run->follow->target, .accept = run->follow->accept};
    int exit_code = cli_fetch(run->cli, &req, &doc);
    if (exit_code != CLI_OK) {
        stop(run, exit_code);
        return;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    set_version(run, json_str_at(root, "metadata.resourceVersion"));
    run->next = NEXT_WATCH;
    if (run->follow->on_list(run->follow->arg, root) != 0)
        stop(run, CLI_OK);
}

/* Of an object, a Table, or the object in a Table's only row. */
static const char *version_of(yyjson_val *object)
{
    yyjson_val *row = yyjson_arr_get_last(yyjson_obj_get(object, "rows"));
    const char *version = json_str_at(row, "object.metadata.resourceVersion");
    return version ? version : json_str_at(object, "metadata.resourceVersion");
}

static int on_error(struct run *run, yyjson_val *status)
{
    run->next = NEXT_LIST;
    if (json_int_at(status, "code", 0) == 410)
        return 1;
    scoped_str text = {0};
    json_write_val(status, &text);
    int code = (int)json_int_at(status, "code", 500);
    stop(run, cli_refusal(run->cli, code, (struct sv){str_text(&text), text.len}));
    return 1;
}

static int on_line(void *arg, struct sv line)
{
    struct run *run = arg;
    struct err err = {0};
    scoped_json *doc = NULL;
    run->lines++;
    if (json_parse(line, &doc, &err) < 0) {
        (void)err_wrap(&err, "the server's watch event is not JSON");
        stop(run, cli_error(run->cli, CLI_FAILED, &err));
        return 1;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *type = json_str_at(root, "type");
    yyjson_val *object = yyjson_obj_get(root, "object");
    if (type == NULL || object == NULL)
        return 0;
    if (str_eq(type, "ERROR"))
        return on_error(run, object);
    set_version(run, version_of(object));
    if (str_eq(type, "BOOKMARK"))
        return 0;
    if (run->follow->on_event(run->follow->arg, type, object) != 0) {
        stop(run, CLI_OK);
        return 1;
    }
    return is_late(run); /* a chatty object must not keep us for ever */
}

/* A server that ends streams at once must not be asked in a tight loop. */
static void pause_before_retry(const struct run *run)
{
    int wait_ms = run->cli->retry_ms;
    if (is_timed(run) && left_ms(run) < wait_ms)
        wait_ms = left_ms(run);
    struct timespec span = {wait_ms / 1000, (long)(wait_ms % 1000) * 1000000};
    (void)nanosleep(&span, NULL); /* woken early only means asking early */
}

static void after_stream(struct run *run, int r, const struct client_response *res, struct err *err)
{
    if (run->next == NEXT_STOP || r > 0)
        return;
    if (r == -ECANCELED) {
        stop(run, r);
        return;
    }
    if (r == 0 && res->status == 410) {
        run->next = NEXT_LIST;
    } else if (r == 0 && res->status > 299) {
        struct sv body = {str_text(&res->body), res->body.len};
        stop(run, cli_refusal(run->cli, res->status, body));
        return;
    }
    bool gone = r == -ENOENT || r == -ECONNREFUSED;
    run->broken = run->lines > 0 ? 0 : run->broken + (r < 0 && r != -ETIMEDOUT);
    if (gone || run->broken >= BROKEN_MAX)
        stop(run, cli_unreachable(run->cli, err));
    else if (run->lines == 0)
        pause_before_retry(run);
}

static void watch(struct run *run)
{
    scoped_str target = {0};
    str_add(&target, run->follow->target);
    target_query(&target, "watch", "true");
    target_query(&target, "allowWatchBookmarks", "true");
    if (run->version != NULL)
        target_query(&target, "resourceVersion", run->version);
    if (is_timed(run)) { /* the client's own limit begins again with each line */
        scoped_str seconds = {0};
        str_addf(&seconds, "%d", left_ms(run) / 1000 + 1);
        target_query(&target, "timeoutSeconds", str_text(&seconds));
    }
    struct stream stream = {str_text(&target), run->follow->accept,
                            is_timed(run) ? left_ms(run) : 0, on_line, run};
    struct client_response res = {0};
    struct err err = {0};
    run->lines = 0;
    int r = run->cli->remote.stream(run->cli->remote.self, &stream, &res, &err);
    after_stream(run, r, &res, &err);
    client_response_done(&res);
}

int follow_run(struct cli *cli, const struct follow *follow)
{
    struct run run = {.cli = cli, .follow = follow, .next = NEXT_LIST};
    bool late = false;
    while (run.next != NEXT_STOP && !late) {
        if (run.next == NEXT_LIST)
            list(&run);
        else
            watch(&run);
        late = run.next != NEXT_STOP && is_late(&run);
    }
    mem_free(run.version);
    return late ? -ETIMEDOUT : run.exit_code;
}
