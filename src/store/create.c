// SPDX-License-Identifier: Apache-2.0
/* Creation: the checks and the fields that only a new object needs. */
#include "base/mem.h"
#include "store/write_internal.h"
#include <stdio.h>
#include <string.h>

#define GENERATED_SUFFIX 5
#define GENERATED_BASE_MAX (253 - GENERATED_SUFFIX)

static bool settle_type(struct write *write, yyjson_mut_doc *doc, struct status *status)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    char api_version[128];
    if (!write_is_of_kind(write->kind, root, status))
        return false;
    json_mut_put(doc, root, "kind", yyjson_mut_str(doc, write->kind->name));
    json_mut_put(doc, root, "apiVersion",
                 yyjson_mut_strcpy(doc, kind_api_version(write->kind, api_version)));
    return true;
}

static bool settle_namespace(const struct write_env *env, struct write *write, yyjson_mut_val *meta,
                             struct status *status)
{
    const char *ns = yyjson_mut_get_str(yyjson_mut_obj_get(meta, "namespace"));
    if (ns != NULL && *ns != '\0' && strcmp(ns, write->ns) != 0) {
        status_bad_request(status,
                           write->kind->namespaced
                               ? "the namespace of the provided object does not match the "
                                 "namespace sent on the request"
                               : "this kind has no namespace: leave metadata.namespace out");
        return false;
    }
    json_mut_put(write->doc, meta, "namespace",
                 write->kind->namespaced ? yyjson_mut_strcpy(write->doc, write->ns) : NULL);
    if (!write->kind->namespaced)
        return true;
    const struct obj *home = env->head(env->arg, &KIND_NAMESPACE, "", write->ns);
    if (home == NULL) {
        status_not_found(status, &KIND_NAMESPACE, write->ns);
        return false;
    }
    if (home->meta.deleted != 0) {
        char why[400];
        (void)snprintf(why, sizeof(why),
                       "unable to create new content in namespace %s because it is being "
                       "terminated",
                       write->ns);
        status_forbidden(status, write->kind, write->name, why);
        return false;
    }
    return true;
}

static bool generate_name(const struct write_env *env, struct write *write, const char *prefix,
                          struct status *status)
{
    for (int tries = 0; tries < 8; tries++) {
        char suffix[GENERATED_SUFFIX + 1];
        rng_suffix(env->rng, suffix, GENERATED_SUFFIX);
        mem_free(write->name);
        write->name = mem_printf("%.*s%s", GENERATED_BASE_MAX, prefix, suffix);
        if (env->head(env->arg, write->kind, write->ns, write->name) == NULL)
            return true;
    }
    status_exists(status, write->kind, write->name);
    return false;
}

/* False when the name is taken or there is none. An object without a name is left to validation,
 * which says so among everything else that is wrong. */
static bool settle_name(const struct write_env *env, struct write *write, yyjson_mut_val *meta,
                        struct status *status)
{
    const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(meta, "name"));
    const char *prefix = yyjson_mut_get_str(yyjson_mut_obj_get(meta, "generateName"));
    if (name != NULL && *name != '\0') {
        scoped_free char *copy = mem_strdup(name);
        mem_free(write->name);
        write->name = take_ptr(copy);
        if (env->head(env->arg, write->kind, write->ns, write->name) == NULL)
            return true;
        status_exists(status, write->kind, write->name);
        return false;
    }
    if (prefix == NULL || *prefix == '\0')
        return true;
    scoped_free char *kept = mem_strdup(prefix);
    if (!generate_name(env, write, kept, status))
        return false;
    json_mut_put(write->doc, meta, "name", yyjson_mut_strcpy(write->doc, write->name));
    return true;
}

static void stamp(const struct write_env *env, struct write *write, yyjson_mut_val *meta)
{
    static const char *const NOT_THE_CLIENTS[] = {"deletionTimestamp", "selfLink", "generation",
                                                  "deletionGracePeriodSeconds", "resourceVersion"};
    yyjson_mut_doc *doc = write->doc;
    for (size_t i = 0; i < ARRAY_LEN(NOT_THE_CLIENTS); i++)
        json_mut_put(doc, meta, NOT_THE_CLIENTS[i], NULL);
    /* Who came later has the greater UID, also within the second that creationTimestamp has: orders
     * that end with the UID are those of creation. */
    char uid[37];
    rng_uuid(env->rng, env->revision, uid);
    json_mut_put(doc, meta, "uid", yyjson_mut_strcpy(doc, uid));
    scoped_str at = {0};
    rfc3339_format(env->now, &at);
    json_mut_put(doc, meta, "creationTimestamp", yyjson_mut_strcpy(doc, str_text(&at)));
    if (type_field(write->kind->type, "spec", 4) != NULL)
        json_mut_put(doc, meta, "generation", yyjson_mut_sint(doc, 1));
}

void create_decide(const struct write_env *env, struct write *write, struct write_result *result,
                   struct decision *decision)
{
    yyjson_mut_doc *doc = write->doc;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (!settle_type(write, doc, &result->status))
        return;
    yyjson_mut_val *meta = json_mut_need_obj(doc, root, "metadata");
    const char *version = yyjson_mut_get_str(yyjson_mut_obj_get(meta, "resourceVersion"));
    if (version != NULL && *version != '\0') {
        status_bad_request(&result->status,
                           "resourceVersion should not be set on objects to be created");
        return;
    }
    if (!settle_namespace(env, write, meta, &result->status) ||
        !settle_name(env, write, meta, &result->status))
        return;
    stamp(env, write, meta);
    /* A node registers with what it has, in one write. */
    if (write->kind->has_status && write->kind != &KIND_NODE)
        json_mut_put(doc, root, "status", NULL);
    if (write->kind->prepare != NULL)
        write->kind->prepare(doc, root, env->now);
    decision->doc = take_ptr(write->doc);
    if (!write_complete(write, NULL, result, decision) ||
        !write_check(env, write, doc, NULL, result))
        return;
    decision->verdict = VERDICT_PUT;
    decision->created = true;
}
