// SPDX-License-Identifier: Apache-2.0
/* What follows for the JobSet when Jobs end, and in which order they begin. */
#include "base/mem.h"
#include "control/job_internal.h"
#include "control/jobset_internal.h"
#include "model/pattern.h"
#include <inttypes.h>

static bool lists(yyjson_val *list, const char *text)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        if (str_eq(yyjson_get_str(item), text))
            return true;
    }
    return yyjson_arr_size(list) == 0;
}

/* ---- budget ---- */

int64_t look_restarts_max(const struct set_look *look)
{
    return json_int_at(look->spec, "failurePolicy.maxRestarts", 0);
}

int64_t look_restarts_used(const struct set_look *look)
{
    int64_t used = json_int_at(look->status, "restartsCountTowardsMax", 0);
    size_t i, n, k, m;
    yyjson_val *role, *count;
    yyjson_arr_foreach(yyjson_obj_get(look->status, "replicatedJobsStatus"), i, n, role)
    {
        yyjson_arr_foreach(yyjson_obj_get(role, "jobRestartsCountTowardsMax"), k, m, count)
        {
            used += yyjson_get_sint(count);
        }
    }
    return used;
}

/* ---- failure ---- */

enum action {
    ACT_FAIL,
    ACT_RESTART,
    ACT_RESTART_FREE, /* not charged */
    ACT_RESTART_JOB,
    ACT_RESTART_JOB_FREE,
};
// clang-format off
static const struct {
    const char *name, *event;
} ACTIONS[] = {
    [ACT_FAIL] = {"FailJobSet", "FailJobSetFailurePolicyAction"},
    [ACT_RESTART] = {"RestartJobSet", "RestartJobSetFailurePolicyAction"},
    [ACT_RESTART_FREE] = {"RestartJobSetAndIgnoreMaxRestarts",
                          "RestartJobSetAndIgnoreMaxRestartsFailurePolicyAction"},
    [ACT_RESTART_JOB] = {"RestartJob", "RestartJobFailurePolicyAction"},
    [ACT_RESTART_JOB_FREE] = {"RestartJobAndIgnoreMaxRestarts",
                              "RestartJobAndIgnoreMaxRestartsFailurePolicyAction"},
};
// clang-format on

struct failure { /* what is to be done, for which Job, by which rule */
    enum action action;
    const char *rule; /* NULL: none fits */
    const struct set_job *job;
};

static bool message_fits(yyjson_val *patterns, const char *message)
{
    size_t i, n;
    yyjson_val *pattern;
    yyjson_arr_foreach(patterns, i, n, pattern)
    {
        if (pattern_finds(yyjson_get_str(pattern), message != NULL ? message : ""))
            return true;
    }
    return yyjson_arr_size(patterns) == 0;
}

static bool rule_fits(const struct set_look *look, yyjson_val *rule, const struct set_job *job)
{
    const struct obj *obj = cache_by_uid(control_world(look->control)->cache, job->uid);
    yyjson_val *failed = obj != NULL ? job_condition(obj, "Failed") : NULL;
    const char *role = look->state->roles.items[job->role].name;
    return failed != NULL && lists(yyjson_obj_get(rule, "targetReplicatedJobs"), role) &&
           lists(yyjson_obj_get(rule, "onJobFailureReasons"), json_str_at(failed, "reason")) &&
           message_fits(yyjson_obj_get(rule, "onJobFailureMessagePatterns"),
                        json_str_at(failed, "message"));
}

/* The Job that failed first, of those that the rule fits; without a rule, of all. */
static const struct set_job *first_failed(const struct set_look *look, yyjson_val *rule)
{
    const struct set_job *job, *first = NULL;
    TAILQ_FOREACH(job, &look->state->lists[SET_FAILED], siblings)
    {
        if (rule != NULL && !rule_fits(look, rule, job))
            continue;
        if (first == NULL || job->failed_at < first->failed_at ||
            (job->failed_at == first->failed_at && strcmp(job->name, first->name) < 0))
            first = job;
    }
    return first;
}

static struct failure judge(const struct set_look *look)
{
    size_t i, n;
    yyjson_val *rule;
    yyjson_arr_foreach(json_at(look->spec, "failurePolicy.rules"), i, n, rule)
    {
        const struct set_job *job = first_failed(look, rule);
        if (job == NULL)
            continue;
        struct failure failure = {ACT_RESTART, json_str_at(rule, "name"), job};
        for (size_t k = 0; k < ARRAY_LEN(ACTIONS); k++) {
            if (str_eq(json_str_at(rule, "action"), ACTIONS[k].name))
                failure.action = (enum action)k;
        }
        return failure;
    }
    return (struct failure){ACT_RESTART, NULL, first_failed(look, NULL)};
}

static void tell_restart(struct set_look *look, const struct failure *failure)
{
    scoped_free char *reason = failure->rule != NULL ? mem_printf("FailurePolicy_%s", failure->rule)
                                                     : mem_strdup("DefaultFailurePolicy");
    int64_t used = json_int_at(look->status, "restartsCountTowardsMax", 0);
    bool is_charged = failure->action == ACT_RESTART || failure->action == ACT_RESTART_JOB;
    scoped_free char *count =
        is_charged ? mem_printf("restart %" PRId64 " of %" PRId64, look_restarts_used(look) + 1,
                                look_restarts_max(look))
                   : mem_printf("a restart that does not count, after %" PRId64 " that do", used);
    bool is_whole = failure->action == ACT_RESTART || failure->action == ACT_RESTART_FREE;
    scoped_free char *message =
        mem_printf("applying %s failure policy action (first failed job: %s): %s, %s",
                   ACTIONS[failure->action].name, failure->job->name, count,
                   is_whole ? "all Jobs are made anew" : "it alone is made anew");
    draft_condition(look, &(struct set_condition){"RestartingJobSet", "True", reason, message});
    draft_clear(look, "StartupPolicyCompleted", "InOrderStartupPolicyInProgress",
                "in order startup policy is in progress");
}

const char *look_action_event(const struct set_look *look, const char *reason)
{
    static const char OF_RULE[] = "FailurePolicy_";
    if (str_eq(reason, "DefaultFailurePolicy"))
        return ACTIONS[ACT_RESTART].event;
    if (reason == NULL || !str_starts(reason, OF_RULE))
        return NULL;
    yyjson_val *rules = json_at(look->spec, "failurePolicy.rules");
    const char *action = json_str_at(json_find(rules, "name", reason + strlen(OF_RULE)), "action");
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++) {
        if (str_eq(action, ACTIONS[i].name))
            return ACTIONS[i].event;
    }
    return NULL;
}

static void end_by(struct set_look *look, const char *reason, const char *text,
                   const struct set_job *job)
{
    scoped_free char *message = mem_printf("%s (first failed job: %s)", text, job->name);
    draft_end(look, false, reason, message);
}

static void apply(struct set_look *look, const struct failure *failure)
{
    int64_t counted = json_int_at(look->status, "restartsCountTowardsMax", 0);
    bool is_charged = failure->action == ACT_RESTART || failure->action == ACT_RESTART_JOB;
    if (failure->action == ACT_FAIL) {
        end_by(look, ACTIONS[ACT_FAIL].event, "applying FailJobSet failure policy action",
               failure->job);
        return;
    }
    if (is_charged && look_restarts_used(look) >= look_restarts_max(look)) {
        end_by(look, "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts",
               failure->job);
        return;
    }
    if (failure->action == ACT_RESTART_JOB || failure->action == ACT_RESTART_JOB_FREE) {
        draft_job_restart(look, failure->job, is_charged);
    } else {
        draft_count(look, "restarts", look->state->attempt + 1);
        if (is_charged)
            draft_count(look, "restartsCountTowardsMax", counted + 1);
    }
    look_deprecate(look);
    tell_restart(look, failure);
}

bool look_apply_failures(struct set_look *look)
{
    if (TAILQ_EMPTY(&look->state->lists[SET_FAILED]))
        return false;
    if (yyjson_obj_get(look->spec, "failurePolicy") == NULL) {
        end_by(look, "FailedJobs", "jobset failed due to one or more job failures",
               first_failed(look, NULL));
        return true;
    }
    struct failure failure = judge(look);
    apply(look, &failure);
    return true;
}

/* ---- success ---- */

bool look_apply_success(struct set_look *look)
{
    yyjson_val *policy = yyjson_obj_get(look->spec, "successPolicy");
    yyjson_val *targets = yyjson_obj_get(policy, "targetReplicatedJobs");
    int64_t wanted = 0, done = 0;
    for (size_t i = 0; i < look->state->roles.len; i++) {
        const struct role *role = &look->state->roles.items[i];
        if (!lists(targets, role->name))
            continue;
        wanted += role->replicas;
        done += (int64_t)role->count[SET_DONE];
    }
    bool is_any = str_eq(json_str_at(policy, "operator"), "Any");
    if (done == 0 || (!is_any && done < wanted))
        return false;
    draft_end(look, true, "AllJobsCompleted", "jobset completed successfully");
    return true;
}

/* ---- order ---- */

static bool has_started(const struct role *role)
{
    return (int64_t)(role->ready + role->count[SET_FAILED] + role->count[SET_DONE]) ==
           role->replicas;
}

static bool is_so_far(const struct role *role, const char *status)
{
    if (str_eq(status, "Complete"))
        return (int64_t)role->count[SET_DONE] == role->replicas;
    return has_started(role);
}

static bool is_in_order(const struct set_look *look)
{
    return str_eq(json_str_at(look->spec, "startupPolicy.startupPolicyOrder"), "InOrder");
}

/* Nothing starts while the JobSet is suspended, so all Jobs are made then: whoever wants to know
 * what it will need sees them all. */
bool look_may_start(const struct set_look *look, size_t role)
{
    const struct set_state *state = look->state;
    bool in_order = is_in_order(look) && !look->is_suspended;
    for (size_t i = 0; in_order && i < role; i++) {
        if (!has_started(&state->roles.items[i]))
            return false;
    }
    yyjson_val *jobs = yyjson_obj_get(look->spec, "replicatedJobs");
    size_t i, n;
    yyjson_val *need;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_arr_get(jobs, role), "dependsOn"), i, n, need)
    {
        for (size_t k = 0; k < state->roles.len; k++) {
            if (str_eq(state->roles.items[k].name, json_str_at(need, "name")) &&
                !is_so_far(&state->roles.items[k], json_str_at(need, "status")))
                return false;
        }
    }
    return true;
}

/* Once all have started, that stays so until they are made anew or suspended. */
void look_start_order(struct set_look *look)
{
    if (!is_in_order(look) || look->is_suspended || look->state->roles.len == 0 ||
        set_condition(look->set, "StartupPolicyCompleted") != NULL)
        return;
    size_t last = look->state->roles.len - 1;
    if (look_may_start(look, last) && has_started(&look->state->roles.items[last])) {
        draft_condition(look, &(struct set_condition){"StartupPolicyCompleted", "True",
                                                      "InOrderStartupPolicyCompleted",
                                                      "in order startup policy has completed"});
        draft_clear(look, "StartupPolicyInProgress", "InOrderStartupPolicyCompleted",
                    "in order startup policy has completed");
    } else {
        draft_condition(look, &(struct set_condition){"StartupPolicyInProgress", "True",
                                                      "InOrderStartupPolicyInProgress",
                                                      "in order startup policy is in progress"});
    }
}

bool look_all_ready(const struct set_look *look)
{
    for (size_t i = 0; i < look->state->roles.len; i++) {
        const struct role *role = &look->state->roles.items[i];
        if ((int64_t)(role->ready + role->count[SET_DONE]) != role->replicas)
            return false;
    }
    return true;
}
