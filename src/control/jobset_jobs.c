// SPDX-License-Identifier: Apache-2.0
/* The Jobs of a JobSet. Their names follow from the JobSet's name, the replicated job and the
 * index: a controller that is restarted in the middle asks for the same Jobs again, and the store
 * refuses the second of each. */
#include "base/mem.h"
#include "base/sha1.h"
#include "control/jobset_internal.h"
#include "model/jobset.h"
#include <inttypes.h>
#include <stdio.h>

#define FOREIGN_PAUSE_MS 10000 /* until a name that somebody else has is tried again */

/* ---- labels ---- */

enum { JOB_LABELS, JOB_NOTES, POD_LABELS, POD_NOTES, TAG_PLACES };

struct tags { /* labels and annotations of a Job and of its pods: the same on all */
    yyjson_mut_doc *doc;
    yyjson_mut_val *to[TAG_PLACES];
};

static void tag(struct tags *tags, const char *name, const char *value)
{
    scoped_free char *key = mem_printf(JOBSET_DOMAIN "%s", name);
    for (size_t i = 0; i < ARRAY_LEN(tags->to); i++)
        json_mut_put(tags->doc, tags->to[i], key, yyjson_mut_strcpy(tags->doc, value));
}

static void tag_number(struct tags *tags, const char *name, int64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    tag(tags, name, text);
}

static void tag_key(struct tags *tags, const struct obj *set, const char *job)
{
    char key[SHA1_HEX];
    scoped_free char *path = mem_printf("%s/%s", obj_namespace(set), job);
    sha1_hex(path, strlen(path), key);
    tag(tags, "job-key", key);
}

static const char *subdomain_of(const struct set_look *look)
{
    const char *given = json_str_at(look->spec, "network.subdomain");
    return given != NULL && *given != '\0' ? given : look->set->meta.name;
}

static void tag_coordinator(struct tags *tags, const struct set_look *look)
{
    yyjson_val *chief = yyjson_obj_get(look->spec, "coordinator");
    if (chief == NULL)
        return;
    scoped_free char *address =
        mem_printf("%s-%s-%" PRId64 "-%" PRId64 ".%s", look->set->meta.name,
                   json_str_at(chief, "replicatedJob"), json_int_at(chief, "jobIndex", 0),
                   json_int_at(chief, "podIndex", 0), subdomain_of(look));
    tag(tags, "coordinator", address);
}

static void tag_counts(struct tags *tags, const struct set_state *state, size_t role, int64_t index)
{
    const struct role *own = &state->roles.items[role];
    int64_t all = 0, before = 0, of_group = 0, before_in_group = 0;
    for (size_t i = 0; i < state->roles.len; i++) {
        const struct role *other = &state->roles.items[i];
        bool is_near = str_eq(other->group, own->group);
        all += other->replicas;
        of_group += is_near ? other->replicas : 0;
        before += i < role ? other->replicas : 0;
        before_in_group += i < role && is_near ? other->replicas : 0;
    }
    tag_number(tags, "replicatedjob-replicas", own->replicas);
    tag_number(tags, "global-replicas", all);
    tag_number(tags, "job-index", index);
    tag_number(tags, "job-global-index", before + index);
    tag(tags, "group-name", own->group != NULL ? own->group : "default");
    tag_number(tags, "group-replicas", of_group);
    tag_number(tags, "job-group-index", before_in_group + index);
}

static yyjson_val *template_of(const struct set_look *look, size_t role)
{
    yyjson_val *jobs = yyjson_obj_get(look->spec, "replicatedJobs");
    return yyjson_obj_get(yyjson_arr_get(jobs, role), "template");
}

/* Said of the pods, of the Job, or of all Jobs: the nearest counts. */
static const char *nearest_note(const struct set_look *look, size_t role, const char *name)
{
    yyjson_val *template = template_of(look, role);
    yyjson_val *const NOTES[] = {json_at(template, "spec.template.metadata.annotations"),
                                 json_at(template, "metadata.annotations"),
                                 look->set->meta.annotations};
    const char *note = NULL;
    for (size_t i = 0; i < ARRAY_LEN(NOTES) && note == NULL; i++)
        note = yyjson_get_str(yyjson_obj_get(NOTES[i], name));
    return note;
}

static void tag_placement(struct tags *tags, const struct set_look *look, size_t role)
{
    static const char *const NAMES[] = {JOBSET_NOTE_EXCLUSIVE, JOBSET_NOTE_BY_LABEL};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        const char *note = nearest_note(look, role, NAMES[i]);
        if (note == NULL)
            continue;
        json_mut_put(tags->doc, tags->to[JOB_NOTES], NAMES[i], yyjson_mut_strcpy(tags->doc, note));
        json_mut_put(tags->doc, tags->to[POD_NOTES], NAMES[i], yyjson_mut_strcpy(tags->doc, note));
    }
}

/* Of the pods alone, and of those that have one. A label cannot begin with a minus sign. */
static void tag_priority(struct tags *tags, yyjson_mut_val *root)
{
    int64_t priority = json_mut_int_at(root, "spec.template.spec.priority", -1);
    char text[24];
    if (priority < 0)
        return;
    (void)snprintf(text, sizeof(text), "%" PRId64, priority);
    json_mut_put(tags->doc, tags->to[POD_LABELS], JOBSET_DOMAIN "priority",
                 yyjson_mut_strcpy(tags->doc, text));
}

static void add_tags(const struct set_look *look, yyjson_mut_doc *doc, const char *name,
                     size_t role, int64_t index)
{
    const struct role *own = &look->state->roles.items[role];
    size_t at = (size_t)index;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    struct tags tags = {
        doc,
        {[JOB_LABELS] = json_mut_need_obj(doc, root, "metadata.labels"),
         [JOB_NOTES] = json_mut_need_obj(doc, root, "metadata.annotations"),
         [POD_LABELS] = json_mut_need_obj(doc, root, "spec.template.metadata.labels"),
         [POD_NOTES] = json_mut_need_obj(doc, root, "spec.template.metadata.annotations")}};
    tag(&tags, "jobset-name", look->set->meta.name);
    tag(&tags, "jobset-uid", look->set->meta.uid);
    tag(&tags, "replicatedjob-name", own->name);
    tag_number(&tags, "restart-attempt", look->state->attempt);
    tag_number(&tags, "job-restart-attempt", at < own->restarts.len ? own->restarts.items[at] : 0);
    tag_key(&tags, look->set, name);
    tag_counts(&tags, look->state, role, index);
    tag_coordinator(&tags, look);
    tag_placement(&tags, look, role);
    tag_priority(&tags, root);
}

/* Somebody has given labels and taints to the nodes of each Job. */
static void add_node_label(const struct set_look *look, yyjson_mut_doc *doc, size_t role,
                           const char *name)
{
    const char *topology = nearest_note(look, role, JOBSET_NOTE_EXCLUSIVE);
    if (topology == NULL || *topology == '\0' ||
        nearest_note(look, role, JOBSET_NOTE_BY_LABEL) == NULL)
        return;
    scoped_free char *job = mem_printf("%s_%s", obj_namespace(look->set), name);
    yyjson_mut_val *pod = json_mut_at(yyjson_mut_doc_get_root(doc), "spec.template.spec");
    yyjson_mut_val *list = yyjson_mut_obj_get(pod, "tolerations");
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(doc);
        json_mut_put(doc, pod, "tolerations", list);
    }
    json_mut_put(doc, json_mut_need_obj(doc, pod, "nodeSelector"), JOBSET_NODE_LABEL,
                 yyjson_mut_strcpy(doc, job));
    yyjson_mut_val *toleration = yyjson_mut_arr_add_obj(doc, list);
    yyjson_mut_obj_add_str(doc, toleration, "key", JOBSET_NODE_TAINT);
    yyjson_mut_obj_add_str(doc, toleration, "operator", "Exists");
    yyjson_mut_obj_add_str(doc, toleration, "effect", "NoSchedule");
}

/* ---- making ---- */

static yyjson_mut_doc *job_of_template(const struct set_look *look, size_t role)
{
    static const char *const META[] = {"labels", "annotations"};
    yyjson_val *template = template_of(look, role);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *meta = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    json_mut_put(doc, root, "metadata", meta);
    for (size_t i = 0; i < ARRAY_LEN(META); i++) {
        yyjson_val *part = yyjson_obj_get(yyjson_obj_get(template, "metadata"), META[i]);
        if (part != NULL)
            json_mut_put(doc, meta, META[i], yyjson_val_mut_copy(doc, part));
    }
    json_mut_put(doc, root, "spec", yyjson_val_mut_copy(doc, yyjson_obj_get(template, "spec")));
    obj_add_owner(doc, root, look->set, true);
    return doc;
}

static void create_job(struct set_look *look, size_t role, int64_t index, const char *name)
{
    struct write *write = write_new(WRITE_CREATE, &KIND_JOB, obj_namespace(look->set), name);
    yyjson_mut_doc *doc = write->doc = job_of_template(look, role);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    json_mut_set(doc, root, "metadata.name", yyjson_mut_strcpy(doc, name));
    add_tags(look, doc, name, role, index);
    add_node_label(look, doc, role, name);
    if (look->is_suspended)
        json_mut_set(doc, root, "spec.suspend", yyjson_mut_true(doc));
    yyjson_val *dns = json_at(look->spec, "network.enableDNSHostnames");
    if (dns == NULL || yyjson_get_bool(dns)) /* whatever the template says: all have one domain */
        json_mut_set(doc, root, "spec.template.spec.subdomain",
                     yyjson_mut_strcpy(doc, subdomain_of(look)));
    control_write_about(look->control, write, look->set, "JobCreationFailed");
}

/* False: somebody else has the name. */
static bool create_if_free(struct set_look *look, size_t role, int64_t index)
{
    const struct role *own = &look->state->roles.items[role];
    scoped_free char *name = mem_printf("%s-%s-%" PRId64, look->set->meta.name, own->name, index);
    if (cache_get(control_world(look->control)->cache, &KIND_JOB, obj_namespace(look->set), name) ==
        NULL) {
        create_job(look, role, index, name);
        return true;
    }
    control_event(look->control, look->set, "Warning", "JobCreationFailed",
                  "Job %s is there already, and belongs to somebody else", name);
    control_add_after(look->control, look->set->meta.uid, FOREIGN_PAUSE_MS);
    return false;
}

static bool waits_for_predecessors(const struct set_look *look)
{
    const struct set_state *state = look->state;
    return str_eq(json_str_at(look->spec, "failurePolicy.restartStrategy"), "BlockingRecreate") &&
           (!TAILQ_EMPTY(&state->lists[SET_OLD]) || !TAILQ_EMPTY(&state->lists[SET_LEAVING]));
}

void look_create_jobs(struct set_look *look)
{
    size_t made = 0;
    if (waits_for_predecessors(look))
        return;
    for (size_t i = 0; i < look->state->roles.len; i++) {
        const struct role *role = &look->state->roles.items[i];
        int64_t index = indexes_next(&role->free, 0);
        if (index < 0 || !look_may_start(look, i))
            continue;
        for (; index >= 0 && made < JOBSET_BATCH; index = indexes_next(&role->free, index + 1))
            made += create_if_free(look, i, index);
    }
}

/* ---- removing ---- */

void look_remove_jobs(struct set_look *look, enum set_class class)
{
    struct set_job *job;
    size_t count = 0;
    TAILQ_FOREACH(job, &look->state->lists[class], siblings)
    {
        if (count++ == JOBSET_BATCH)
            return;
        struct write *write =
            write_new(WRITE_DELETE, &KIND_JOB, obj_namespace(look->set), job->name);
        write->if_uid = mem_strdup(job->uid);
        write->propagation = PROPAGATE_FOREGROUND;
        control_write(look->control, write);
    }
}

/* ---- changing ---- */

static void patch_job(struct set_look *look, const struct set_job *job, yyjson_mut_doc *patch)
{
    struct write *write = write_new(WRITE_PATCH, &KIND_JOB, obj_namespace(look->set), job->name);
    write->patch = yyjson_mut_doc_imut_copy(patch, NULL);
    write->patch_type = PATCH_MERGE;
    write->if_uid = mem_strdup(job->uid);
    yyjson_mut_doc_free(patch);
    control_write_about(look->control, write, look->set, "JobUpdateFailed");
}

static yyjson_mut_doc *new_patch(void)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
    return doc;
}

void look_resize_jobs(struct set_look *look)
{
    struct set_job *job;
    size_t count = 0;
    TAILQ_FOREACH(job, &look->state->lists[SET_LIVE], siblings)
    {
        if (!job->has_other_size || count++ >= JOBSET_BATCH)
            continue;
        int64_t members = look->state->roles.items[job->role].members;
        yyjson_mut_doc *doc = new_patch();
        yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
        json_mut_set(doc, root, "spec.parallelism", yyjson_mut_sint(doc, members));
        json_mut_set(doc, root, "spec.completions", yyjson_mut_sint(doc, members));
        patch_job(look, job, doc);
    }
}

/* What a merge patch needs to make the one of the other, where it has something else. */
static yyjson_mut_val *merge_into(yyjson_mut_doc *doc, yyjson_val *wanted, yyjson_val *is)
{
    if (wanted == NULL && !yyjson_is_obj(is))
        return yyjson_mut_null(doc);
    yyjson_mut_val *patch = wanted != NULL ? yyjson_val_mut_copy(doc, wanted) : yyjson_mut_obj(doc);
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(yyjson_mut_is_obj(patch) ? is : NULL, i, n, key, value)
    {
        const char *name = yyjson_get_str(key);
        (void)value;
        if (yyjson_obj_get(wanted, name) == NULL)
            json_mut_put(doc, patch, name, yyjson_mut_null(doc));
    }
    return patch;
}

/* Where pods may run can have changed while there were none. Labels and annotations are only added:
 * Jobs have more of them than the JobSet says. */
static void add_placement(const struct set_look *look, yyjson_mut_doc *doc,
                          const struct set_job *job)
{
    static const char *const TAGS[] = {"metadata.labels", "metadata.annotations"};
    static const char *const PLACES[] = {"spec.nodeSelector", "spec.tolerations",
                                         "spec.schedulingGates"};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    yyjson_val *wanted = json_at(template_of(look, job->role), "spec.template");
    const struct obj *known = cache_by_uid(control_world(look->control)->cache, job->uid);
    yyjson_val *is = known != NULL ? json_at(known->root, "spec.template") : NULL;
    for (size_t i = 0; i < ARRAY_LEN(TAGS); i++) {
        yyjson_val *part = json_at(wanted, TAGS[i]);
        scoped_free char *path = mem_printf("spec.template.%s", TAGS[i]);
        if (part != NULL)
            json_mut_set(doc, root, path, yyjson_val_mut_copy(doc, part));
    }
    for (size_t i = 0; i < ARRAY_LEN(PLACES); i++) {
        yyjson_val *part = json_at(wanted, PLACES[i]), *had = json_at(is, PLACES[i]);
        scoped_free char *path = mem_printf("spec.template.%s", PLACES[i]);
        if (part != NULL || had != NULL)
            json_mut_set(doc, root, path, merge_into(doc, part, had));
    }
    add_node_label(look, doc, job->role, job->name);
}

/* A Job of a group goes on only after its controller has seen that it should not: until it says so,
 * it may be about to remove pods that the group would take for its members. */
static bool may_change(const struct set_look *look, const struct set_job *job)
{
    if (job->is_suspended == look->is_suspended)
        return false;
    return look->is_suspended ||
           (look_may_start(look, job->role) && (look->state->group == NULL || job->is_paused));
}

void look_suspend_jobs(struct set_look *look)
{
    size_t count = 0, differ = 0;
    for (size_t i = 0; i < look->state->roles.len; i++) {
        const struct role *role = &look->state->roles.items[i];
        differ += look->is_suspended ? role->count[SET_LIVE] - role->suspended : role->suspended;
    }
    struct set_job *job;
    if (differ == 0)
        return;
    TAILQ_FOREACH(job, &look->state->lists[SET_LIVE], siblings)
    {
        if (count == JOBSET_BATCH || !may_change(look, job))
            continue;
        yyjson_mut_doc *doc = new_patch();
        json_mut_set(doc, yyjson_mut_doc_get_root(doc), "spec.suspend",
                     yyjson_mut_bool(doc, look->is_suspended));
        if (!look->is_suspended)
            add_placement(look, doc, job);
        patch_job(look, job, doc);
        count++;
    }
}
