// SPDX-License-Identifier: Apache-2.0
/* Requests: the queues, and what the runner writes of a workload. */
#include "bench/admit.h"
#include <inttypes.h>

static void put(struct str *out, const char *method, const char *path, const char *type,
                const struct str *body)
{
    str_addf(out,
             "%s %s HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n"
             "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n",
             method, path, type, body->len);
    str_addn(out, str_text(body), body->len);
}

static void post(struct str *out, const char *path, const struct str *body)
{
    put(out, "POST", path, "application/json", body);
}

void text_watch(const char *plural, struct str *out)
{
    str_addf(out,
             "GET " ADMIT_API "/%s?watch=true&sendInitialEvents=false&"
             "resourceVersionMatch=NotOlderThan HTTP/1.1\r\n"
             "Host: bench\r\nAccept: application/json\r\n\r\n",
             plural);
}

/* ---- the queues ---- */

static void add_queue(const struct plan *plan, size_t number, struct str *body)
{
    str_addf(body,
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
             "\"metadata\":{\"name\":\"cq%zu\"},\"spec\":{\"cohortName\":\"cohort%zu\","
             "\"namespaceSelector\":{},\"queueingStrategy\":\"BestEffortFIFO\","
             "\"preemption\":{\"reclaimWithinCohort\":\"Any\","
             "\"withinClusterQueue\":\"LowerPriority\"},\"stopPolicy\":\"%s\","
             "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"rf\","
             "\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%" PRId64 "\","
             "\"borrowingLimit\":\"%" PRId64 "\"}]}]}]}}",
             number, number / plan->queues, plan->is_held ? "Hold" : "None", plan->nominal,
             plan->borrowing);
}

/* One flavor; a queue and a namespace for each; then, in a second part, the local queues. */
size_t text_setup_count(const struct plan *plan, size_t *ret_first_part)
{
    size_t queues = plan->cohorts * plan->queues;
    *ret_first_part = 1 + 2 * queues;
    return *ret_first_part + queues;
}

void text_setup(const struct plan *plan, size_t number, struct str *out)
{
    size_t queues = plan->cohorts * plan->queues;
    scoped_str path = {0}, body = {0};
    if (number == 0) {
        str_add(&path, ADMIT_API "/resourceflavors");
        str_add(&body, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                       "\"metadata\":{\"name\":\"rf\"}}");
    } else if (number <= queues) {
        str_add(&path, ADMIT_API "/clusterqueues");
        add_queue(plan, number - 1, &body);
    } else if (number <= 2 * queues) {
        str_add(&path, "/api/v1/namespaces");
        str_addf(&body,
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"ns%zu\"}}",
                 number - queues - 1);
    } else {
        size_t queue = number - 2 * queues - 1;
        str_addf(&path, ADMIT_API "/namespaces/ns%zu/localqueues", queue);
        str_addf(&body,
                 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\","
                 "\"metadata\":{\"name\":\"lq\"},\"spec\":{\"clusterQueue\":\"cq%zu\"}}",
                 queue);
    }
    post(out, str_text(&path), &body);
}

/* ---- a workload ---- */

static void add_create(const struct sort *sort, size_t index, struct str *body)
{
    str_addf(body,
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
             "\"metadata\":{\"name\":\"w%zu\",\"labels\":{\"bench.muster.dev/class\":\"%s\","
             "\"bench.muster.dev/run-ms\":\"%" PRId64 "\"}},\"spec\":{\"queueName\":\"lq\","
             "\"priority\":%" PRId64 ",\"podSets\":[{\"name\":\"main\",\"count\":1,"
             "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
             "\"image\":\"none\",\"resources\":{\"requests\":{\"cpu\":\"%" PRId64 "\"}}}]}}}]}}",
             index, sort->name, sort->run_ms, sort->priority, sort->cpu);
}

static void add_condition(struct str *body, const char *type, const char *status,
                          const char *reason, time_ms now)
{
    scoped_str at = {0};
    rfc3339_format(now, &at);
    str_addf(body,
             "{\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"%s\",\"message\":\"by the runner\","
             "\"lastTransitionTime\":\"%s\"}",
             type, status, reason, str_text(&at));
}

/* With the version that it follows from: it may have waited for a connection since. */
static void add_patch(const struct task *task, enum act act, time_ms now, struct str *body)
{
    str_addf(body, "{\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"},\"status\":{",
             task->sent_version);
    if (act == ACT_CLEAR)
        str_add(body, "\"admission\":null,");
    str_add(body, "\"conditions\":[");
    if (act == ACT_FINISH) {
        add_condition(body, "Finished", "True", "ByTest", now);
    } else if (act == ACT_CLEAR) {
        add_condition(body, "QuotaReserved", "False", "Pending", now);
        str_addc(body, ',');
        add_condition(body, "Admitted", "False", "NoReservation", now);
    } else {
        bool is_ready = act == ACT_READY;
        const char *reason = is_ready ? "Started" : "WaitForRecovery";
        add_condition(body, "PodsReady", is_ready ? "True" : "False", reason, now);
    }
    str_add(body, "]}}");
}

void text_act(const struct play *play, enum act act, size_t index, struct str *out)
{
    const struct task *task = &play->tasks[index];
    scoped_str path = {0}, body = {0};
    if (act == ACT_SETUP) {
        text_setup(play->plan, index, out);
    } else if (act == ACT_OPEN) {
        str_addf(&path, ADMIT_API "/clusterqueues/cq%zu", index);
        str_add(&body, "{\"spec\":{\"stopPolicy\":\"None\"}}");
        put(out, "PATCH", str_text(&path), "application/merge-patch+json", &body);
    } else if (act == ACT_CREATE) {
        str_addf(&path, ADMIT_API "/namespaces/ns%" PRIu32 "/workloads", task->queue);
        add_create(&play->plan->sorts[task->sort], index, &body);
        post(out, str_text(&path), &body);
    } else {
        str_addf(&path, ADMIT_API "/namespaces/ns%" PRIu32 "/workloads/w%zu/status", task->queue,
                 index);
        add_patch(task, act, loop_wall(play->loop), &body);
        put(out, "PATCH", str_text(&path), "application/strategic-merge-patch+json", &body);
    }
}
