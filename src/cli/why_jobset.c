// SPDX-License-Identifier: Apache-2.0
/* A JobSet: whether it has ended, who has not arrived at the barrier, which replicated job waits
 * for another; else its Jobs that are not ready. */
#include "cli/why.h"
#include "core/recover/epoch.h"
#include "model/cell.h"
#include "model/jobset.h"

#define NAMED 3

struct set_case {
    struct why *why;
    yyjson_val *set;
    const char *label; /* "jobset/train" */
    yyjson_mut_val *answer;
    int64_t deprecated, synced;
    int64_t epoch; /* in which it is, or for which it waits; 0: none yet */
    bool is_group;
};

static const char *restarting(const struct set_case *c)
{
    return cell_condition_as(c->set, "RestartingJobSet", "True") != NULL ? "is restarting, and "
                                                                         : "";
}

/* Of a group that restarts in place, whatever it does just now. */
static void add_budget(const struct set_case *c)
{
    scoped_str text = {0};
    if (!c->is_group)
        return;
    if (c->epoch > 0)
        str_addf(&text, "epoch %lld", (long long)c->epoch);
    else
        str_add(&text, "no epoch yet");
    str_addf(&text, ", %lld of %lld restarts used",
             (long long)json_int_at(c->set, "status.restartsCountTowardsMax", 0),
             (long long)json_int_at(c->set, "spec.failurePolicy.maxRestarts", 0));
    why_text(c->why, why_detail(c->why, c->answer), &text);
}

static void add_restart(const struct set_case *c)
{
    const char *message =
        json_str_at(cell_condition_as(c->set, "RestartingJobSet", "True"), "message");
    add_budget(c);
    if (message != NULL)
        why_put(c->why, why_detail(c->why, c->answer), "text", message);
}

/* Pods or Jobs of the set. */
static yyjson_doc *fetch(const struct set_case *c, const struct kind *kind)
{
    scoped_str url = {0}, selector = {0};
    str_addf(&selector, "jobset.sigs.k8s.io/jobset-uid=%s", json_str_at(c->set, "metadata.uid"));
    target_collection(kind, json_str_at(c->set, "metadata.namespace"), &url);
    target_query(&url, "labelSelector", str_text(&selector));
    return why_ask(c->why, str_text(&url));
}

/* ---- ends and pauses ---- */

static bool explain_end(struct set_case *c)
{
    yyjson_val *failed = cell_condition_as(c->set, "Failed", "True");
    if (cell_condition_as(c->set, "Completed", "True") != NULL) {
        why_say(c->why, c->answer, "%s is done", c->label);
        add_budget(c);
        return true;
    }
    if (failed == NULL)
        return false;
    const char *reason = json_str_at(failed, "reason"), *message = json_str_at(failed, "message");
    why_say(c->why, c->answer, "%s has failed: %s: %s", c->label,
            reason ? reason : "no reason given", message ? message : "no message");
    why_put(c->why, c->answer, "reason", reason);
    add_budget(c);
    if (str_eq(reason, "ReachedMaxRestarts"))
        why_help(c->why, c->answer, "see why members failed: muster events --for %s", c->label);
    return true;
}

static bool explain_suspension(struct set_case *c)
{
    if (!yyjson_get_bool(json_at(c->set, "spec.suspend")))
        return false;
    if (why_queued(c->why, c->set, "jobset-", c->answer)) {
        add_budget(c);
        return true;
    }
    why_say(c->why, c->answer, "%s is suspended", c->label);
    why_put(c->why, c->answer, "reason", "SuspendedJobs");
    add_budget(c);
    why_help(c->why, c->answer,
             "set spec.suspend to false; if a queue holds it, it does so itself");
    return true;
}

/* ---- the barrier ---- */

static int64_t epoch_of(yyjson_val *pod)
{
    yyjson_val *notes = json_at(pod, "metadata.annotations");
    return epoch_of_notes(yyjson_get_str(yyjson_obj_get(notes, EPOCH_NOTE)),
                          yyjson_get_str(yyjson_obj_get(notes, EPOCH_NOTE_LATER)), NULL);
}

static bool has_ended(yyjson_val *pod)
{
    const char *phase = json_str_at(pod, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

static int64_t members_of(yyjson_val *set)
{
    int64_t members = 0;
    size_t i, n;
    yyjson_val *role;
    yyjson_arr_foreach(json_at(set, "spec.replicatedJobs"), i, n, role)
    {
        members +=
            json_int_at(role, "replicas", 1) * json_int_at(role, "template.spec.completions", 1);
    }
    return members;
}

static void name_missing(struct set_case *c, yyjson_val *pods, int64_t epoch)
{
    size_t i, n, count = 0;
    yyjson_val *pod;
    yyjson_arr_foreach(pods, i, n, pod)
    {
        if (has_ended(pod) || epoch_of(pod) >= epoch || ++count > NAMED)
            continue;
        (void)why_pod(c->why, pod, why_detail(c->why, c->answer));
    }
    if (count > NAMED)
        why_say(c->why, why_detail(c->why, c->answer), "and %zu more that have not arrived",
                count - NAMED);
}

static bool explain_barrier(struct set_case *c)
{
    if (!c->is_group || c->synced > c->deprecated)
        return false;
    int64_t epoch = (c->deprecated > c->synced ? c->deprecated : c->synced) + 1;
    c->epoch = epoch;
    yyjson_doc *doc = fetch(c, &KIND_POD);
    yyjson_val *pods = yyjson_obj_get(yyjson_doc_get_root(doc), "items");
    int64_t arrived = 0, done = 0;
    size_t i, n;
    yyjson_val *pod;
    yyjson_arr_foreach(pods, i, n, pod)
    {
        arrived += !has_ended(pod) && epoch_of(pod) == epoch;
        done += str_eq(json_str_at(pod, "status.phase"), "Succeeded");
    }
    why_say(c->why, c->answer,
            "%s %swaits at the barrier of epoch %lld: %lld of %lld members have arrived", c->label,
            restarting(c), (long long)epoch, (long long)arrived,
            (long long)(members_of(c->set) - done));
    why_put(c->why, c->answer, "reason", "WaitsForMembers");
    add_restart(c);
    name_missing(c, pods, epoch);
    yyjson_doc_free(doc);
    return true;
}

/* ---- order and progress ---- */

static bool explain_order(struct set_case *c)
{
    yyjson_val *going_on = cell_condition_as(c->set, "StartupPolicyInProgress", "True");
    if (going_on == NULL)
        return false;
    why_say(c->why, c->answer, "%s %sstarts its replicated jobs in order, and is not through",
            c->label, restarting(c));
    why_put(c->why, c->answer, "reason", json_str_at(going_on, "reason"));
    add_restart(c);
    return true;
}

static bool explain_progress(struct set_case *c)
{
    int64_t ready = 0, succeeded = 0, jobs = 0;
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(c->set, "status.replicatedJobsStatus"), i, n, item)
    {
        ready += json_int_at(item, "ready", 0);
        succeeded += json_int_at(item, "succeeded", 0);
    }
    yyjson_arr_foreach(json_at(c->set, "spec.replicatedJobs"), i, n, item)
    {
        jobs += json_int_at(item, "replicas", 1);
    }
    bool is_restarting = cell_condition_as(c->set, "RestartingJobSet", "True") != NULL;
    bool is_well = jobs > 0 && ready + succeeded == jobs && !is_restarting;
    why_say(c->why, c->answer, "%s is %s: %lld of %lld Job%s %s ready, %lld done", c->label,
            is_restarting ? "restarting"
            : is_well     ? "at work"
                          : "not done",
            (long long)ready, (long long)jobs, jobs == 1 ? "" : "s",
            jobs == 1 || ready == 1 ? "is" : "are", (long long)succeeded);
    add_restart(c);
    json_mut_put(c->why->doc, c->answer, "isWell", yyjson_mut_bool(c->why->doc, is_well));
    return true;
}

static bool is_quiet(yyjson_val *job)
{
    int64_t active = json_int_at(job, "status.active", 0);
    return cell_condition_as(job, "Complete", "True") != NULL ||
           (active > 0 && json_int_at(job, "status.ready", 0) == active);
}

static int add_jobs(struct set_case *c)
{
    yyjson_doc *doc = fetch(c, &KIND_JOB);
    int exit_code = CLI_OK;
    size_t i, n, count = 0;
    yyjson_val *job;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "items"), i, n, job)
    {
        if (!is_quiet(job) && ++count <= NAMED && exit_code == CLI_OK)
            exit_code = why_job(c->why, job, why_detail(c->why, c->answer));
    }
    if (count > NAMED)
        why_say(c->why, why_detail(c->why, c->answer), "and %zu more Jobs that are not ready",
                count - NAMED);
    yyjson_doc_free(doc);
    return exit_code;
}

static bool explain_manager(struct set_case *c)
{
    return why_manager(c->why, c->set, JOBSET_MANAGER, c->label, c->answer);
}

int why_jobset(struct why *why, yyjson_val *set, yyjson_mut_val *answer)
{
    static bool (*const STEPS[])(struct set_case * c) = {explain_end,        explain_manager,
                                                         explain_suspension, explain_barrier,
                                                         explain_order,      explain_progress};
    const char *name = json_str_at(set, "metadata.name");
    scoped_free char *label = mem_printf("jobset/%s", name != NULL ? name : "");
    struct set_case c = {.why = why,
                         .set = set,
                         .label = label,
                         .answer = answer,
                         .deprecated = json_int_at(set, "status.deprecatedEpoch", 0),
                         .synced = json_int_at(set, "status.syncedEpoch", 0),
                         .is_group = str_eq(json_str_at(set, "spec.failurePolicy.restartStrategy"),
                                            "InPlaceRestart")};
    c.epoch = c.synced;
    json_mut_put(why->doc, answer, "isWell",
                 yyjson_mut_bool(why->doc, cell_condition_as(set, "Completed", "True") != NULL));
    if (why_deletion(why, set, label, answer))
        return CLI_OK;
    size_t step = 0;
    while (!STEPS[step](&c))
        step++;
    return STEPS[step] == explain_progress || STEPS[step] == explain_order ? add_jobs(&c) : CLI_OK;
}
