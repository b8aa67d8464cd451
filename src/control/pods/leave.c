// SPDX-License-Identifier: Apache-2.0
/* A node that is told to end takes its pods with it, which is no failure of the groups they are of.
 * So it does what everybody does who takes members away by intent: it deprecates their epoch,
 * uncharged, and touches a pod only when that is stored (docs/decisions/0013). Its next life finds
 * the groups at the barrier of the epoch that comes then, and nobody has to ask for it.
 *
 *   key "@leave": writes what is missing; ends the pods when nothing is
 *   key "@late":  ends them whatever was written: a disk that hangs must not keep them alive */
#include "control/pods/leave.h"
#include "control/pods/gang.h"
#include "model/cell.h"
#include "model/jobset.h"

#define LATE_MS 3000

static bool note_group(void *arg, const char *key, void *value)
{
    struct runner *runner = arg;
    const struct rpod *pod = value;
    (void)key;
    const char *uid = yyjson_get_str(yyjson_obj_get(pod->obj->meta.labels, JOBSET_LABEL_UID));
    const struct obj *jobset = uid != NULL ? gang_jobset(runner, uid) : NULL;
    if (jobset != NULL && !pod->is_over && gang_is_running(jobset))
        (void)map_put(runner->leaving, uid, runner);
    return true;
}

bool leave_begin(struct runner *runner)
{
    if (runner->control == NULL || runner->is_cut_off)
        return false;
    (void)map_each(runner->pods, note_group, runner);
    if (map_count(runner->leaving) == 0)
        return false;
    control_add(runner->control, KEY_LEAVE);
    control_add_after(runner->control, KEY_LATE, LATE_MS);
    control_wake(runner->control);
    return true;
}

static yyjson_mut_val *condition_of(struct runner *runner, const struct obj *jobset,
                                    yyjson_mut_doc *doc)
{
    yyjson_mut_val *condition = yyjson_mut_obj(doc);
    scoped_str message = {0}, now = {0};
    rfc3339_format(control_now(runner->control), &now);
    str_addf(&message, "a restart in place that does not count: node %s ends, and its pods with it",
             runner->options.node);
    json_mut_put(doc, condition, "type", yyjson_mut_str(doc, "RestartingJobSet"));
    json_mut_put(doc, condition, "status", yyjson_mut_str(doc, "True"));
    json_mut_put(doc, condition, "reason", yyjson_mut_str(doc, "NodeShutdown"));
    json_mut_put(doc, condition, "message", yyjson_mut_strcpy(doc, str_text(&message)));
    if (cell_condition_as(jobset->root, "RestartingJobSet", "True") == NULL)
        json_mut_put(doc, condition, "lastTransitionTime", yyjson_mut_strcpy(doc, str_text(&now)));
    return condition;
}

static void put_count(yyjson_mut_doc *doc, yyjson_mut_val *status, const char *field, int64_t count)
{
    json_mut_put(doc, status, field, yyjson_mut_sint(doc, count));
}

static void deprecate(struct runner *runner, const struct obj *jobset)
{
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *status = yyjson_mut_obj(doc);
    yyjson_mut_val *conditions = yyjson_mut_arr(doc);
    int64_t epoch = json_int_at(jobset->root, "status.syncedEpoch", 0);
    yyjson_mut_doc_set_root(doc, root);
    put_count(doc, status, "deprecatedEpoch", epoch);
    put_count(doc, status, "previousInPlaceRestartAttempt", epoch - 1);
    put_count(doc, status, "inPlaceRestarts",
              json_int_at(jobset->root, "status.inPlaceRestarts", 0) + 1);
    (void)yyjson_mut_arr_append(conditions, condition_of(runner, jobset, doc));
    json_mut_put(doc, status, "conditions", conditions);
    json_mut_put(doc, root, "status", status);
    struct write *write =
        write_new(WRITE_PATCH, &KIND_JOBSET, obj_namespace(jobset), jobset->meta.name);
    write->sub = SUB_STATUS;
    write->patch_type = PATCH_STRATEGIC;
    write->patch = yyjson_mut_doc_imut_copy(doc, NULL);
    write->if_uid = mem_strdup(jobset->meta.uid);
    write->if_version = mem_strdup(jobset->meta.resource_version);
    control_write(runner->control, write);
}

struct look {
    struct runner *runner;
    size_t running;
};

static bool look_at_group(void *arg, const char *uid, void *value)
{
    struct look *look = arg;
    (void)value;
    const struct obj *jobset = gang_jobset(look->runner, uid);
    if (jobset == NULL || !gang_is_running(jobset))
        return true;
    look->running++;
    deprecate(look->runner, jobset);
    return true;
}

/* It is called again when the writes are known: what is still running then was written by somebody
 * else at the same time. */
void leave_reconcile(struct runner *runner)
{
    struct look look = {.runner = runner};
    if (runner->is_shutdown || !runner->is_leaving)
        return;
    (void)map_each(runner->leaving, look_at_group, &look);
    if (look.running == 0)
        runner_end_pods(runner);
}
