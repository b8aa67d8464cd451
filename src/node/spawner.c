// SPDX-License-Identifier: Apache-2.0
#include "node/spawner.h"
#include "base/mem.h"
#include "node/spawner_internal.h"
#include "os/log.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#define STARTS_A_FLUSH 8

/* The supervisor keeps its own account of the children, because the helper may go:
 *
 *  1. Orders of a turn are sent at its end; starts when it is their turn (spawner_queue.c).
 *  2. On each connection we first ask for the list ourselves. Its news are told (an end that we had
 *     not heard of), the rest is for the account only.
 *  3. Replies of our own making (a refusal, the end of an adopted child) come like those of the
 *     helper, never from within a call. */

static struct held *held_add(struct spawner *spawner, const char *id)
{
    size_t id_bytes = strlen(id) + 1;
    struct held *held = mem_zalloc(sizeof(*held) + id_bytes);
    held->spawner = spawner;
    held->pidfd = -1;
    memcpy(held->id, id, id_bytes);
    void *before = map_put(spawner->held, id, held);
    assert(before == NULL);
    return held;
}

void held_free(struct held *held)
{
    adopt_done(held);
    queue_leave(held);
    (void)map_del(held->spawner->held, held->id);
    mem_free(held);
}

/* Later this turn. */
static void spawner_tell(struct spawner *spawner, const struct spawn_reply *reply)
{
    (void)spawn_wire_put_reply(&spawner->local, reply); /* no bigger than the order was */
    loop_defer(spawner->options.loop, &spawner->turn_end);
}

static struct spawn_reply reply_of(const struct held *held)
{
    if (held->state == HELD_ENDED)
        return (struct spawn_reply){.type = SPAWN_EXITED,
                                    .id = held->id,
                                    .code = held->code,
                                    .status = held->status,
                                    .at_ms = held->ended_ms};
    return (struct spawn_reply){.type = SPAWN_ALIVE,
                                .id = held->id,
                                .pid = held->pid,
                                .ident = held->ident,
                                .at_ms = held->started_ms};
}

void held_tell(struct held *held)
{
    struct spawn_reply reply = reply_of(held);
    spawner_tell(held->spawner, &reply);
}

void spawner_tell_failed(struct spawner *spawner, const char *id, int error, const char *what)
{
    struct spawn_reply reply = {.type = SPAWN_FAILED, .id = id, .error = error, .what = what};
    spawner_tell(spawner, &reply);
}

static void hand_over(struct spawner *spawner, const struct spawn_reply *reply)
{
    spawner->options.on_reply(spawner->options.arg, reply);
}

/* ---- replies ---- */

static void on_alive(struct spawner *spawner, struct held *held, const struct spawn_reply *reply)
{
    bool is_answer = reply->type == SPAWN_STARTED;
    if (held == NULL)
        held = held_add(spawner, reply->id);
    else if (is_answer)
        queue_leave(held);
    bool is_news = held->is_doubtful;
    held->state = HELD_ALIVE;
    held->is_doubtful = false;
    held->is_listed = true;
    held->pid = reply->pid;
    held->ident = reply->ident;
    held->started_ms = reply->at_ms;
    struct spawn_reply started = *reply;
    if (is_news)
        started.type = SPAWN_STARTED;
    if (is_answer || is_news || !spawner->is_first_list)
        hand_over(spawner, &started);
}

static void on_exited(struct spawner *spawner, struct held *held, const struct spawn_reply *reply)
{
    bool is_news = held && (held->state == HELD_ALIVE || held->is_doubtful);
    if (held == NULL)
        held = held_add(spawner, reply->id);
    held->state = HELD_ENDED;
    held->is_doubtful = false;
    held->is_listed = true;
    held->code = reply->code;
    held->status = reply->status;
    held->ended_ms = reply->at_ms;
    if (held->is_transient)
        held_free(held);
    if (is_news || !spawner->is_first_list)
        hand_over(spawner, reply);
}

static void on_failed(struct spawner *spawner, struct held *held, const struct spawn_reply *reply)
{
    if (held && held->is_under_way)
        queue_leave(held);
    if (held && held->state == HELD_ASKED)
        held_free(held);
    hand_over(spawner, reply);
}

static bool tell_adopted(void *arg, const char *key, void *value)
{
    struct held *held = value;
    (void)arg;
    (void)key;
    if (held->is_adopted)
        held_tell(held);
    return true;
}

/* After a connection broke: what the helper does not have cannot be there. */
static bool settle_unlisted(void *arg, const char *key, void *value)
{
    struct spawner *spawner = arg;
    struct held *held = value;
    bool was_listed = held->is_listed;
    held->is_listed = false;
    if (held->is_adopted || was_listed)
        return true;
    if (held->is_doubtful) {
        spawner_tell_failed(spawner, key, ECONNRESET, "spawner");
        held_free(held);
    } else if (held->state == HELD_ALIVE) {
        held->state = HELD_ENDED;
        held->status = -1;
        held->ended_ms = loop_wall(spawner->options.loop);
        held_tell(held);
        if (held->is_transient)
            held_free(held);
    }
    return true;
}

static void on_listed(struct spawner *spawner, const struct spawn_reply *reply)
{
    if (spawner->is_first_list) {
        (void)map_each(spawner->held, settle_unlisted, spawner);
        spawner->is_first_list = false;
        return;
    }
    (void)map_each(spawner->held, tell_adopted, spawner);
    spawner->n_lists -= spawner->n_lists > 0;
    spawner_tell(spawner, reply);
}

static void take_reply(struct spawner *spawner, const struct spawn_reply *reply)
{
    struct held *held = map_get(spawner->held, reply->id);
    switch (reply->type) {
    case SPAWN_HELLO:
        spawner->is_greeted = true;
        spawner->n_failures = 0;
        if (reply->version != SPAWN_WIRE_VERSION)
            log_warn("spawner.version own=%d helper=%d", SPAWN_WIRE_VERSION, reply->version);
        break;
    case SPAWN_STARTED:
    case SPAWN_ALIVE:
        on_alive(spawner, held, reply);
        break;
    case SPAWN_EXITED:
        on_exited(spawner, held, reply);
        break;
    case SPAWN_FAILED:
        on_failed(spawner, held, reply);
        break;
    case SPAWN_LISTED:
        on_listed(spawner, reply);
        break;
    case SPAWN_LIST:
    case SPAWN_START:
    case SPAWN_SIGNAL:
    case SPAWN_FORGET:
    case SPAWN_QUIT:
        break; /* the reader lets none of these through */
    }
}

void spawner_read(struct spawner *spawner, int datagrams_max)
{
    for (int i = 0; i < datagrams_max; i++) {
        struct sv rest;
        struct spawn_reply reply;
        int r = spawn_link_read(&spawner->link, &rest);
        if (r == 0)
            return;
        if (r == -ECONNRESET)
            continue; /* stands before what is left to read */
        while (r > 0 && (r = spawn_wire_next_reply(&rest, &reply)) > 0)
            take_reply(spawner, &reply);
        if (r < 0) {
            connect_lost(spawner);
            return;
        }
    }
}

/* ---- orders ---- */

static void ask(struct spawner *spawner, const struct spawn_order *order)
{
    (void)spawn_wire_put_order(&spawner->link.out, order); /* only a start can be too big */
    loop_defer(spawner->options.loop, &spawner->turn_end);
}

void spawner_list(struct spawner *spawner)
{
    spawner->n_lists++;
    if (spawner->link.fd >= 0) /* else the greeting asks for it */
        ask(spawner, &(struct spawn_order){.type = SPAWN_LIST});
}

void spawner_start(struct spawner *spawner, const struct spawn_request *request)
{
    if (map_get(spawner->held, request->id)) {
        spawner_tell_failed(spawner, request->id, EEXIST, "id");
        return;
    }
    struct spawn_order order = {.type = SPAWN_START, .start = *request};
    struct held *held = held_add(spawner, request->id);
    held->is_transient = request->is_transient;
    if (queue_put(spawner, &order, held) == 0) {
        if (++spawner->n_unsent >= STARTS_A_FLUSH)
            connect_flush(spawner); /* the helper starts these while we prepare the next */
        return;
    }
    spawner_tell_failed(spawner, request->id, E2BIG, "size");
    held_free(held);
}

void spawner_signal(struct spawner *spawner, const char *id, int signo, bool to_group)
{
    struct held *held = map_get(spawner->held, id);
    struct spawn_order order = {
        .type = SPAWN_SIGNAL, .id = id, .signo = signo, .to_group = to_group};
    if (held && held->is_adopted)
        adopt_signal(held, signo, to_group);
    else if (held && held->is_queued)
        (void)queue_put(spawner, &order, NULL); /* it is small */
    else
        ask(spawner, &order);
    if (held == NULL)
        return;
    held->is_signalled = true;
    held->signo = signo;
    held->to_group = to_group;
}

void spawner_forget(struct spawner *spawner, const char *id)
{
    struct held *held = map_get(spawner->held, id);
    if (held && held->state != HELD_ENDED)
        return;
    if (held == NULL || !held->is_adopted)
        ask(spawner, &(struct spawn_order){.type = SPAWN_FORGET, .id = id});
    if (held)
        held_free(held);
}

bool spawner_holds(const struct spawner *spawner, const char *id)
{
    return map_get(spawner->held, id) != NULL;
}

size_t spawner_starts(const struct spawner *spawner)
{
    return (size_t)spawner->n_under_way + spawner->n_waiting;
}

/* ---- life ---- */

static void on_turn_end(void *arg)
{
    struct spawner *spawner = arg;
    struct str local = spawner->local;
    struct sv rest = {str_text(&local), local.len};
    struct spawn_reply reply;
    spawner->local = (struct str){0}; /* whoever is told may ask for more */
    while (spawn_wire_next_reply(&rest, &reply) > 0)
        hand_over(spawner, &reply);
    str_done(&local);
    connect_flush(spawner);
}

static char **copy_words(const char *const *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    char **copy = mem_zalloc((n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = mem_strdup(words[i]);
    return copy;
}

static bool free_one(void *arg, const char *key, void *value)
{
    (void)arg;
    (void)key;
    held_free(value);
    return true;
}

static void spawner_free(struct spawner *spawner)
{
    (void)map_each(spawner->held, free_one, NULL);
    map_free(spawner->held);
    loop_task_cancel(spawner->options.loop, &spawner->turn_end);
    loop_timer_clear(spawner->options.loop, &spawner->sweep);
    spawn_link_done(&spawner->link);
    spawn_done(&spawner->spawn);
    str_done(&spawner->local);
    queue_done(spawner);
    for (char **word = spawner->helper; *word; word++)
        mem_free(*word);
    mem_free(spawner->helper);
    mem_free(spawner->socket);
    mem_free(spawner->log);
    mem_free(spawner->cgroup);
    mem_free(spawner);
}

int spawner_open(const struct spawner_options *options, struct spawner **ret, struct err *err)
{
    struct spawner *spawner = mem_zalloc(sizeof(*spawner));
    spawner->options = *options;
    spawner->link.fd = -1;
    spawner->helper_pidfd = -1;
    spawner->held = map_new();
    spawner->socket = mem_strdup(options->socket);
    spawner->log = mem_printf("%s.log", options->socket);
    spawner->cgroup = mem_strdup(options->cgroup);
    spawner->helper = copy_words(options->helper);
    loop_task_init(&spawner->turn_end, on_turn_end, spawner);
    loop_timer_init(&spawner->retry, connect_retry, spawner);
    loop_timer_init(&spawner->sweep, adopt_sweep, spawner);
    spawner->spawn = (struct spawn){.null_fd = -1, .out_fd = -1};
    /* Fails only where the kernel is too old for it; then ends after a helper's are not seen. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    int r = spawn_init(&spawner->spawn, true, err);
    if (r == 0)
        r = connect_open(spawner, err);
    if (r < 0) {
        spawner_close(spawner, false);
        return r;
    }
    *ret = spawner;
    return 0;
}

void spawner_close(struct spawner *spawner, bool quit)
{
    if (spawner == NULL)
        return;
    connect_close(spawner, quit);
    spawner_free(spawner);
}
