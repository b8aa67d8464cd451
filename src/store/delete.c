// SPDX-License-Identifier: Apache-2.0
/* Deletion: at once when nothing stands in the way; otherwise the object is marked with the time
 * of its deletion, and goes when the last finalizer is taken off (see write_may_go). */
#include "store/write_internal.h"
#include <stdio.h>
#include <string.h>

static bool preconditions_hold(struct write *write, const struct obj *old, struct status *status)
{
    char why[256];
    if (write->if_uid != NULL && strcmp(write->if_uid, old->meta.uid) != 0)
        (void)snprintf(why, sizeof(why),
                       "Precondition failed: UID in precondition: %s, UID in object meta: %s",
                       write->if_uid, old->meta.uid);
    else if (write->if_version != NULL &&
             strcmp(write->if_version, old->meta.resource_version) != 0)
        (void)snprintf(why, sizeof(why),
                       "Precondition failed: ResourceVersion in precondition: %s, ResourceVersion "
                       "in object meta: %s",
                       write->if_version, old->meta.resource_version);
    else
        return true;
    status_conflict(status, write->kind, write->name, why);
    return false;
}

/* The way in which dependents are treated is kept on the object as one of two finalizers. */
static void mark_propagation(yyjson_mut_doc *doc, yyjson_mut_val *root, enum propagation how)
{
    if (how == PROPAGATE_DEFAULT)
        return;
    yyjson_mut_val *list = json_mut_need_arr(doc, root, "metadata.finalizers");
    obj_drop_finalizer(root, FINALIZER_ORPHAN);
    obj_drop_finalizer(root, FINALIZER_FOREGROUND);
    if (how == PROPAGATE_ORPHAN)
        yyjson_mut_arr_add_str(doc, list, FINALIZER_ORPHAN);
    if (how == PROPAGATE_FOREGROUND)
        yyjson_mut_arr_add_str(doc, list, FINALIZER_FOREGROUND);
    if (yyjson_mut_arr_size(list) == 0)
        json_mut_put(doc, yyjson_mut_obj_get(root, "metadata"), "finalizers", NULL);
}

/* Only a pod that a node runs is given time: whoever runs it confirms with a grace of zero. */
static int64_t grace_of(const struct write *write, const struct obj *old)
{
    if (write->kind != &KIND_POD)
        return 0;
    const char *node = json_str_at(old->root, "spec.nodeName");
    const char *phase = json_str_at(old->root, "status.phase");
    if (node == NULL || *node == '\0')
        return 0;
    if (phase != NULL && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0))
        return 0;
    int64_t own = json_int_at(old->root, "spec.terminationGracePeriodSeconds", 30);
    int64_t grace = write->grace_s >= 0 ? write->grace_s : own;
    /* A second deletion may shorten the time that is left, never lengthen it. */
    if (old->meta.deleted != 0 && grace > old->meta.deletion_grace_s)
        grace = old->meta.deletion_grace_s;
    return grace;
}

static void mark_deleted(const struct write_env *env, yyjson_mut_doc *doc, yyjson_mut_val *root,
                         int64_t grace)
{
    const struct obj *old = env->old;
    if (old->meta.deleted == 0 || grace < old->meta.deletion_grace_s) {
        scoped_str at = {0};
        rfc3339_format(env->now + grace * 1000, &at);
        json_mut_set(doc, root, "metadata.deletionTimestamp",
                     yyjson_mut_strcpy(doc, str_text(&at)));
    }
    json_mut_set(doc, root, "metadata.deletionGracePeriodSeconds", yyjson_mut_sint(doc, grace));
    if (old->kind == &KIND_NAMESPACE)
        json_mut_set(doc, root, "status.phase", yyjson_mut_str(doc, "Terminating"));
}

/* Everything else would have nowhere to go. */
static bool is_protected(const struct write *write)
{
    for (size_t i = 0; write->kind == &KIND_NAMESPACE && STORE_NAMESPACES[i] != NULL; i++) {
        if (strcmp(write->name, STORE_NAMESPACES[i]) == 0)
            return true;
    }
    return false;
}

void delete_decide(const struct write_env *env, struct write *write, struct write_result *result,
                   struct decision *decision)
{
    struct obj *old = env->old;
    if (!preconditions_hold(write, old, &result->status))
        return;
    if (is_protected(write)) {
        status_forbidden(&result->status, write->kind, write->name,
                         "this namespace may not be deleted");
        return;
    }
    decision->doc = obj_borrow(old);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(decision->doc);
    mark_propagation(decision->doc, root, write->propagation);
    mark_deleted(env, decision->doc, root, grace_of(write, old));
    if (write_may_go(write->kind, root)) {
        decision->verdict = VERDICT_REMOVE;
        return;
    }
    pack_compare(&decision->kept, root, old->root, "metadata");
    decision->is_known = old->is_known;
    scoped_json_mut *before = obj_borrow(old);
    bool same = json_mut_equal(root, yyjson_mut_doc_get_root(before));
    decision->verdict = same ? VERDICT_KEEP : VERDICT_PUT;
}
