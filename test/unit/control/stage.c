// SPDX-License-Identifier: Apache-2.0
#include "stage.h"
#include "base/mem.h"
#include "model/cell.h"

struct sim *stage_open(uint64_t seed, const struct controller *const *controllers,
                       const struct sim_faults *faults_or_null)
{
    struct sim_options options = {.seed = seed, .start = STAGE_START, .controllers = controllers};
    if (faults_or_null != NULL)
        options.faults = *faults_or_null;
    struct sim *sim = sim_new(&options);
    stage_run(sim, 1000);
    return sim;
}

struct write *stage_write(enum write_op op, const struct kind *kind, const char *ns,
                          const char *name, const char *body)
{
    struct write *write = write_new(op, kind, ns, name);
    if (body == NULL)
        return write;
    scoped_free char *json = mem_strdup(body);
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    struct err err = {0};
    int r = op == WRITE_PATCH ? json_parse(sv_of(json), &write->patch, &err)
                              : json_parse_mut(sv_of(json), &write->doc, &err);
    if (r < 0)
        fail_msg("%s: %s", json, err.text);
    return write;
}

static void on_done(void *arg, struct write_result *result)
{
    int *calls = arg;
    (*calls)++;
    if (!status_ok(&result->status))
        fail_msg("%d: %s", result->status.code, str_text(&result->status.message));
}

void stage_do(struct sim *sim, struct write *write)
{
    int calls = 0;
    write->done = on_done;
    write->arg = &calls;
    sim_submit(sim, write);
    stage_run(sim, 500);
    assert_int_equal(calls, 1);
}

void stage_run(struct sim *sim, time_ms span)
{
    (void)sim_run_until(sim, sim_now(sim) + span, NULL, NULL);
    if (sim_violation(sim) != NULL)
        fail_msg("%s", sim_violation(sim));
}

struct obj *stage_get(struct sim *sim, const struct kind *kind, const char *ns, const char *name)
{
    return cache_get(sim_store(sim)->cache, kind, ns, name);
}

int stage_events(struct sim *sim, const char *reason)
{
    struct cache *cache = sim_store(sim)->cache;
    int count = 0;
    struct obj *event = cache_first(cache, &KIND_EVENT, NULL);
    for (; event != NULL; event = cache_after(cache, &KIND_EVENT, NULL, event))
        count += str_eq(json_str_at(event->root, "reason"), reason);
    return count;
}

const char *stage_job_of(const struct obj *pod)
{
    return yyjson_get_str(yyjson_obj_get(pod->meta.labels, "batch.kubernetes.io/job-name"));
}

static bool is_next(const struct obj *pod, const char *job, const char *phase)
{
    return str_eq(json_str_at(pod->root, "status.phase"), phase) && pod->meta.deleted == 0 &&
           (job == NULL || str_eq(stage_job_of(pod), job));
}

void stage_pods_become(struct sim *sim, const char *job, int n, const char *phase,
                       const char *status)
{
    struct cache *cache = sim_store(sim)->cache;
    scoped_free char *body = mem_printf("{'status':{%s}}", status);
    for (; n > 0; n--) {
        struct obj *pod = cache_first(cache, &KIND_POD, "default");
        while (pod != NULL && !is_next(pod, job, phase))
            pod = cache_after(cache, &KIND_POD, "default", pod);
        assert_non_null(pod);
        struct write *write = stage_write(WRITE_PATCH, &KIND_POD, "default", pod->meta.name, body);
        write->sub = SUB_STATUS;
        stage_do(sim, write);
    }
    stage_run(sim, 1000);
}

void stage_reap(struct sim *sim, int n)
{
    struct cache *cache = sim_store(sim)->cache;
    for (; n > 0; n--) {
        struct obj *pod = cache_first(cache, &KIND_POD, "default");
        while (pod != NULL && pod->meta.deleted == 0)
            pod = cache_after(cache, &KIND_POD, "default", pod);
        if (pod == NULL)
            break;
        struct write *write = stage_write(WRITE_DELETE, &KIND_POD, "default", pod->meta.name, NULL);
        write->grace_s = 0;
        stage_do(sim, write);
    }
    stage_run(sim, 1000);
}

void stage_expect(const struct obj *obj, const char *type, const char *want, int line)
{
    yyjson_val *condition = cell_condition(obj->root, type);
    scoped_str is = {0};
    if (condition == NULL)
        str_add(&is, "none");
    else
        str_addf(&is, "%s/%s", json_str_at(condition, "status"), json_str_at(condition, "reason"));
    if (!str_eq(str_text(&is), want))
        fail_msg("line %d: %s of %s is %s instead of %s", line, type, obj->meta.name, str_text(&is),
                 want);
}
