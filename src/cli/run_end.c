// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/logfeed.h"
#include "cli/run.h"
#include <signal.h>

/* Whatever ended it, nothing that it started runs on, and what is worth a look stays: on a shared
 * server pods and jobs that have ended are kept unless we were interrupted. */

#define TAIL_LINES "10"
#define TAILS_MAX 20
#define CATCH_UP_MS 10000   /* what is known of pods comes through their watch within this */
#define DRAIN_MS 2000       /* who has failed or was stopped may still be about to end */
#define DRAIN_ALL_MS 10000  /* logs of what has ended are read to their end within this */
#define KILL_AFTER_MS 10000 /* a private server that was told twice and does not go */

static const struct {
    const char *word;
    int exit_code;
    bool stops;     /* what still runs is stopped */
    bool takes_all; /* also what has ended is deleted, and what does not run */
} RESULTS[] = {
    [RUN_RESULT_SUCCEEDED] = {"succeeded", 0, false, false},
    [RUN_RESULT_READY] = {"ready", 0, false, false},
    [RUN_RESULT_FAILED] = {"failed", 1, true, false},
    [RUN_RESULT_TIMEOUT] = {"timeout", 124, true, true},
    [RUN_RESULT_INTERRUPTED] = {"interrupted", 130, true, true},
    [RUN_RESULT_LOST] = {"server lost", CLI_UNREACHABLE, false, false},
    [RUN_RESULT_REFUSED] = {"refused", CLI_FAILED, true, true},
};

/* ---- the logs of what failed ---- */

static int print_tail(void *arg, struct sv lines)
{
    FILE *err = arg;
    fwrite(lines.ptr, 1, lines.len, err);
    return 0;
}

static void print_tails_of(struct run *run, const struct run_pod *pod, struct logfeed *feed,
                           size_t *count)
{
    for (size_t i = 0; i < pod->units.len; i++) {
        const struct run_unit *unit = &pod->units.items[i];
        if (unit->state != RUN_FAILED || unit->life == NULL || (*count)++ >= TAILS_MAX)
            continue;
        fprintf(run->cli->err, "last lines of %s/%s%s%s:\n", pod->name, unit->name,
                unit->why ? ", which failed: " : "", unit->why ? unit->why : "");
        logfeed_add(feed, pod->ns, pod->name, unit->name);
    }
}

static void print_tails(struct run *run)
{
    size_t count = 0;
    struct logfeed_options options = {.bar = true,
                                      .tail = TAIL_LINES,
                                      .sink = print_tail,
                                      .arg = run->cli->err,
                                      .is_silent = true};
    struct logfeed *feed = logfeed_new(run->cli, &options);
    for (size_t g = 0; g < run->model.groups.len; g++) {
        const struct run_group *group = run->model.groups.items[g];
        for (size_t i = 0; i < group->pods.len && group->outcome == RUN_LOST; i++)
            print_tails_of(run, group->pods.items[i], feed, &count);
    }
    (void)logfeed_finish(feed); /* silent: a log that is gone is no further failure */
    if (count > TAILS_MAX)
        fprintf(run->cli->err, "%zu more containers failed\n", count - TAILS_MAX);
    (void)fflush(run->cli->err); /* nowhere to tell it */
}

/* ---- waiting ---- */

static void set_alarm(struct run *run, time_ms ms)
{
    run->alarm_rang = false;
    loop_timer_set(run->loop, &run->alarm, loop_now(run->loop) + ms);
}

static void clear_alarm(struct run *run)
{
    run->alarm_rang = false;
    loop_timer_clear(run->loop, &run->alarm);
}

static void await_pods(struct run *run, const char *ns)
{
    scoped_str url = {0};
    scoped_json *doc = NULL;
    struct client_response res = {0};
    struct err err = {0};
    target_collection(&KIND_POD, ns, &url);
    struct request req = {.target = str_text(&url)};
    int r = run->cli->remote.call(run->cli->remote.self, &req, &res, &err);
    if (r == 0 && res.status == 200 &&
        json_parse((struct sv){str_text(&res.body), res.body.len}, &doc, &err) == 0)
        run_model_await(&run->model, yyjson_doc_get_root(doc));
    client_response_done(&res); /* without an answer there is nothing to wait for either */
}

static bool is_first_of_namespace(const struct run *run, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (str_eq(run->model.groups.items[i]->ns, run->model.groups.items[index]->ns))
            return false;
    }
    return true;
}

/* A verdict may be told of before the pods that it is about, and a short command has ended by then:
 * nobody has opened its log yet. */
static void catch_up(struct run *run)
{
    for (size_t i = 0; i < run->model.groups.len; i++) {
        if (is_first_of_namespace(run, i))
            await_pods(run, run->model.groups.items[i]->ns);
    }
    set_alarm(run, CATCH_UP_MS);
    int before = run->signals;
    while (run->model.awaited.len > 0 && !run->alarm_rang && !run->is_lost &&
           !run->has_server_ended && run->signals == before)
        run_turn(run);
    clear_alarm(run);
}

/* The log of what goes on has no end to wait for. Of a private server that has gone nothing does,
 * whatever was told last. */
static bool is_about_to_end(void *arg, const struct run_log *log)
{
    const struct run *run = arg;
    return run->has_server_ended || !run_model_log_goes_on(&run->model, log);
}

/* What ended has its last words in its log. */
static void drain_logs(struct run *run, time_ms limit)
{
    set_alarm(run, limit);
    int before = run->signals;
    while (run_feed_reads(run->feed, is_about_to_end, run) && !run->alarm_rang &&
           run->signals == before)
        loop_turn(run->loop, 20); /* threads that end do not wake us */
    loop_turn(run->loop, 0);
    clear_alarm(run);
}

/* ---- stopping ---- */

static size_t running_count(const struct run *run)
{
    size_t running = 0;
    for (size_t i = 0; i < run->model.groups.len; i++) {
        struct run_counts counts;
        run_group_count(run->model.groups.items[i], &counts);
        running += counts.running;
    }
    return running;
}

static void tell_stopping(struct run *run)
{
    size_t n = running_count(run);
    /* What has ended is told of before; when to draw again is known with the touch below. */
    (void)run_show_draw(&run->show, &run->model, loop_now(run->loop));
    run->show.style.stopping = true;
    if (n > 0)
        run_show_note(&run->show, "stopping %zu process%s in reverse order; ^C kills %s at once", n,
                      n == 1 ? "" : "es", n == 1 ? "it" : "them");
    run_touch(run);
}

static void stop_private(struct run *run)
{
    int before = run->signals;
    remote_close(&run->cli->remote); /* it would wait for us to go */
    if (!run->has_server_ended)
        run_server_signal(&run->server, SIGTERM);
    while (!run->has_server_ended) {
        run_turn(run);
        if (run->signals > before && !run->has_server_ended) {
            run_show_note(&run->show, "killing what still runs");
            run_touch(run);
            run_server_signal(&run->server, SIGTERM);
            set_alarm(run, KILL_AFTER_MS);
            before = run->signals;
        }
        if (run->alarm_rang) {
            run_show_note(&run->show, "the private server does not end and is killed; processes "
                                      "of pods may be left");
            run_server_signal(&run->server, SIGKILL);
            run->alarm_rang = false;
        }
    }
    clear_alarm(run);
}

static void delete_object(struct run *run, const struct kind *kind, const char *ns,
                          const char *name, bool now)
{
    scoped_str url = {0}, body = {0};
    struct client_response res = {0};
    struct err err = {0};
    target_object(kind, ns, name, &url);
    str_addf(&body,
             "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"%s\"%s}",
             now || !run_model_is_group(kind) ? "Background" : "Foreground",
             now ? ",\"gracePeriodSeconds\":0" : "");
    struct request req = {
        .method = "DELETE", .target = str_text(&url), .body = {str_text(&body), body.len}};
    int r = run->cli->remote.call(run->cli->remote.self, &req, &res, &err);
    if (r < 0 || (res.status > 299 && res.status != 404 && res.status != 409)) {
        fprintf(run->cli->err, "error: cannot delete %s/%s: %s\n", kind->singular, name,
                r < 0 ? err.text : "the server refused");
        fprintf(run->cli->err, "hint: muster delete %s %s\n", kind->singular, name);
        run->is_lost = true; /* do not wait for it */
    }
    client_response_done(&res);
}

static bool is_taken(const struct run_group *group, bool takes_all)
{
    return group->created && (takes_all || group->outcome == RUN_GOES_ON);
}

static void delete_groups(struct run *run, bool takes_all, bool now)
{
    for (size_t i = run->model.groups.len; i > 0; i--) {
        const struct run_group *group = run->model.groups.items[i - 1];
        if (group->is_deleted || !is_taken(group, takes_all))
            continue;
        for (size_t p = 0; p < group->pods.len && now; p++)
            delete_object(run, &KIND_POD, group->pods.items[p]->ns, group->pods.items[p]->name,
                          true);
        delete_object(run, group->kind, group->ns, group->name, now);
    }
}

static bool all_gone(const struct run *run, const bool *taken)
{
    for (size_t i = 0; i < run->model.groups.len; i++) {
        if (taken[i] && !run->model.groups.items[i]->is_deleted)
            return false;
    }
    return true;
}

/* What does not run goes last: pods may need it while they stop. */
static void delete_rest(struct run *run)
{
    for (size_t i = run->made.list.len; i > 0; i--) {
        const struct item *item = &run->made.list.items[i - 1];
        if (!run_model_is_group(item->kind))
            delete_object(run, item->kind, item->ns, item->name, false);
    }
}

static void stop_shared(struct run *run, bool takes_all)
{
    int before = run->signals;
    scoped_free bool *taken = mem_zalloc(run->model.groups.len + 1);
    for (size_t i = 0; i < run->model.groups.len; i++)
        taken[i] = is_taken(run->model.groups.items[i], takes_all);
    delete_groups(run, takes_all, false);
    while (!run->is_lost && !all_gone(run, taken)) {
        run_turn(run);
        if (run->signals == before)
            continue;
        before = run->signals;
        run_show_note(&run->show, "killing what still runs");
        run_touch(run);
        delete_groups(run, takes_all, true);
    }
    if (takes_all && !run->is_lost)
        delete_rest(run);
}

/* After a success only what has no end of its own may still run. */
static bool is_stopped(const struct run *run, enum run_result result)
{
    struct run_verdict verdict;
    run_model_judge(&run->model, &verdict);
    return RESULTS[result].stops || (result == RUN_RESULT_SUCCEEDED && verdict.endless > 0);
}

static void stop_all(struct run *run, enum run_result result)
{
    bool stops = is_stopped(run, result);
    run->is_ending = run->is_private;
    if (stops)
        tell_stopping(run);
    if (run->is_private)
        stop_private(run);
    else if (stops && run->feed != NULL)
        stop_shared(run, RESULTS[result].takes_all);
    if (run->feed != NULL && stops)
        drain_logs(run, DRAIN_MS); /* the last words of what was stopped */
}

/* ---- telling how it was ---- */

static void put_time(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, time_ms ms)
{
    if (ms >= 0)
        yyjson_mut_obj_add_real(doc, obj, key, (double)ms / 1000);
    else
        yyjson_mut_obj_add_null(doc, obj, key);
}

static void add_group_json(const struct run *run, yyjson_mut_doc *doc, yyjson_mut_val *list,
                           const struct run_group *group)
{
    static const char *const WORDS[] = {"running", "succeeded", "failed", "gone"};
    struct run_counts counts;
    run_group_count(group, &counts);
    yyjson_mut_val *obj = yyjson_mut_arr_add_obj(doc, list);
    time_ms began = run->model.began_at;
    yyjson_mut_obj_add_str(doc, obj, "kind", group->kind->name);
    yyjson_mut_obj_add_strcpy(doc, obj, "namespace", group->ns);
    yyjson_mut_obj_add_strcpy(doc, obj, "name", group->name);
    yyjson_mut_obj_add_str(doc, obj, "outcome", WORDS[group->outcome]);
    if (group->why != NULL)
        yyjson_mut_obj_add_strcpy(doc, obj, "message", group->why);
    yyjson_mut_obj_add_uint(doc, obj, "containers", counts.total);
    yyjson_mut_obj_add_int(doc, obj, "restarts", counts.restarts);
    if (group->spread.is_told) {
        yyjson_mut_obj_add_int(doc, obj, "placed", group->spread.placed);
        yyjson_mut_obj_add_int(doc, obj, "pending", group->spread.pending);
    }
    put_time(doc, obj, "readySeconds", group->ready_at < 0 ? -1 : group->ready_at - began);
    put_time(doc, obj, "seconds", group->ended_at < 0 ? -1 : group->ended_at - began);
}

static void print_json(const struct run *run, enum run_result result, time_ms now)
{
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    scoped_str text = {0};
    struct run_verdict verdict;
    time_ms began = run->model.began_at;
    run_model_judge(&run->model, &verdict);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_str(doc, root, "result", RESULTS[result].word);
    yyjson_mut_obj_add_int(doc, root, "exitCode", RESULTS[result].exit_code);
    yyjson_mut_obj_add_uint(doc, root, "succeeded", verdict.succeeded);
    yyjson_mut_obj_add_uint(doc, root, "failed", verdict.failed);
    yyjson_mut_obj_add_int(doc, root, "restarts", verdict.restarts);
    put_time(doc, root, "readySeconds", verdict.ready_at < 0 ? -1 : verdict.ready_at - began);
    put_time(doc, root, "seconds", now - began);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "objects");
    for (size_t i = 0; i < run->model.groups.len; i++)
        add_group_json(run, doc, list, run->model.groups.items[i]);
    json_write_pretty(root, &text);
    str_addc(&text, '\n');
    cli_print(run->cli, &text);
}

static void print_summary(struct run *run, enum run_result result, const char *summary)
{
    if (result == RUN_RESULT_SUCCEEDED || result == RUN_RESULT_READY)
        run_show_note(&run->show, "%s", summary);
    else
        run_show_note(&run->show, "%s: %s", RESULTS[result].word, summary);
}

int run_end(struct run *run, enum run_result result)
{
    scoped_str summary = {0};
    time_ms now = loop_now(run->loop);
    bool is_over = result == RUN_RESULT_SUCCEEDED || result == RUN_RESULT_FAILED;
    if (is_over)
        catch_up(run);
    run_view_summary(&run->model, now, &summary);
    if (is_over)
        drain_logs(run, result == RUN_RESULT_SUCCEEDED ? DRAIN_ALL_MS : DRAIN_MS);
    if (result == RUN_RESULT_FAILED) {
        run_show_settle(&run->show, &run->model, loop_now(run->loop));
        print_tails(run);
    }
    stop_all(run, result);
    if (run->is_private)
        run_model_stopped(&run->model); /* a server's last words do not always get through */
    run_show_settle(&run->show, &run->model, loop_now(run->loop));
    bool is_told = result != RUN_RESULT_REFUSED; /* an error says why */
    if (run->model.groups.len > 0 && is_told)
        print_summary(run, result, str_text(&summary));
    else if (RESULTS[result].takes_all && is_told)
        run_show_note(&run->show, "%s: nothing had been started", RESULTS[result].word);
    run_show_settle(&run->show, &run->model, loop_now(run->loop));
    if (str_eq(opt_get(&run->cli->opts, "output"), "json"))
        print_json(run, result, now);
    return RESULTS[result].exit_code;
}
