// SPDX-License-Identifier: Apache-2.0
/* How a container ends. Its first process has ended: whatever else is in its control group is
 * killed, and only when the group is empty the end is told. A group says so by itself where the
 * kernel has cgroup.events; elsewhere we look again after short pauses. */
#include "node/process_internal.h"
#include "os/fd.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRAIN_FIRST_MS 5
#define DRAIN_MAX_MS 500
#define EXIT_UNKNOWN 255

int exit_code_of(const struct spawn_reply *reply)
{
    if (reply->status < 0)
        return EXIT_UNKNOWN; /* nobody could see how it ended */
    return reply->code == CLD_EXITED ? reply->status : 128 + reply->status;
}

static void end_log(struct punit *unit)
{
    struct log_name log = punit_log(unit);
    logs_end(unit->runtime->logs, &log);
}

static void finish(struct punit *unit)
{
    struct process_runtime *rt = unit->runtime;
    loop_io_del(unit->events_io);
    unit->events_io = NULL;
    fd_close_scoped(&unit->events_fd);
    unit->events_fd = -1;
    loop_timer_clear(rt->loop, &unit->drain);
    if (unit->has_leaf) {
        bool moved = cgroup_leaf_oom_kills(rt->tree, unit->uid, unit->leaf) > unit->oom_before;
        unit->is_oom = moved && unit->exit_code == 128 + SIGKILL;
    }
    usage_end(rt->usage, unit->uid, unit->container, unit->has_leaf ? unit->leaf : NULL);
    notifysock_close(unit->notify);
    unit->notify = NULL;
    if (!unit->is_member)
        end_log(unit);
    process_asks_of(unit);
    unit->stage = PUNIT_ENDED;
    if (unit->is_forgotten) {
        punit_forget(unit);
        return;
    }
    struct runtime_event event = {.type = RT_ENDED,
                                  .unit = punit_name(unit),
                                  .exit_code = unit->exit_code,
                                  .is_oom = unit->is_oom,
                                  .at = unit->at};
    process_tell(rt, &event); /* whoever hears it may forget the unit at once */
}

/* Its empty group goes only now, and a member's log: a group that restarts has no time for that
 * before. */
void punit_forget(struct punit *unit)
{
    struct process_runtime *rt = unit->runtime;
    if (unit->is_member)
        end_log(unit);
    if (unit->has_leaf)
        (void)cgroup_leaf_remove(rt->tree, unit->uid, unit->leaf); /* else its pod's end takes it */
    spawners_forget(rt->spawners, unit->id);
    punit_free(unit);
}

static void look(struct punit *unit)
{
    struct process_runtime *rt = unit->runtime;
    if (!unit->has_leaf || !cgroup_leaf_is_populated(rt->tree, unit->uid, unit->leaf)) {
        finish(unit);
        return;
    }
    (void)cgroup_leaf_kill(rt->tree, unit->uid, unit->leaf); /* looked at again until empty */
    loop_timer_set(rt->loop, &unit->drain, loop_now(rt->loop) + unit->drain_step_ms);
    unit->drain_step_ms =
        unit->drain_step_ms * 2 < DRAIN_MAX_MS ? unit->drain_step_ms * 2 : DRAIN_MAX_MS;
}

static void on_drain(void *arg)
{
    look(arg);
}

static void on_events(void *arg, uint32_t events)
{
    struct punit *unit = arg;
    char text[256];
    (void)events;
    ssize_t n = pread(unit->events_fd, text, sizeof(text), 0); /* else it is not told again */
    if (n < 0 || !cgroup_leaf_is_populated(unit->runtime->tree, unit->uid, unit->leaf))
        finish(unit);
}

void punit_exited(struct punit *unit, const struct spawn_reply *reply)
{
    struct process_runtime *rt = unit->runtime;
    unit->stage = PUNIT_DRAINING;
    process_asks_of(unit); /* a probe that is killed with it has nothing to say */
    unit->exit_code = exit_code_of(reply);
    unit->at = reply->at_ms;
    unit->drain_step_ms = DRAIN_FIRST_MS;
    loop_timer_init(&unit->drain, on_drain, unit);
    if (!unit->has_leaf || !cgroup_leaf_is_populated(rt->tree, unit->uid, unit->leaf)) {
        finish(unit); /* most have no other process */
        return;
    }
    unit->events_fd = cgroup_leaf_events(rt->tree, unit->uid, unit->leaf);
    if (unit->events_fd >= 0)
        unit->events_io = loop_io_add(rt->loop, unit->events_fd, EPOLLPRI, on_events, unit);
    look(unit);
}

void punit_kill(struct punit *unit)
{
    struct process_runtime *rt = unit->runtime;
    if (unit->stage == PUNIT_ENDED)
        return;
    /* While its first process lives a signal to its process group is the cheapest way, and its exit
     * is how we know; whoever left that is in the control group still, which is emptied then. */
    if (unit->has_leaf && rt->can.kill && unit->stage == PUNIT_DRAINING)
        (void)cgroup_leaf_kill(rt->tree, unit->uid, unit->leaf);
    else
        spawners_signal(rt->spawners, unit->id, SIGKILL, true);
}
