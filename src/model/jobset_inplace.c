// SPDX-License-Identifier: Apache-2.0
/* What the manifest of a JobSet must look like for its members to be restarted in place.
 *
 * Each Job must bear any number of failures (backoffLimit), must not have two pods for one member
 * (podReplacementPolicy), must know its members by an index (completionMode), and must say how many
 * it has (completions, parallelism), for the barrier counts them. Whoever fails gets another pod:
 * an index that its Job gives up (backoffLimitPerIndex, FailIndex) would be waited for for ever.
 *
 * Somebody must hold each worker back until all members have arrived. That is the node itself,
 * where no agent is written down; the agent as the worker's parent, which is an ordinary container
 * to the pod; or the agent beside it, a sidecar whose startup probe is the barrier. Only the last
 * has requirements, and it is known by its probe's path, by the variable with its exit code, or by
 * its program. A manifest whose barrier nobody would ever lift is refused; whether the probe asks
 * where the agent answers is in jobset_probe.c. */
#include "model/jobset.h"
#include "model/rules.h"
#include <stdlib.h>

#define EXIT_CODE_MAX 255

/* ---- the Job ---- */

static void check_backoff(struct check *c, yyjson_mut_val *job)
{
    yyjson_mut_val *limit = yyjson_mut_obj_get(job, "backoffLimit");
    if (limit == NULL)
        check_required(c, "backoffLimit", "must be 2147483647 for restartStrategy InPlaceRestart");
    else if (yyjson_mut_get_sint(limit) != INT32_MAX)
        check_invalid(c, "backoffLimit", limit,
                      "must be 2147483647 for restartStrategy InPlaceRestart");
    else
        return;
    check_hint(c, "write backoffLimit: 2147483647, so that no number of restarts fails the Job; "
                  "failurePolicy.maxRestarts is the limit");
}

static void check_replacement(struct check *c, yyjson_mut_val *job)
{
    yyjson_mut_val *policy = yyjson_mut_obj_get(job, "podReplacementPolicy");
    if (str_eq(yyjson_mut_get_str(policy), "Failed"))
        return;
    if (policy == NULL)
        check_required(c, "podReplacementPolicy",
                       "must be Failed for restartStrategy InPlaceRestart");
    else if (!rules_has(job, "podFailurePolicy")) /* with it, every Job needs it and says so */
        check_not_supported(c, "podReplacementPolicy", policy, VALUES("Failed"));
    else
        return;
    check_hint(c, "write podReplacementPolicy: Failed, so that a member has never two pods");
}

/* Unset means Indexed in a JobSet, and what is no mode at all is refused by the table. */
static void check_mode(struct check *c, yyjson_mut_val *job)
{
    yyjson_mut_val *mode = yyjson_mut_obj_get(job, "completionMode");
    if (!str_eq(yyjson_mut_get_str(mode), "NonIndexed"))
        return;
    check_invalid(c, "completionMode", mode, "must be Indexed for restartStrategy InPlaceRestart");
    check_hint(c, "write completionMode: Indexed, or leave it out: the barrier knows members by "
                  "their index");
}

static void check_count(struct check *c, yyjson_mut_val *job)
{
    static const char HINT[] = "set completions and parallelism to the number of members: the "
                               "barrier waits for that many";
    static const char *const COUNTS[] = {"completions", "parallelism"};
    bool has_all = true;
    for (size_t i = 0; i < ARRAY_LEN(COUNTS); i++) {
        if (rules_has(job, COUNTS[i]))
            continue;
        has_all = false;
        bool is_reported = i == 0 && rules_has(job, "parallelism") &&
                           str_eq(json_mut_str_at(job, "completionMode"), "Indexed");
        if (is_reported)
            continue;
        check_required(c, COUNTS[i], "must be set for restartStrategy InPlaceRestart");
        check_hint(c, HINT);
    }
    yyjson_mut_val *completions = yyjson_mut_obj_get(job, "completions");
    if (!has_all || rules_same(completions, yyjson_mut_obj_get(job, "parallelism")))
        return;
    check_invalid(c, "completions", completions,
                  "must be equal to parallelism for restartStrategy InPlaceRestart");
    check_hint(c, HINT);
}

static void check_giving_up(struct check *c, yyjson_mut_val *job)
{
    if (rules_has(job, "backoffLimitPerIndex")) {
        check_forbidden(c, "backoffLimitPerIndex",
                        "may not be given with restartStrategy InPlaceRestart");
        check_hint(c, "take it away, and maxFailedIndexes with it: the barrier would wait for an "
                      "index that was given up; failurePolicy.maxRestarts is the limit");
    }
    size_t policy = check_enter(c, "podFailurePolicy");
    size_t list = check_enter(c, "rules");
    size_t i, n;
    yyjson_mut_val *rule;
    yyjson_mut_arr_foreach(json_mut_at(job, "podFailurePolicy.rules"), i, n, rule)
    {
        yyjson_mut_val *action = yyjson_mut_obj_get(rule, "action");
        if (!str_eq(yyjson_mut_get_str(action), "FailIndex"))
            continue;
        size_t mark = check_enter_item(c, i, rule);
        check_invalid(c, "action", action,
                      "must not be FailIndex with restartStrategy InPlaceRestart");
        check_hint(c, "use FailJob to end the Job, or Count to have the pod replaced: the barrier "
                      "would wait for an index that was given up");
        check_leave(c, mark);
    }
    check_leave(c, list);
    check_leave(c, policy);
}

/* ---- the agent ---- */

static yyjson_mut_val *find_code(yyjson_mut_val *container, size_t *ret_index)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, "env"), i, n, item)
    {
        const char *name = json_mut_str_at(item, "name");
        if (str_eq(name, JOBSET_ENV_EXIT_CODE) || str_eq(name, JOBSET_ENV_EXIT_CODE_LATER)) {
            *ret_index = i;
            return item;
        }
    }
    return NULL;
}

static bool is_agent(yyjson_mut_val *container)
{
    size_t index;
    return jobset_asks_barrier(container) || find_code(container, &index) != NULL ||
           jobset_runs_agent(container);
}

/* The exit code that asks for a restart; -1 when the manifest does not say. */
static long check_code(struct check *c, yyjson_mut_val *container)
{
    size_t index;
    yyjson_mut_val *item = find_code(container, &index);
    yyjson_mut_val *value = yyjson_mut_obj_get(item, "value");
    const char *text = yyjson_mut_get_str(value);
    if (text == NULL)
        return -1;
    char *end;
    long code = strtol(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0' && code >= 1 && code <= EXIT_CODE_MAX)
        return code;
    size_t list = check_enter(c, "env");
    size_t mark = check_enter_item(c, index, item);
    check_invalid(c, "value", value, "must be an exit code from 1 to 255");
    check_leave(c, mark);
    check_leave(c, list);
    return -1;
}

static bool rule_fits(yyjson_mut_val *rule, long code)
{
    bool is_listed = false;
    size_t i, n;
    yyjson_mut_val *value;
    yyjson_mut_arr_foreach(json_mut_at(rule, "exitCodes.values"), i, n, value)
    {
        is_listed = is_listed || yyjson_mut_get_sint(value) == code;
    }
    return is_listed == str_eq(json_mut_str_at(rule, "exitCodes.operator"), "In");
}

static bool restarts_pod(yyjson_mut_val *rule)
{
    const char *action = json_mut_str_at(rule, "action");
    return str_eq(action, "RestartPod") || str_eq(action, "RestartAllContainers");
}

/* The first rule that fits counts; without a code, any that restarts the pod is taken for it. */
static void check_rules(struct check *c, yyjson_mut_val *container, long code)
{
    static const char HINT[] =
        "give it a rule with action: RestartPod for the exit code with which "
        "the agent asks for a restart";
    size_t list = check_enter(c, "restartPolicyRules");
    size_t i, n;
    yyjson_mut_val *rule;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, "restartPolicyRules"), i, n, rule)
    {
        if (code < 0 ? !restarts_pod(rule) : !rule_fits(rule, code))
            continue;
        size_t mark = check_enter_item(c, i, rule);
        if (!restarts_pod(rule)) {
            check_invalid(c, "action", yyjson_mut_obj_get(rule, "action"),
                          "must be RestartPod: this is the first rule for the agent's exit code");
            check_hint(c, HINT);
        }
        check_leave(c, mark);
        check_leave(c, list);
        return;
    }
    check_leave(c, list);
    scoped_free char *which = code < 0 ? mem_strdup("") : mem_printf(" for exit code %ld", code);
    scoped_free char *why = mem_printf("the agent needs a rule that restarts the pod%s", which);
    check_required(c, "restartPolicyRules", why);
    check_hint(c, HINT);
}

static void check_sidecar(struct check *c, yyjson_mut_val *container)
{
    yyjson_mut_val *policy = yyjson_mut_obj_get(container, "restartPolicy");
    if (!str_eq(yyjson_mut_get_str(policy), "Always")) {
        if (policy == NULL)
            check_required(c, "restartPolicy", "must be Always: the agent is a sidecar");
        else
            check_invalid(c, "restartPolicy", policy, "must be Always: the agent is a sidecar");
        check_hint(c, "an init container with another restartPolicy would have to end before the "
                      "worker starts");
    }
    if (!rules_has(container, "startupProbe")) {
        check_required(c, "startupProbe", "is the barrier that holds the worker back");
        check_hint(c, "let it ask " JOBSET_BARRIER_PATH " on the agent's port, every second");
    }
    jobset_probe_check(c, container);
    check_rules(c, container, check_code(c, container));
}

/* Containers start together, so a barrier in one of them holds only those back that wait for it. */
static bool is_awaited(yyjson_mut_val *containers, const char *name)
{
    size_t i, n;
    yyjson_mut_val *container;
    yyjson_mut_arr_foreach(containers, i, n, container)
    {
        if (json_mut_find(yyjson_mut_obj_get(container, "dependsOn"), "name", name) != NULL)
            return true;
    }
    return false;
}

/* Both would write the same annotation of the pod. */
static void check_second(struct check *c)
{
    check_forbidden(c, NULL, "a pod has one agent; another would count as a second member");
    check_hint(c, "keep one of them: the worker's parent needs none beside it");
}

static bool check_init_agents(struct check *c, yyjson_mut_val *pod)
{
    bool found = false;
    size_t list = check_enter(c, "initContainers");
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(pod, "initContainers"), i, n, item)
    {
        if (!is_agent(item))
            continue;
        size_t mark = check_enter_item(c, i, item);
        if (found)
            check_second(c);
        else
            check_sidecar(c, item);
        check_leave(c, mark);
        found = true;
    }
    check_leave(c, list);
    return found;
}

/* Beside the worker, which waits for it. */
static void check_awaited(struct check *c, yyjson_mut_val *container)
{
    jobset_probe_check(c, container);
    if (jobset_asks_barrier(container))
        check_rules(c, container, check_code(c, container));
}

/* Whether it is an agent; `found`: there is one already. */
static bool check_container(struct check *c, yyjson_mut_val *container, bool is_waited_for,
                            bool found)
{
    bool asks = jobset_asks_barrier(container);
    bool speaks = jobset_runs_agent(container) || (asks && is_waited_for);
    if (speaks && found) {
        check_second(c);
    } else if (speaks && is_waited_for) {
        check_awaited(c, container);
    } else if (asks && !found) {
        check_forbidden(c, "startupProbe",
                        "no agent lifts this barrier, and it holds no other container back");
        check_hint(c, "put the agent into initContainers with restartPolicy: Always, or leave "
                      "probe and agent out: the node keeps the barrier then");
    }
    return speaks;
}

static void check_agents(struct check *c, yyjson_mut_val *pod)
{
    bool found = check_init_agents(c, pod);
    yyjson_mut_val *containers = yyjson_mut_obj_get(pod, "containers");
    size_t list = check_enter(c, "containers");
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(containers, i, n, item)
    {
        bool is_waited_for = is_awaited(containers, json_mut_str_at(item, "name"));
        size_t mark = check_enter_item(c, i, item);
        found |= check_container(c, item, is_waited_for, found);
        check_leave(c, mark);
    }
    check_leave(c, list);
}

/* ---- all together ---- */

/* Nobody gets ready before all have arrived, so nobody can wait for somebody to get ready. */
static void check_start_order(struct check *c, yyjson_mut_val *spec)
{
    static const char HINT[] =
        "the barrier lets all members start together; take the order away, or use another "
        "restartStrategy";
    if (str_eq(json_mut_str_at(spec, "startupPolicy.startupPolicyOrder"), "InOrder")) {
        size_t mark = check_enter(c, "startupPolicy");
        check_invalid(c, "startupPolicyOrder",
                      json_mut_at(spec, "startupPolicy.startupPolicyOrder"),
                      "would never end with restartStrategy InPlaceRestart");
        check_hint(c, HINT);
        check_leave(c, mark);
    }
    size_t list = check_enter(c, "replicatedJobs");
    size_t i, n;
    yyjson_mut_val *job;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, "replicatedJobs"), i, n, job)
    {
        if (yyjson_mut_arr_size(yyjson_mut_obj_get(job, "dependsOn")) == 0)
            continue;
        size_t mark = check_enter_item(c, i, job);
        check_forbidden(c, "dependsOn", "would wait for ever with restartStrategy InPlaceRestart");
        check_hint(c, HINT);
        check_leave(c, mark);
    }
    check_leave(c, list);
}

/* A replicated job has the template of a Job, and that one has the template of a pod. */
static void check_template(struct check *c, yyjson_mut_val *val,
                           void (*check_spec)(struct check *c, yyjson_mut_val *spec))
{
    yyjson_mut_val *spec = json_mut_at(val, "template.spec");
    if (!yyjson_mut_is_obj(spec))
        return;
    size_t outer = check_enter(c, "template");
    size_t inner = check_enter(c, "spec");
    check_spec(c, spec);
    check_leave(c, inner);
    check_leave(c, outer);
}

static void check_job(struct check *c, yyjson_mut_val *job)
{
    check_backoff(c, job);
    check_replacement(c, job);
    check_mode(c, job);
    check_count(c, job);
    check_giving_up(c, job);
    check_template(c, job, check_agents);
}

void jobset_in_place_check(struct check *c, yyjson_mut_val *spec)
{
    if (!str_eq(json_mut_str_at(spec, "failurePolicy.restartStrategy"), "InPlaceRestart"))
        return;
    check_start_order(c, spec);
    size_t list = check_enter(c, "replicatedJobs");
    size_t i, n;
    yyjson_mut_val *job;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, "replicatedJobs"), i, n, job)
    {
        size_t mark = check_enter_item(c, i, job);
        check_template(c, job, check_job);
        check_leave(c, mark);
    }
    check_leave(c, list);
}

/* ---- the status ---- */

struct jobset_epochs jobset_epochs(yyjson_val *status)
{
    struct jobset_epochs epochs = {json_int_at(status, "deprecatedEpoch", 0),
                                   json_int_at(status, "syncedEpoch", 0)};
    int64_t previous = json_int_at(status, "previousInPlaceRestartAttempt", -1) + 1;
    int64_t current = json_int_at(status, "currentInPlaceRestartAttempt", -1) + 1;
    epochs.deprecated = previous > epochs.deprecated ? previous : epochs.deprecated;
    epochs.synced = current > epochs.synced ? current : epochs.synced;
    return epochs;
}
