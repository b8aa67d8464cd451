// SPDX-License-Identifier: Apache-2.0
#include "control/manager.h"
#include "base/mem.h"
#include "control/events.h"
#include "control/workqueue.h"
#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct turn { /* one reconciliation and its writes */
    LIST_ENTRY(turn) siblings;
    struct control *control;
    const char *key; /* owned by the work queue */
    size_t writes;   /* on their way */
    bool is_open;    /* reconcile() has not returned yet */
    bool failed;
    bool is_told; /* why, to people */
};

struct control {
    struct manager *manager;
    const struct controller *controller;
    struct workqueue *queue;
    struct turn *turn; /* while reconcile() runs */
    void *state;       /* the controller's own */
    struct manager_stats stats;
};

/* Writes may outlive the manager (a crash does not recall them). They hold on to this small
 * struct, which says whether there is still somebody to tell. */
struct lifeline {
    struct manager *manager; /* NULL: gone */
    size_t refs;
};

struct manager {
    struct world *world;
    struct lifeline *life;
    struct watch *watch;
    struct control *controls;
    size_t count;
    LIST_HEAD(, turn) turns; /* those with writes on their way, to be freed with the manager */
};

struct sent { /* one write on its way */
    struct lifeline *life;
    struct turn *turn;
    bool is_delete;
    struct obj *about; /* tell people about a refusal; or NULL */
    const char *reason;
    control_refused_fn *refused; /* tell whoever asked; or NULL */
    void *refused_arg;
};

static void lifeline_unref(struct lifeline *life)
{
    if (--life->refs == 0)
        mem_free(life);
}

static void ask_to_wake(struct manager *manager)
{
    time_ms now = manager->world->ops->steady(manager->world);
    time_ms at = TIME_NEVER;
    for (size_t i = 0; i < manager->count; i++) {
        time_ms due = workqueue_next_due(manager->controls[i].queue, now);
        at = due < at ? due : at;
    }
    manager->world->ops->wake(manager->world, at);
}

static void on_change(void *arg, struct change *change)
{
    struct manager *manager = arg;
    for (size_t i = 0; i < manager->count; i++)
        manager->controls[i].controller->map(&manager->controls[i], change);
    ask_to_wake(manager);
}

static void map_everything(struct manager *manager)
{
    struct cache *cache = manager->world->cache;
    for (size_t k = 0; KINDS[k] != NULL; k++) {
        struct obj *obj = cache_first(cache, KINDS[k], NULL);
        for (; obj != NULL; obj = cache_after(cache, KINDS[k], NULL, obj)) {
            struct change change = {.type = CHANGE_ADDED, .revision = obj->revision, .obj = obj};
            for (size_t i = 0; i < manager->count; i++)
                manager->controls[i].controller->map(&manager->controls[i], &change);
        }
    }
}

struct manager *manager_new(struct world *world, const struct controller *const *controllers)
{
    struct manager *manager = mem_zalloc(sizeof(*manager));
    manager->world = world;
    manager->life = mem_zalloc(sizeof(*manager->life));
    *manager->life = (struct lifeline){.manager = manager, .refs = 1};
    while (controllers[manager->count] != NULL)
        manager->count++;
    manager->controls = mem_zalloc(manager->count * sizeof(*manager->controls));
    for (size_t i = 0; i < manager->count; i++) {
        manager->controls[i] = (struct control){
            .manager = manager, .controller = controllers[i], .queue = workqueue_new()};
        manager->controls[i].stats.controller = controllers[i]->name;
        workqueue_set_upkeep(manager->controls[i].queue, controllers[i]->is_upkeep);
    }
    for (size_t i = 0; i < manager->count; i++) {
        if (controllers[i]->begin != NULL)
            controllers[i]->begin(&manager->controls[i]);
    }
    manager->watch = feed_watch(world->feed, (struct watch_filter){0}, on_change, manager);
    map_everything(manager);
    ask_to_wake(manager);
    return manager;
}

void manager_free(struct manager *manager)
{
    if (manager == NULL)
        return;
    for (size_t i = 0; i < manager->count; i++) {
        if (manager->controls[i].controller->end != NULL)
            manager->controls[i].controller->end(&manager->controls[i]);
    }
    manager->life->manager = NULL;
    lifeline_unref(manager->life);
    feed_unwatch(manager->watch);
    struct turn *turn;
    while ((turn = LIST_FIRST(&manager->turns)) != NULL) {
        LIST_REMOVE(turn, siblings);
        mem_free(turn);
    }
    for (size_t i = 0; i < manager->count; i++)
        workqueue_free(manager->controls[i].queue);
    mem_free(manager->controls);
    mem_free(manager);
}

/* ---- turns ---- */

static struct turn *turn_open(struct control *control, const char *key)
{
    struct manager *manager = control->manager;
    struct turn *turn = mem_zalloc(sizeof(*turn));
    *turn = (struct turn){.control = control, .key = key, .is_open = true};
    LIST_INSERT_HEAD(&manager->turns, turn, siblings);
    return turn;
}

static void turn_close_if_done(struct turn *turn)
{
    if (turn->is_open || turn->writes > 0)
        return;
    struct control *control = turn->control;
    workqueue_finish(control->queue, turn->key, turn->failed, control_steady(control));
    control->stats.failures += turn->failed;
    LIST_REMOVE(turn, siblings);
    mem_free(turn);
}

static bool run_one(struct control *control)
{
    const char *key = workqueue_take(control->queue, control_steady(control));
    if (key == NULL)
        return false;
    control->stats.reconciles++;
    struct turn *turn = turn_open(control, key);
    control->turn = turn;
    control->controller->reconcile(control, key);
    control->turn = NULL;
    turn->is_open = false;
    turn_close_if_done(turn);
    return true;
}

void manager_run(struct manager *manager, size_t budget)
{
    bool progress = true;
    while (budget > 0 && progress) {
        progress = false;
        for (size_t i = 0; i < manager->count && budget > 0; i++) {
            if (run_one(&manager->controls[i])) {
                progress = true;
                budget--;
            }
        }
    }
    ask_to_wake(manager);
}

void manager_configure(struct manager *manager)
{
    for (size_t i = 0; i < manager->count; i++) {
        if (manager->controls[i].controller->configure != NULL)
            manager->controls[i].controller->configure(&manager->controls[i]);
    }
    ask_to_wake(manager);
}

void manager_metrics(struct manager *manager, struct str *out)
{
    for (size_t i = 0; i < manager->count; i++) {
        if (manager->controls[i].controller->metrics != NULL)
            manager->controls[i].controller->metrics(&manager->controls[i], out);
    }
}

bool manager_explain(struct manager *manager, const struct obj *obj, struct str *out_json)
{
    for (size_t i = 0; i < manager->count; i++) {
        const struct controller *controller = manager->controls[i].controller;
        if (controller->explain != NULL &&
            controller->explain(&manager->controls[i], obj, out_json))
            return true;
    }
    return false;
}

bool manager_is_pressed(const struct manager *manager)
{
    for (size_t i = 0; i < manager->count; i++) {
        if (workqueue_pressing(manager->controls[i].queue) > 0)
            return true;
    }
    return false;
}

size_t manager_stats(const struct manager *manager, struct manager_stats *out, size_t max)
{
    size_t n = 0;
    for (; n < manager->count && n < max; n++)
        out[n] = manager->controls[n].stats;
    return n;
}

/* ---- for controllers ---- */

void *control_arg(struct control *control)
{
    return control->controller->arg;
}

void *control_state(struct control *control)
{
    return control->state;
}

void control_set_state(struct control *control, void *state)
{
    control->state = state;
}

struct world *control_world(struct control *control)
{
    return control->manager->world;
}

time_ms control_now(struct control *control)
{
    struct world *world = control->manager->world;
    return world->ops->now(world);
}

time_ms control_steady(struct control *control)
{
    struct world *world = control->manager->world;
    return world->ops->steady(world);
}

void control_add(struct control *control, const char *key)
{
    workqueue_add(control->queue, key);
}

void control_add_at(struct control *control, const char *key, time_ms at)
{
    /* The queue lives in steady time: a clock that is set back must not stretch a pause. */
    time_ms pause = at == TIME_NEVER ? TIME_NEVER : at - control_now(control);
    control_add_after(control, key, pause);
}

void control_add_after(struct control *control, const char *key, time_ms pause_ms)
{
    time_ms now = control_steady(control);
    workqueue_add_at(control->queue, key,
                     pause_ms >= TIME_NEVER - now ? TIME_NEVER : now + pause_ms);
}

void control_wake(struct control *control)
{
    ask_to_wake(control->manager);
}

/* A conflict is no news: somebody was faster, and we look again. */
static void tell_refusal(const struct sent *sent, const struct status *status)
{
    struct turn *turn = sent->turn;
    if (sent->about == NULL || turn->is_told || status_ok(status) || status->code == 409)
        return;
    turn->is_told = true;
    control_event(turn->control, sent->about, "Warning", sent->reason, "%s",
                  str_text(&status->message));
}

static void on_written(void *arg, struct write_result *result)
{
    struct sent *sent = arg;
    struct manager *manager = sent->life->manager;
    if (manager != NULL) {
        struct turn *turn = sent->turn;
        bool gone = sent->is_delete && result->status.code == 404;
        turn->failed |= !status_ok(&result->status) && !gone;
        tell_refusal(sent, &result->status);
        if (sent->refused != NULL && !status_ok(&result->status))
            sent->refused(sent->refused_arg, &result->status);
        turn->writes--;
        turn_close_if_done(turn);
        ask_to_wake(manager);
    }
    lifeline_unref(sent->life);
    obj_unref(sent->about);
    mem_free(sent);
}

/* `told`: who hears of a refusal. */
static void send_write(struct control *control, struct write *write, struct sent told)
{
    assert(control->turn != NULL);
    struct manager *manager = control->manager;
    struct sent *sent = mem_zalloc(sizeof(*sent));
    *sent = told;
    sent->life = manager->life;
    sent->turn = control->turn;
    sent->is_delete = write->op == WRITE_DELETE;
    manager->life->refs++;
    control->turn->writes++;
    control->stats.writes++;
    write->done = on_written;
    write->arg = sent;
    manager->world->ops->submit(manager->world, write);
}

void control_write(struct control *control, struct write *write)
{
    send_write(control, write, (struct sent){0});
}

void control_write_about(struct control *control, struct write *write, struct obj *about,
                         const char *reason)
{
    send_write(control, write, (struct sent){.about = obj_ref(about), .reason = reason});
}

void control_write_told(struct control *control, struct write *write, control_refused_fn *refused,
                        void *arg)
{
    send_write(control, write, (struct sent){.refused = refused, .refused_arg = arg});
}

void control_write_status(struct control *control, const struct obj *obj, yyjson_mut_doc *doc)
{
    struct write *write = write_new(WRITE_UPDATE, obj->kind, obj_namespace(obj), obj->meta.name);
    write->sub = SUB_STATUS;
    write->doc = doc;
    control_write(control, write);
}

void control_patch_status(struct control *control, const struct obj *obj, const char *patch)
{
    struct write *write = write_new(WRITE_PATCH, obj->kind, obj_namespace(obj), obj->meta.name);
    write->sub = SUB_STATUS;
    write->if_uid = mem_strdup(obj->meta.uid);
    write->patch_type = PATCH_STRATEGIC;
    int r = json_parse(sv_of(patch), &write->patch, NULL);
    assert(r == 0);
    (void)r;
    control_write(control, write);
}

void control_event(struct control *control, const struct obj *about, const char *type,
                   const char *reason, const char *fmt, ...)
{
    char message[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    const struct event_text text = {
        .type = type, .reason = reason, .message = message, .component = control->controller->name};
    struct write *write = event_write(control_world(control), about, &text, control_now(control));
    /* Nobody waits for an event, and losing one changes nothing. */
    control_world(control)->ops->submit(control_world(control), write);
}

void control_event_of(struct control *control, const struct obj *about, const char *type,
                      const char *reason, yyjson_val *condition)
{
    const char *message = json_str_at(condition, "message");
    if (reason == NULL)
        reason = json_str_at(condition, "reason");
    if (reason == NULL || *reason == '\0')
        reason = json_str_at(condition, "type");
    control_event(control, about, type, reason, "%s", message != NULL ? message : "");
}
