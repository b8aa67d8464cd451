// SPDX-License-Identifier: Apache-2.0
#include "sim/script.h"
#include "base/mem.h"
#include "model/cell.h"
#include <stdlib.h>
#include <string.h>

#define PODS_SHOWN 8

/* ---- reading ---- */

static struct act *add(struct script *script, enum act_type type)
{
    struct act act = {.type = type, .order = script->acts.len, .grace_s = -1, .exit_code = 1};
    vec_push(&script->acts, act);
    return vec_last(&script->acts);
}

static const struct kind *kind_at(yyjson_val *obj)
{
    return kind_of_api(json_str_at(obj, "apiVersion"), json_str_at(obj, "kind"));
}

static const char *namespace_or_default(const struct kind *kind, const char *ns)
{
    return !kind->namespaced ? "" : ns != NULL && *ns != '\0' ? ns : "default";
}

static struct act *add_create(struct script *script, yyjson_val *body)
{
    struct act *act = add(script, ACT_CREATE);
    act->body = body;
    act->kind = kind_at(body);
    act->ns = namespace_or_default(act->kind, json_str_at(body, "metadata.namespace"));
    act->name = json_str_at(body, "metadata.name");
    return act;
}

static struct act *add_target(struct script *script, enum act_type type, yyjson_val *target)
{
    struct act *act = add(script, type);
    act->kind = kind_at(target);
    act->ns = namespace_or_default(act->kind, json_str_at(target, "namespace"));
    act->name = json_str_at(target, "name");
    act->body = yyjson_obj_get(target, "patch");
    act->grace_s = json_int_at(target, "gracePeriodSeconds", -1);
    act->is_status_next = type == ACT_PATCH && act->kind->has_status &&
                          yyjson_obj_get(act->body, "status") != NULL &&
                          yyjson_obj_size(act->body) == 1;
    return act;
}

static struct act *add_event(struct script *script, yyjson_val *event)
{
    yyjson_val *val;
    struct act *act;
    if ((val = yyjson_obj_get(event, "create")) != NULL)
        return add_create(script, val);
    if ((val = yyjson_obj_get(event, "patch")) != NULL)
        return add_target(script, ACT_PATCH, val);
    if ((val = yyjson_obj_get(event, "delete")) != NULL)
        return add_target(script, ACT_DELETE, val);
    if ((val = yyjson_obj_get(event, "node")) != NULL) {
        act = add(script, ACT_NODE);
        act->name = yyjson_get_str(val);
        (void)node_state_of(json_str_at(event, "state"), &act->state); /* checked before */
        return act;
    }
    if ((val = yyjson_obj_get(event, "pod")) != NULL) {
        act = add(script, ACT_POD);
        act->name = yyjson_get_str(val);
        act->container = json_str_at(event, "container");
        act->exit_code = (int)json_int_at(event, "exit", 1);
        return act;
    }
    return add(script, ACT_RESTART);
}

static int compare(const void *a_, const void *b_)
{
    const struct act *a = a_, *b = b_;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

bool script_is_machine(yyjson_val *document)
{
    return kind_at(document) == &KIND_NODE;
}

void script_read(struct script *script, const struct rehearsal_options *options)
{
    size_t i, n;
    yyjson_val *item;
    for (i = 0; i < options->n_documents; i++) {
        if (!script_is_machine(options->documents[i]))
            add_create(script, options->documents[i])->place =
                (struct rehearsal_place){PLACE_DOCUMENT, i};
    }
    yyjson_arr_foreach(yyjson_obj_get(options->spec, "objects"), i, n, item)
    {
        add_create(script, item)->place = (struct rehearsal_place){PLACE_OBJECT, i};
    }
    yyjson_arr_foreach(yyjson_obj_get(options->spec, "events"), i, n, item)
    {
        struct act *act = add_event(script, item);
        act->place = (struct rehearsal_place){PLACE_EVENT, i};
        (void)duration_parse(sv_of(json_str_at(item, "at")), &act->at, NULL); /* checked before */
    }
    if (script->acts.len > 1)
        qsort(script->acts.items, script->acts.len, sizeof(struct act), compare);
}

void script_done(struct script *script)
{
    vec_done(&script->acts);
}

/* ---- writing ---- */

bool script_writes(const struct act *act)
{
    return act->type == ACT_CREATE || act->type == ACT_PATCH || act->type == ACT_DELETE;
}

struct write *script_write(const struct act *act)
{
    static const enum write_op OPS[] = {
        [ACT_CREATE] = WRITE_CREATE, [ACT_PATCH] = WRITE_PATCH, [ACT_DELETE] = WRITE_DELETE};
    const struct kind *stored = kind_stored(act->kind);
    struct write *write = write_new(OPS[act->type], stored, act->ns, act->name);
    write->grace_s = act->grace_s;
    write->validation = VALIDATE_STRICT;
    if (act->type == ACT_PATCH) {
        scoped_json_mut *copy = yyjson_mut_doc_new(NULL);
        yyjson_mut_doc_set_root(copy, yyjson_val_mut_copy(copy, act->body));
        write->patch_type = PATCH_MERGE;
        write->patch = yyjson_mut_doc_imut_copy(copy, NULL);
        write->sub = act->is_status_next ? SUB_STATUS : SUB_NONE;
        write->as = stored != act->kind ? act->kind : NULL;
    } else if (act->type == ACT_CREATE) {
        write->doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *root = yyjson_val_mut_copy(write->doc, act->body);
        yyjson_mut_doc_set_root(write->doc, root);
        if (act->kind->namespaced)
            json_mut_set(write->doc, root, "metadata.namespace",
                         yyjson_mut_strcpy(write->doc, act->ns));
        (void)kind_to_stored(act->kind, write->doc);
    }
    return write;
}

bool script_has_more(struct act *act)
{
    if (act->type != ACT_PATCH || act->is_status_next || !act->kind->has_status ||
        yyjson_obj_get(act->body, "status") == NULL)
        return false;
    act->is_status_next = true;
    return true;
}

/* ---- which pod ---- */

static bool has_ended(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

/* "a-0" is the beginning of "a-0-x7k2p". */
static bool begins(const char *name, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(name, prefix, len) == 0 && name[len] == '-';
}

/* Of several the first that still runs; those that have ended are of no use. */
static const struct obj *find_beginning(const struct cache *cache, const char *ns,
                                        const char *prefix)
{
    const struct obj *pod = cache_behind(cache, &KIND_POD, ns, ns, prefix);
    for (; pod != NULL && str_starts(pod->meta.name, prefix);
         pod = cache_after(cache, &KIND_POD, ns, pod)) {
        if (begins(pod->meta.name, prefix) && !has_ended(pod))
            return pod;
    }
    return NULL;
}

/* "a-1" is the second of Job a's pods where they have no index of their own: the second oldest that
 * runs. Names are made up, so it is their time, then their name. */
static const struct obj *find_numbered(const struct cache *cache, const char *ns, const char *name)
{
    const char *dash = strrchr(name, '-');
    char *end = NULL;
    unsigned long number = dash != NULL ? strtoul(dash + 1, &end, 10) : 0;
    if (dash == NULL || end == dash + 1 || *end != '\0')
        return NULL;
    scoped_free char *owner = mem_strndup(name, (size_t)(dash - name));
    const struct obj *job = cache_get(cache, &KIND_JOB, ns, owner);
    if (job == NULL)
        return NULL;
    VEC(const struct obj *) pods = {0};
    const struct obj *pod = cache_owned_first(cache, job->meta.uid);
    for (; pod != NULL; pod = cache_owned_next(cache, job->meta.uid, pod)) {
        if (pod->kind != &KIND_POD || has_ended(pod))
            continue;
        size_t at = pods.len;
        vec_push(&pods, pod);
        for (; at > 0 && (pods.items[at - 1]->meta.created > pod->meta.created ||
                          (pods.items[at - 1]->meta.created == pod->meta.created &&
                           strcmp(pods.items[at - 1]->meta.name, pod->meta.name) > 0));
             at--)
            pods.items[at] = pods.items[at - 1];
        pods.items[at] = pod;
    }
    const struct obj *found = number < pods.len ? pods.items[number] : NULL;
    vec_done(&pods);
    return found;
}

static const struct obj *find_pod(const struct cache *cache, const char *ns, const char *name)
{
    const struct obj *pod = cache_get(cache, &KIND_POD, ns, name);
    if (pod == NULL)
        pod = find_beginning(cache, ns, name);
    return pod != NULL ? pod : find_numbered(cache, ns, name);
}

static void list_pods(const struct cache *cache, const char *ns, struct str *out)
{
    size_t shown = 0, more = 0;
    const struct obj *pod = cache_first(cache, &KIND_POD, ns);
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, ns, pod)) {
        if (has_ended(pod))
            continue;
        if (shown++ < PODS_SHOWN)
            str_addf(out, "%s%s", shown > 1 ? ", " : "there are: ", pod->meta.name);
        else
            more++;
    }
    if (more > 0)
        str_addf(out, " and %zu more", more);
    if (shown == 0)
        str_addf(out, "no pod runs in namespace %s at this time", ns);
}

const struct obj *script_pod(const struct act *act, const struct cache *cache, struct str *hint)
{
    struct sv rest = sv_of(act->name);
    struct sv space = sv_cut(&rest, '/');
    scoped_free char *ns = mem_strndup(space.ptr, space.len);
    const struct obj *pod = find_pod(cache, ns, rest.ptr);
    /* The names of Workloads begin with what their owner is. */
    if (pod == NULL && str_starts(rest.ptr, "job-"))
        pod = find_pod(cache, ns, rest.ptr + strlen("job-"));
    if (pod == NULL && str_starts(rest.ptr, "jobset-"))
        pod = find_pod(cache, ns, rest.ptr + strlen("jobset-"));
    if (pod == NULL)
        list_pods(cache, ns, hint);
    return pod;
}
