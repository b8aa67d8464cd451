// SPDX-License-Identifier: Apache-2.0
/* A job: how far it is, and then its pods: what failed last, and those that are not ready. */
#include "cli/why.h"
#include "core/job/job.h"
#include "model/cell.h"
#include "model/job.h"

#define PODS_NAMED 3

struct job_case {
    struct why *why;
    yyjson_val *job;
    const char *label; /* "job/train" */
    yyjson_mut_val *answer;
    yyjson_doc *pods;
    int64_t succeeded, failed, active, ready, completions, parallelism;
    size_t row_of_failures; /* since the last success */
    time_ms last_failure;
};

static bool is_phase(yyjson_val *pod, const char *phase)
{
    return str_eq(json_str_at(pod, "status.phase"), phase);
}

static bool is_ready(yyjson_val *pod)
{
    return cell_condition_is(json_at(pod, "status.conditions"), "Ready", "True");
}

/* ---- what is known ---- */

static void read_counts(struct job_case *c)
{
    c->succeeded = json_int_at(c->job, "status.succeeded", 0);
    c->failed = json_int_at(c->job, "status.failed", 0);
    c->active = json_int_at(c->job, "status.active", 0);
    c->ready = json_int_at(c->job, "status.ready", 0);
    c->parallelism = json_int_at(c->job, "spec.parallelism", 1);
    c->completions = json_int_at(c->job, "spec.completions", -1);
}

static int fetch_pods(struct job_case *c)
{
    scoped_str url = {0}, selector = {0};
    podview_selector(c->job, &selector);
    if (selector.len == 0)
        return CLI_OK;
    target_collection(&KIND_POD, json_str_at(c->job, "metadata.namespace"), &url);
    target_query(&url, "labelSelector", str_text(&selector));
    return cli_fetch(c->why->cli, &(struct request){.target = str_text(&url)}, &c->pods);
}

static yyjson_val *pods_of(const struct job_case *c)
{
    return yyjson_obj_get(yyjson_doc_get_root(c->pods), "items");
}

static time_ms ended_at(yyjson_val *pod)
{
    time_ms last = 0;
    size_t i, n;
    yyjson_val *status;
    yyjson_arr_foreach(json_at(pod, "status.containerStatuses"), i, n, status)
    {
        time_ms at = cell_time(status, "state.terminated.finishedAt");
        last = at > last ? at : last;
    }
    return last;
}

/* As the controller does it: failures in a row, since the last success. */
static void count_failures(struct job_case *c)
{
    time_ms last_success = 0;
    size_t i, n;
    yyjson_val *pod;
    yyjson_arr_foreach(pods_of(c), i, n, pod)
    {
        time_ms at = is_phase(pod, "Succeeded") ? ended_at(pod) : 0;
        last_success = at > last_success ? at : last_success;
    }
    yyjson_arr_foreach(pods_of(c), i, n, pod)
    {
        time_ms at = is_phase(pod, "Failed") ? ended_at(pod) : 0;
        c->row_of_failures += at > last_success;
        c->last_failure = at > c->last_failure ? at : c->last_failure;
    }
}

/* ---- sentences ---- */

/* "1 of 3 done, 2 active (1 ready), 1 failed" */
static void add_counts(const struct job_case *c, struct str *out)
{
    if (c->completions >= 0)
        str_addf(out, "%lld of %lld done", (long long)c->succeeded, (long long)c->completions);
    else
        str_addf(out, "%lld done", (long long)c->succeeded);
    str_addf(out, ", %lld active (%lld ready), %lld failed", (long long)c->active,
             (long long)c->ready, (long long)c->failed);
}

static bool explain_condition(struct job_case *c)
{
    static const struct {
        const char *type, *words;
    } ENDS[] = {{"Complete", "is done"},
                {"Failed", "has failed"},
                {"FailureTarget", "has failed and ends its pods"},
                {"SuccessCriteriaMet", "is done and ends its pods"}};
    for (size_t i = 0; i < ARRAY_LEN(ENDS); i++) {
        yyjson_val *condition = cell_condition_as(c->job, ENDS[i].type, "True");
        const char *reason = json_str_at(condition, "reason");
        const char *message = json_str_at(condition, "message");
        scoped_str counts = {0};
        if (condition == NULL)
            continue;
        add_counts(c, &counts);
        bool is_good = str_eq(ENDS[i].type, "Complete");
        why_say(c->why, c->answer, "%s %s%s%s%s%s", c->label, ENDS[i].words,
                is_good || reason == NULL ? "" : ": ", is_good || reason == NULL ? "" : reason,
                is_good || message == NULL ? "" : ": ", is_good || message == NULL ? "" : message);
        why_put(c->why, c->answer, "reason", reason);
        why_text(c->why, why_detail(c->why, c->answer), &counts);
        return true;
    }
    return false;
}

static bool is_suspended(yyjson_val *object)
{
    return yyjson_get_bool(json_at(object, "spec.suspend"));
}

/* Only its JobSet can tell what it waits for: that has the place in the queue, and resumes it. */
static bool explain_set(struct job_case *c)
{
    yyjson_val *owner = cell_controller(c->job);
    const char *name = json_str_at(owner, "name");
    scoped_str url = {0};
    if (!str_eq(json_str_at(owner, "kind"), KIND_JOBSET.name) || name == NULL)
        return false;
    target_object(&KIND_JOBSET, json_str_at(c->job, "metadata.namespace"), name, &url);
    scoped_json *doc = why_ask(c->why, str_text(&url));
    yyjson_val *set = yyjson_doc_get_root(doc);
    why_say(c->why, c->answer, "%s waits with its jobset/%s", c->label, name);
    why_put(c->why, c->answer, "reason", "JobSuspended");
    if (is_suspended(set)) /* else it would tell of its Jobs, and they of it */
        (void)why_jobset(c->why, set, why_detail(c->why, c->answer));
    else
        why_help(c->why, c->answer, "muster why jobset/%s", name);
    return true;
}

static bool explain_suspension(struct job_case *c)
{
    scoped_str age = {0};
    time_ms since = cell_time(cell_condition_as(c->job, "Suspended", "True"), "lastTransitionTime");
    if (!is_suspended(c->job))
        return false;
    if (why_queued(c->why, c->job, "job-", c->answer) || explain_set(c))
        return true;
    why_age(c->why, since, &age);
    why_say(c->why, c->answer, "%s is suspended%s%s", c->label, since != 0 ? " since " : "",
            since != 0 ? str_text(&age) : "");
    why_put(c->why, c->answer, "reason", "JobSuspended");
    why_help(c->why, c->answer,
             "set spec.suspend to false; if a queue holds it, it does so itself");
    return true;
}

static bool explain_backoff(struct job_case *c)
{
    time_ms due = c->last_failure + job_backoff((int64_t)c->row_of_failures);
    scoped_str left = {0};
    if (c->row_of_failures == 0 || c->active > 0 || due <= c->why->now ||
        yyjson_is_int(json_at(c->job, "spec.backoffLimitPerIndex")))
        return false;
    why_left(c->why, due, &left);
    why_say(c->why, c->answer,
            "%s makes its next pod in %s: %zu failed in a row (backoffLimit %lld)", c->label,
            str_text(&left), c->row_of_failures,
            (long long)json_int_at(c->job, "spec.backoffLimit", 6));
    why_put(c->why, c->answer, "reason", "BackOff");
    return true;
}

static bool explain_progress(struct job_case *c)
{
    scoped_str counts = {0};
    add_counts(c, &counts);
    if (c->parallelism == 0) {
        why_say(c->why, c->answer, "%s has no work to do: its parallelism is 0", c->label);
        why_help(c->why, c->answer, "set spec.parallelism above 0");
    } else if (c->active == 0) {
        why_say(c->why, c->answer, "%s has no pods at work just now: %s", c->label,
                str_text(&counts));
        why_help(c->why, c->answer, "muster events --for %s", c->label);
    } else if (c->ready == c->active) {
        why_say(c->why, c->answer, "%s is at work: %s", c->label, str_text(&counts));
    } else {
        why_say(c->why, c->answer, "%s is not done: %s", c->label, str_text(&counts));
    }
    return true;
}

/* ---- its pods ---- */

static bool is_waiting_pod(yyjson_val *pod)
{
    return !is_phase(pod, "Succeeded") && !is_phase(pod, "Failed") && !is_ready(pod);
}

static bool is_failed_pod(yyjson_val *pod)
{
    return is_phase(pod, "Failed");
}

static int add_pods(struct job_case *c, bool (*is_wanted)(yyjson_val *pod), const char *what)
{
    size_t i, n, count = 0;
    yyjson_val *pod;
    int exit_code = CLI_OK;
    yyjson_arr_foreach(pods_of(c), i, n, pod)
    {
        if (is_wanted(pod) && ++count <= PODS_NAMED && exit_code == CLI_OK)
            exit_code = why_pod(c->why, pod, why_detail(c->why, c->answer));
    }
    if (count > PODS_NAMED)
        why_say(c->why, why_detail(c->why, c->answer), "and %zu more that %s", count - PODS_NAMED,
                what);
    return exit_code;
}

static bool explain_manager(struct job_case *c)
{
    return why_manager(c->why, c->job, JOB_MANAGER, c->label, c->answer);
}

int why_job(struct why *why, yyjson_val *job, yyjson_mut_val *answer)
{
    static bool (*const STEPS[])(struct job_case * c) = {
        explain_condition, explain_manager, explain_suspension, explain_backoff, explain_progress};
    const char *name = json_str_at(job, "metadata.name");
    scoped_free char *label = mem_printf("job/%s", name != NULL ? name : "");
    struct job_case c = {.why = why, .job = job, .label = label, .answer = answer};
    read_counts(&c);
    int exit_code = fetch_pods(&c);
    bool is_done = cell_condition_as(job, "Complete", "True") != NULL;
    json_mut_put(why->doc, answer, "isWell",
                 yyjson_mut_bool(why->doc, is_done || (c.active > 0 && c.ready == c.active)));
    if (exit_code == CLI_OK && !why_deletion(why, job, label, answer)) {
        count_failures(&c);
        for (size_t i = 0; i < ARRAY_LEN(STEPS); i++) {
            if (STEPS[i](&c))
                break;
        }
    }
    if (exit_code == CLI_OK && !is_done)
        exit_code = add_pods(&c, is_failed_pod, "failed");
    if (exit_code == CLI_OK && !is_done)
        exit_code = add_pods(&c, is_waiting_pod, "are not ready");
    yyjson_doc_free(c.pods);
    return exit_code;
}
