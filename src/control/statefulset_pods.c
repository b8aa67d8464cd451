// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "control/statefulset_internal.h"
#include "model/selector.h"
#include <inttypes.h>
#include <stdio.h>

static struct obj *pod_of(const struct set_look *look, const char *name)
{
    return cache_get(control_world(look->control)->cache, &KIND_POD, obj_namespace(look->set),
                     name);
}

static char *name_of(const struct set_look *look, int64_t ordinal)
{
    return mem_printf("%s-%" PRId64, look->set->meta.name, ordinal);
}

/* ---- a name that is taken ---- */

void look_adopt(struct set_look *look, const struct obj *obj)
{
    struct write *write =
        write_new(WRITE_UPDATE, obj->kind, obj_namespace(look->set), obj->meta.name);
    write->doc = obj_edit(obj);
    obj_add_owner(write->doc, yyjson_mut_doc_get_root(write->doc), look->set, true);
    control_write(look->control, write);
}

static bool is_like_ours(const struct set_look *look, const struct obj *pod)
{
    struct label_selector *selector = NULL;
    if (label_selector_of(yyjson_obj_get(look->spec, "selector"), &selector, NULL) < 0)
        return false;
    bool matches = label_selector_matches(selector, pod->meta.labels);
    label_selector_free(selector);
    return matches;
}

static void take_or_tell(struct set_look *look, const struct obj *pod)
{
    if (pod->meta.deleted != 0)
        return; /* when it is gone, its name is free */
    if (obj_controller(pod) == NULL && is_like_ours(look, pod))
        look_adopt(look, pod);
    else
        control_event(look->control, look->set, "Warning", "FailedCreate",
                      "pod %s exists and belongs to somebody else: delete or rename it",
                      pod->meta.name);
}

/* ---- creating ---- */

static void put_labels(yyjson_mut_doc *doc, yyjson_mut_val *meta, const char *name,
                       const char *revision)
{
    yyjson_mut_val *labels = json_mut_need_obj(doc, meta, "labels");
    json_mut_put(doc, labels, SET_NAME_LABEL, yyjson_mut_strcpy(doc, name));
    json_mut_put(doc, labels, SET_INDEX_LABEL, yyjson_mut_strcpy(doc, strrchr(name, '-') + 1));
    json_mut_put(doc, labels, SET_REVISION_LABEL, yyjson_mut_strcpy(doc, revision));
}

/* No subdomain, whatever serviceName says: there is no name service here, and a node refuses what
 * it cannot do. */
static void put_host(yyjson_mut_doc *doc, yyjson_mut_val *spec, const char *name)
{
    if (format_problem(FMT_DNS_LABEL, name, strlen(name)) == NULL)
        json_mut_put(doc, spec, "hostname", yyjson_mut_strcpy(doc, name));
}

static yyjson_mut_doc *pod_doc(struct set_look *look, int64_t ordinal, const char *name)
{
    static const char *const META[] = {"labels", "annotations", "finalizers"};
    const char *revision = NULL;
    yyjson_val *template = look_template(look, ordinal, &revision);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_val *meta = yyjson_mut_obj_add_obj(doc, root, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(META); i++) {
        yyjson_val *part = yyjson_obj_get(yyjson_obj_get(template, "metadata"), META[i]);
        if (part != NULL)
            json_mut_put(doc, meta, META[i], yyjson_val_mut_copy(doc, part));
    }
    yyjson_mut_obj_add_strcpy(doc, meta, "name", name);
    put_labels(doc, meta, name, revision);
    obj_add_owner(doc, root, look->set, true);
    yyjson_mut_val *spec = yyjson_val_mut_copy(doc, yyjson_obj_get(template, "spec"));
    json_mut_put(doc, root, "spec", spec);
    put_host(doc, spec, name);
    return doc;
}

void look_create_pod(struct set_look *look, int64_t ordinal)
{
    scoped_free char *name = name_of(look, ordinal);
    const struct obj *taken = pod_of(look, name);
    if (taken != NULL) {
        take_or_tell(look, taken);
        return;
    }
    struct write *write = write_new(WRITE_CREATE, &KIND_POD, obj_namespace(look->set), name);
    write->doc = pod_doc(look, ordinal, name);
    vec_push(&look->state->created, take_ptr(name));
    control_write_about(look->control, write, look->set, "FailedCreate");
}

void look_delete_pod(struct set_look *look, int64_t ordinal)
{
    scoped_free char *name = name_of(look, ordinal);
    const struct obj *pod = pod_of(look, name);
    if (pod == NULL || pod->meta.deleted != 0 || !str_eq(set_owner_uid(pod), look->set->meta.uid))
        return;
    struct write *write = write_new(WRITE_DELETE, &KIND_POD, obj_namespace(look->set), name);
    write->if_uid = mem_strdup(pod->meta.uid);
    write->propagation = PROPAGATE_BACKGROUND;
    vec_push(&look->state->deleted, take_ptr(name));
    control_write(look->control, write);
}

/* ---- telling ---- */

/* Events are told when what they say is seen. */
void look_tell_changes(struct set_look *look)
{
    struct set_state *state = look->state;
    const char *set = look->set->meta.name;
    for (size_t i = 0; i < state->created.len; i++) {
        char *name = state->created.items[i];
        if (pod_of(look, name) != NULL)
            control_event(look->control, look->set, "Normal", "SuccessfulCreate",
                          "create Pod %s in StatefulSet %s successful", name, set);
        mem_free(name);
    }
    for (size_t i = 0; i < state->deleted.len; i++) {
        char *name = state->deleted.items[i];
        const struct obj *pod = pod_of(look, name);
        if (pod == NULL || pod->meta.deleted != 0)
            control_event(look->control, look->set, "Normal", "SuccessfulDelete",
                          "delete Pod %s in StatefulSet %s successful", name, set);
        mem_free(name);
    }
    vec_clear(&state->created);
    vec_clear(&state->deleted);
}
