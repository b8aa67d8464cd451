// SPDX-License-Identifier: Apache-2.0
/* Generations that nobody will ask for: when a container begins, all but the one before it may go.
 * That is two looks into a folder for each start, and a group that restarts has no time for them:
 * they are taken when no container has begun for a while, a few in each turn of the loop. */
#include "base/mem.h"
#include "node/logs_internal.h"

#define QUIET_MS 2000
#define LATEST_MS 20000 /* where somebody always begins */
#define FOLDERS_A_TURN 16

void log_trim_ask(struct logs *logs, const struct log_name *name)
{
    scoped_str folder = {0};
    str_addf(&folder, "%s/", logs->dir);
    if (name->generation < 2 || log_key(name, &folder, NULL) < 0)
        return;
    if (logs->trims.len == 0)
        logs->trim_latest = loop_now(logs->loop) + LATEST_MS;
    vec_push(&logs->trims, ((struct log_trim){str_take(&folder), name->generation}));
    logs->trim_from = loop_now(logs->loop) + QUIET_MS;
    if (!heap_contains(&logs->trim.node))
        loop_timer_set(logs->loop, &logs->trim, logs->trim_from);
}

static void trim_last(struct logs *logs)
{
    struct log_trim trim = vec_pop(&logs->trims);
    log_remove_generations(trim.folder, log_generation(trim.folder, trim.generation - 1));
    mem_free(trim.folder);
}

void log_trim_turn(void *arg)
{
    struct logs *logs = arg;
    time_ms now = loop_now(logs->loop);
    time_ms due = logs->trim_from < logs->trim_latest ? logs->trim_from : logs->trim_latest;
    for (int i = 0; i < FOLDERS_A_TURN && now >= due && logs->trims.len > 0; i++)
        trim_last(logs);
    if (logs->trims.len > 0)
        loop_timer_set(logs->loop, &logs->trim, now < due ? due : now);
}

void log_trim_done(struct logs *logs)
{
    loop_timer_clear(logs->loop, &logs->trim);
    for (size_t i = 0; i < logs->trims.len; i++)
        mem_free(logs->trims.items[i].folder); /* the next start asks again */
    vec_done(&logs->trims);
}
