// SPDX-License-Identifier: Apache-2.0
#include "jobset_kit.h"

struct sim *kit_open(const struct controller *const *controllers)
{
    return stage_open(1, controllers, NULL);
}

void kit_create(struct sim *sim, const char *name, const char *spec)
{
    scoped_free char *body = mem_printf("{'metadata':{'name':'%s'},'spec':{%s}}", name, spec);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOBSET, "default", name, body));
    stage_run(sim, SECOND);
}

struct obj *kit_set(struct sim *sim)
{
    struct obj *set = cache_first(sim_store(sim)->cache, &KIND_JOBSET, "default");
    assert_non_null(set);
    return set;
}

void kit_describe(struct sim *sim, struct str *out)
{
    yyjson_val *status = yyjson_obj_get(kit_set(sim)->root, "status");
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(status, "replicatedJobsStatus"), i, n, item)
    {
        str_addf(out, "%s %d/%d/%d/%d/%d ", json_str_at(item, "name"),
                 (int)json_int_at(item, "ready", -1), (int)json_int_at(item, "succeeded", -1),
                 (int)json_int_at(item, "failed", -1), (int)json_int_at(item, "active", -1),
                 (int)json_int_at(item, "suspended", -1));
    }
    str_addf(out, "%d/%d", (int)json_int_at(status, "restarts", 0),
             (int)json_int_at(status, "restartsCountTowardsMax", 0));
    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), i, n, item)
    {
        if (str_eq(json_str_at(item, "status"), "True"))
            str_addf(out, " %s(%s)", json_str_at(item, "type"), json_str_at(item, "reason"));
    }
}

void kit_expect(struct sim *sim, const char *text, int line)
{
    scoped_str is = {0};
    kit_describe(sim, &is);
    if (strcmp(str_text(&is), text) != 0)
        fail_msg("line %d: \"%s\" instead of \"%s\"", line, str_text(&is), text);
}

void kit_patch_set(struct sim *sim, const char *patch)
{
    stage_do(sim,
             stage_write(WRITE_PATCH, &KIND_JOBSET, "default", kit_set(sim)->meta.name, patch));
    stage_run(sim, SECOND);
}

int kit_events(struct sim *sim, const char *reason)
{
    struct cache *cache = sim_store(sim)->cache;
    int count = 0;
    struct obj *event = cache_first(cache, &KIND_EVENT, NULL);
    for (; event != NULL; event = cache_after(cache, &KIND_EVENT, NULL, event)) {
        if (str_eq(json_str_at(event->root, "reason"), reason))
            count += (int)json_int_at(event->root, "count", 1);
    }
    return count;
}

bool kit_has_event(struct sim *sim, const char *reason, const char *message)
{
    struct cache *cache = sim_store(sim)->cache;
    struct obj *event = cache_first(cache, &KIND_EVENT, NULL);
    for (; event != NULL; event = cache_after(cache, &KIND_EVENT, NULL, event)) {
        if (str_eq(json_str_at(event->root, "reason"), reason) &&
            str_eq(json_str_at(event->root, "message"), message))
            return true;
    }
    return false;
}

const char *kit_label(const struct obj *obj, const char *name)
{
    scoped_free char *key = mem_printf(JOBSET_DOMAIN "%s", name);
    return yyjson_get_str(yyjson_obj_get(obj->meta.labels, key));
}

const char *kit_condition(struct sim *sim, const char *type, const char *field)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(kit_set(sim)->root, "status.conditions"), i, n, item)
    {
        if (str_eq(json_str_at(item, "type"), type))
            return json_str_at(item, field);
    }
    return NULL;
}

/* ---- Jobs ---- */

void kit_jobs(struct sim *sim, struct str *out)
{
    struct cache *cache = sim_store(sim)->cache;
    struct obj *job = cache_first(cache, &KIND_JOB, "default");
    for (; job != NULL; job = cache_after(cache, &KIND_JOB, "default", job)) {
        str_add(out, out->len > 0 ? " " : "");
        str_addf(out, "%s@%s%s", job->meta.name, kit_label(job, "restart-attempt"),
                 job->meta.deleted != 0 ? "-" : "");
    }
}

void kit_expect_jobs(struct sim *sim, const char *text, int line)
{
    scoped_str is = {0};
    kit_jobs(sim, &is);
    if (strcmp(str_text(&is), text) != 0)
        fail_msg("line %d: Jobs \"%s\" instead of \"%s\"", line, str_text(&is), text);
}

void kit_job_status(struct sim *sim, const char *name, const char *status)
{
    scoped_free char *body = mem_printf("{'status':{%s}}", status);
    struct write *write = stage_write(WRITE_PATCH, &KIND_JOB, "default", name, body);
    write->sub = SUB_STATUS;
    stage_do(sim, write);
    stage_run(sim, SECOND);
}

void kit_job_active(struct sim *sim, const char *name, int active, int ready)
{
    scoped_free char *status = mem_printf("'active':%d,'ready':%d", active, ready);
    kit_job_status(sim, name, status);
}

static void end_job(struct sim *sim, const char *name, const char *type, const char *why)
{
    scoped_str now = {0};
    rfc3339_format(sim_now(sim), &now);
    scoped_free char *status =
        mem_printf("'active':0,'ready':0,'conditions':[{'type':'%s','status':'True',"
                   "'lastTransitionTime':'%s'%s}]",
                   type, str_text(&now), why);
    kit_job_status(sim, name, status);
}

void kit_job_done(struct sim *sim, const char *name)
{
    end_job(sim, name, "Complete", "");
}

void kit_job_failed(struct sim *sim, const char *name, const char *reason, const char *message)
{
    scoped_free char *why = mem_printf(",'reason':'%s','message':'%s'", reason, message);
    end_job(sim, name, "Failed", why);
}

void kit_bury(struct sim *sim, const char *name_or_null)
{
    struct cache *cache = sim_store(sim)->cache;
    struct obj *job = cache_first(cache, &KIND_JOB, "default");
    while (job != NULL) {
        bool is_meant = name_or_null == NULL || strcmp(job->meta.name, name_or_null) == 0;
        if (job->meta.deleted == 0 || !is_meant) {
            job = cache_after(cache, &KIND_JOB, "default", job);
            continue;
        }
        stage_do(sim, stage_write(WRITE_PATCH, &KIND_JOB, "default", job->meta.name,
                                  "{'metadata':{'finalizers':null}}"));
        cache = sim_store(sim)->cache;
        job = cache_first(cache, &KIND_JOB, "default");
    }
    stage_run(sim, SECOND);
}
