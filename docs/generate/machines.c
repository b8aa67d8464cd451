// SPDX-License-Identifier: Apache-2.0
/* What the tables of src/core say, cell by cell. The group of a restart in place has no table: it
 * is asked what it would do in each situation, so what is drawn is its answer. */
#include "base/mem.h"
#include "core/recover/group.h"
#include "core/recover/member.h"
#include "core/start/container.h"
#include "generate.h"

static void add_machine(struct str *out, const char *name, const char *title, const char *source)
{
    str_addf(out, "machine\t%s\t%s\t%s\n", name, title, source);
}

static void add_move(struct str *out, const char *from, const char *event, const char *next,
                     const char *act)
{
    str_addf(out, "move\t%s\t%s\t%s\t%s\n", from, event, next, act);
}

/* ---- container ---- */

static void add_container(struct str *out)
{
    add_machine(out, "container", "One container on its node", "src/core/start/container.c");
    for (int s = 0; s < CT_STATE_COUNT; s++)
        str_addf(out, "state\t%s\t%s\n", container_state_name(s),
                 container_has_process(s) ? "runs"
                 : container_is_over(s)   ? "over"
                                          : "waits");
    for (int s = 0; s < CT_STATE_COUNT; s++) {
        for (int e = 0; e < CE_COUNT; e++) {
            struct container_move move = container_move(s, e);
            if (move.is_legal)
                add_move(out, container_state_name(s), container_event_name(e),
                         container_state_name(move.next), "");
        }
    }
}

/* ---- member ---- */

static const char *member_class(enum member_state state)
{
    if (state == MEMBER_DONE || state == MEMBER_OVER)
        return "over";
    return state == MEMBER_RUN || state == MEMBER_ENDING ? "runs" : "waits";
}

static void add_member_move(struct str *out, enum member_state state, enum member_input input)
{
    struct member_cell move = member_cell(state, input);
    if (!move.is_legal)
        return;
    scoped_str act = {0};
    if (move.act != MEMBER_NOTHING)
        str_add(&act, member_act_name(move.act));
    if (move.is_next_epoch)
        str_add(&act, " next epoch");
    add_move(out, member_state_name(state), member_input_name(input), member_state_name(move.next),
             str_text(&act));
}

static void add_member(struct str *out)
{
    add_machine(out, "member", "One member of a group that restarts in place",
                "src/core/recover/member.c");
    for (int s = 0; s < MEMBER_STATE_COUNT; s++)
        str_addf(out, "state\t%s\t%s\n", member_state_name(s), member_class(s));
    for (int s = 0; s < MEMBER_STATE_COUNT; s++) {
        for (int i = 0; i < IN_COUNT; i++)
            add_member_move(out, s, i);
    }
}

/* ---- group ---- */

#define NEXT 3 /* the epoch that comes next in each of the situations */
enum { BARRIER, RUNNING, COMPLETED, FAILED, GROUP_STATES };
static const char *const GROUP_NAMES[] = {"barrier", "running", "completed", "failed"};
static const char *const GROUP_CLASSES[] = {"waits", "runs", "over", "over"};

/* A group of two. */
static const struct situation {
    int state;
    const char *name;
    int64_t epochs[2]; /* announced */
    enum group_life lives[2];
    bool has_old_pod; /* of the second place, not gone yet */
    struct group_budget budget;
} SITUATIONS[] = {
    {BARRIER, "one is missing", {NEXT, NEXT - 1}, .budget = {.max = 1}},
    {BARRIER, "a pod of before is there", {NEXT, NEXT}, .has_old_pod = true, .budget = {.max = 1}},
    {BARRIER, "one claims a later epoch", {NEXT, NEXT + 1}, .budget = {.max = 1}},
    {BARRIER, "all have arrived", {NEXT, NEXT}, .budget = {.max = 1}},
    {BARRIER, "all have succeeded", {0}, {GROUP_SUCCEEDED, GROUP_SUCCEEDED}, .budget = {.max = 1}},
    {RUNNING, "one has died", {NEXT, NEXT - 1}, .budget = {.max = 1}},
    {RUNNING, "a restart is asked for", {NEXT - 1, NEXT - 1}, .budget = {.wants_restart = true}},
    {RUNNING, "all have succeeded", {0}, {GROUP_SUCCEEDED, GROUP_SUCCEEDED}, .budget = {.max = 1}},
    {RUNNING, "died, no restart left", {NEXT, NEXT - 1}, .budget = {.used = 1, .max = 1}},
};

static struct group_plan ask(const struct situation *situation)
{
    static const char *const UIDS[] = {"a", "b"};
    struct group *group = group_new();
    group_resize(group, &(struct group_role){.jobs = 1, .members = 2}, 1);
    group_set_epochs(group, situation->state == RUNNING ? NEXT - 2 : NEXT - 1, NEXT - 1);
    for (int i = 0; i < 2; i++)
        (void)group_put(group, &(struct group_pod){.uid = UIDS[i],
                                                   .place = {0, 0, i},
                                                   .created = 2,
                                                   .life = situation->lives[i],
                                                   .epoch = situation->epochs[i]});
    if (situation->has_old_pod)
        (void)group_put(group,
                        &(struct group_pod){
                            .uid = "old", .place = {0, 0, 1}, .created = 1, .life = GROUP_LEAVES});
    struct group_plan plan = group_plan(group, &situation->budget);
    group_free(group);
    return plan;
}

static void add_group_move(struct str *out, const struct situation *situation)
{
    static const struct {
        int next;
        const char *act;
    } MOVES[] = {
        [GROUP_COMPLETE] = {COMPLETED, ""},          [GROUP_FAIL] = {FAILED, ""},
        [GROUP_DEPRECATE] = {BARRIER, "deprecate"},  [GROUP_SYNC] = {RUNNING, "sync"},
        [GROUP_EXPEL] = {BARRIER, "delete its pod"},
    };
    struct group_plan plan = ask(situation);
    scoped_str act = {0};
    str_addf(&act, "%s%s", plan.move == GROUP_WAIT ? "wait" : MOVES[plan.move].act,
             plan.is_charged ? ", charge" : "");
    add_move(out, GROUP_NAMES[situation->state], situation->name,
             GROUP_NAMES[plan.move == GROUP_WAIT ? situation->state : MOVES[plan.move].next],
             str_text(&act));
}

static void add_group(struct str *out)
{
    add_machine(out, "group", "A group that restarts in place", "src/core/recover/group.c");
    for (int s = 0; s < GROUP_STATES; s++)
        str_addf(out, "state\t%s\t%s\n", GROUP_NAMES[s], GROUP_CLASSES[s]);
    for (size_t i = 0; i < ARRAY_LEN(SITUATIONS); i++)
        add_group_move(out, &SITUATIONS[i]);
}

void machines_list(struct str *out)
{
    add_container(out);
    add_member(out);
    add_group(out);
}
