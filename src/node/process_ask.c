// SPDX-License-Identifier: Apache-2.0
/* Questions to containers: commands that run beside them in their control group, GETs,
 * connections, and hooks that only wait. Each has a time-out of its own; an answer that comes later
 * is nobody's. */
#include "base/arena.h"
#include "node/process_internal.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define ID_PREFIX "probe/"

static char *key_of(uint64_t own, char out[24])
{
    (void)snprintf(out, 24, "%" PRIu64, own);
    return out;
}

static void ask_free(struct pask *ask)
{
    char key[24];
    loop_timer_clear(ask->runtime->loop, &ask->timer);
    if (ask->is_network)
        prober_cancel(ask->runtime->prober, ask->own);
    (void)map_del(ask->runtime->asks, key_of(ask->own, key));
    LIST_REMOVE(ask, siblings);
    mem_free(ask->uid);
    mem_free(ask->container);
    mem_free(ask->id);
    mem_free(ask);
}

static void answer(struct pask *ask, bool is_ok, const char *text)
{
    struct process_runtime *rt = ask->runtime;
    struct runtime_event event = {.type = RT_ANSWER,
                                  .unit = {ask->uid, ask->container, ask->generation},
                                  .ticket = ask->ticket,
                                  .is_ok = is_ok,
                                  .text = text};
    ask->is_network = false; /* it has answered: nothing to cancel */
    char key[24];
    (void)map_del(rt->asks, key_of(ask->own, key)); /* the answer may lead to new questions */
    process_tell(rt, &event);
    ask_free(ask);
}

/* ---- commands ---- */

static void on_timeout(void *arg)
{
    struct pask *ask = arg;
    if (ask->id != NULL) {
        spawners_signal(ask->runtime->spawners, ask->id, SIGKILL, true);
        ask->is_late = true; /* answered when it is reaped, so that probes do not pile up */
        return;
    }
    answer(ask, true, NULL); /* a hook that only waits */
}

static void run(struct process_runtime *rt, struct pask *ask, const struct punit *unit,
                const struct runtime_question *question)
{
    struct cgroup_door door = {0};
    if (unit->has_leaf)
        cgroup_leaf_door(rt->tree, unit->uid, unit->leaf, &door);
    ask->id = mem_printf(ID_PREFIX "%s/%" PRIu64, unit->id, ask->own);
    struct spawn_request request = {.id = ask->id,
                                    .argv = question->argv,
                                    .envp = question->as->envp,
                                    .dir = question->as->dir,
                                    .uid = question->as->uid,
                                    .gid = question->as->gid,
                                    .groups = question->as->groups,
                                    .n_groups = question->as->n_groups,
                                    .nofile_soft = rt->nofile_soft,
                                    .oom_score_adj = question->as->oom_score_adj,
                                    .cgroup = door.v2,
                                    .join = (const char *const *)door.join,
                                    .is_transient = true};
    spawners_start(rt->spawners, &request);
    cgroup_door_done(&door);
    loop_timer_set(rt->loop, &ask->timer, loop_now(rt->loop) + question->timeout_ms);
}

/* True: the reply was about a question. */
bool process_ask_reply(struct process_runtime *rt, const struct spawn_reply *reply)
{
    if (reply->id == NULL || !str_starts(reply->id, ID_PREFIX))
        return false;
    const char *own = strrchr(reply->id, '/') + 1;
    struct pask *ask = map_get(rt->asks, own);
    if (ask == NULL)
        return true; /* nobody asks any more */
    char text[256];
    if (reply->type == SPAWN_FAILED) {
        (void)snprintf(text, sizeof(text), "%s %s: %s", reply->what, reply->path,
                       strerror(reply->error));
        answer(ask, false, text);
    } else if (reply->type == SPAWN_EXITED) {
        int code = exit_code_of(reply);
        (void)snprintf(text, sizeof(text),
                       ask->is_late ? "the command took too long"
                                    : "the command ended with exit code %d",
                       code);
        answer(ask, code == 0 && !ask->is_late, text);
    }
    return true;
}

/* ---- the network ---- */

void process_ask_answer(void *arg, uint64_t own, bool is_ok, const char *text)
{
    struct process_runtime *rt = arg;
    char key[24];
    struct pask *ask = map_get(rt->asks, key_of(own, key));
    if (ask != NULL)
        answer(ask, is_ok, text);
}

static void go_and_see(struct process_runtime *rt, struct pask *ask,
                       const struct runtime_question *question)
{
    bool has_host = question->host != NULL && *question->host != '\0';
    struct prober_question probe = {.host = has_host ? question->host : "127.0.0.1",
                                    .port = question->port,
                                    .path = question->type == ASK_HTTP ? question->path : NULL,
                                    .is_tls = str_eq(question->scheme, "HTTPS"),
                                    .headers = question->headers,
                                    .timeout_ms = question->timeout_ms};
    if (question->type == ASK_HTTP && probe.path == NULL)
        probe.path = "/";
    ask->is_network = true;
    prober_ask(rt->prober, &probe, ask->own);
}

void process_ask(struct runtime *runtime, const struct runtime_unit *name,
                 const struct runtime_question *question, uint64_t ticket)
{
    struct process_runtime *rt = (struct process_runtime *)runtime;
    struct punit *unit = process_unit(rt, name);
    if (unit == NULL || unit->stage != PUNIT_RUNNING)
        return; /* its end is on the way and answers everything */
    struct pask *ask = mem_zalloc(sizeof(*ask));
    ask->runtime = rt;
    ask->own = ++rt->next_ask;
    ask->ticket = ticket;
    ask->uid = mem_strdup(name->uid);
    ask->container = mem_strdup(name->container);
    ask->generation = name->generation;
    loop_timer_init(&ask->timer, on_timeout, ask);
    LIST_INSERT_HEAD(&unit->asks, ask, siblings);
    char key[24];
    (void)map_put(rt->asks, key_of(ask->own, key), ask);
    if (question->type == ASK_SLEEP)
        loop_timer_set(rt->loop, &ask->timer, loop_now(rt->loop) + question->timeout_ms);
    else if (question->type == ASK_EXEC)
        run(rt, ask, unit, question);
    else
        go_and_see(rt, ask, question);
}

void process_asks_of(struct punit *unit)
{
    struct pask *ask;
    while ((ask = LIST_FIRST(&unit->asks)) != NULL)
        ask_free(ask);
}
