// SPDX-License-Identifier: Apache-2.0
/* Who somebody is, and what he may do. Rules that need only the address are in auth_allows(); the
 * rest, which depend on the object before and after, in auth_admit(). */
#include "api/call.h"
#include "core/recover/epoch.h"
#include "model/selector.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- who ---- */

static bool identify_peer(const struct http_peer *peer, struct identity *who)
{
    if (!peer->is_unix || (peer->uid != 0 && peer->uid != geteuid()))
        return false;
    who->role = ROLE_ADMIN;
    (void)snprintf(who->name, sizeof(who->name), "local:%u", (unsigned)peer->uid);
    return true;
}

bool auth_identify(const struct api *api, const struct http_exchange *x, struct identity *who)
{
    const char *header = http_header(x, "authorization");
    if (header == NULL)
        return identify_peer(&http_request_of(x)->peer, who);
    if (strncasecmp(header, "Bearer ", 7) != 0)
        return false;
    return token_check(api->options.key, header + 7, loop_wall(api->loop), who);
}

/* ---- what ---- */

static const char *verb_word(enum verb verb)
{
    static const char *const WORDS[] = {
        [VERB_GET] = "get",       [VERB_LIST] = "list",
        [VERB_WATCH] = "watch",   [VERB_CREATE] = "create",
        [VERB_UPDATE] = "update", [VERB_PATCH] = "patch",
        [VERB_DELETE] = "delete", [VERB_DELETE_MANY] = "deletecollection",
    };
    return WORDS[verb];
}

static bool is_read(enum verb verb)
{
    return verb == VERB_GET || verb == VERB_LIST || verb == VERB_WATCH;
}

/* Does the request name exactly this one value, by name or by field selector? */
static bool pins(const struct call *call, const char *path, const char *value)
{
    if (*value == '\0')
        return false;
    if (strcmp(path, "metadata.name") == 0 && *call->name != '\0')
        return strcmp(call->name, value) == 0;
    const char *text = call_param(call, "fieldSelector");
    struct field_selector *selector = NULL;
    if (text == NULL ||
        field_selector_parse(sv_of(text), call->kind->selectable, &selector, NULL) < 0)
        return false;
    const char *exact = field_selector_exact(selector, path);
    bool yes = exact != NULL && strcmp(exact, value) == 0;
    field_selector_free(selector);
    return yes;
}

static bool runs_pod_in(const struct call *call, const char *ns)
{
    struct cache *cache = call->api->store->cache;
    struct obj *pod = cache_first(cache, &KIND_POD, ns);
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, ns, pod)) {
        if (str_eq(json_str_at(pod->root, "spec.nodeName"), call->who.name))
            return true;
    }
    return false;
}

static bool is_own_pod(const struct call *call)
{
    const struct obj *pod = cache_get(call->api->store->cache, &KIND_POD, call->ns, call->name);
    return pod != NULL && str_eq(json_str_at(pod->root, "spec.nodeName"), call->who.name);
}

/* A node: its own Node and Lease, the pods bound to it, events, and what its pods read. */
static bool node_may(const struct call *call)
{
    const char *me = call->who.name;
    if (call->kind == &KIND_NODE) {
        if (call->verb == VERB_CREATE)
            return *call->sub == '\0'; /* its name is checked by auth_admit() */
        return call->verb <= VERB_PATCH && pins(call, "metadata.name", me);
    }
    if (call->kind == &KIND_POD) {
        if (call->verb == VERB_LIST || call->verb == VERB_WATCH)
            return pins(call, "spec.nodeName", me);
        if (call->verb == VERB_GET || call->verb == VERB_DELETE)
            return is_own_pod(call);
        return (call->verb == VERB_UPDATE || call->verb == VERB_PATCH) &&
               strcmp(call->sub, "status") == 0 && is_own_pod(call);
    }
    if (call->kind == &KIND_EVENT)
        return call->verb == VERB_CREATE || call->verb == VERB_UPDATE || call->verb == VERB_PATCH;
    if (call->kind == &KIND_LEASE)
        return strcmp(call->ns, "kube-node-lease") == 0 &&
               (call->verb == VERB_CREATE ||
                (call->verb <= VERB_PATCH && pins(call, "metadata.name", me)));
    if (call->kind == &KIND_NODECONFIG)
        return is_read(call->verb);
    if (call->kind == &KIND_CONFIGMAP)
        return call->verb == VERB_GET && runs_pod_in(call, call->ns);
    return false;
}

/* The companion of one worker: reads its JobSet, announces itself on its own pod. */
static bool agent_may(const struct call *call)
{
    if (strcmp(call->ns, call->who.ns) != 0 || *call->sub != '\0')
        return false;
    if (strcmp(call->kind->plural, "jobsets") == 0)
        return is_read(call->verb) && pins(call, "metadata.name", call->who.jobset);
    if (call->kind == &KIND_POD)
        return (call->verb == VERB_GET || call->verb == VERB_PATCH) &&
               strcmp(call->name, call->who.pod) == 0 && *call->who.pod != '\0';
    return false;
}

static bool role_may(const struct call *call)
{
    switch (call->who.role) {
    case ROLE_ADMIN:
        return true;
    case ROLE_VIEW:
        return is_read(call->verb);
    case ROLE_NODE:
        return node_may(call);
    case ROLE_AGENT:
        return agent_may(call);
    case ROLE_NONE:
        return false;
    }
    return false;
}

/* Figures are of all: names of everybody's groups stand in them. */
bool auth_allows_path(const struct identity *who, const char *path)
{
    return who->role == ROLE_ADMIN || who->role == ROLE_VIEW || strcmp(path, "/metrics") != 0;
}

bool auth_would_allow(struct call *asked, const char *verb)
{
    if (asked->who.role == ROLE_ADMIN)
        return true;
    for (enum verb i = VERB_GET; i <= VERB_DELETE_MANY; i++) {
        if (strcmp(verb, verb_word(i)) != 0)
            continue;
        asked->verb = i;
        return asked->kind != NULL ? role_may(asked)
                                   : asked->who.role == ROLE_VIEW && is_read(asked->verb);
    }
    return false;
}

bool auth_allows(const struct call *call, struct status *status)
{
    if (role_may(call))
        return true;
    char why[512];
    int n =
        snprintf(why, sizeof(why), "User \"%s\" cannot %s resource \"%s%s%s\" in API group \"%s\"",
                 call->who.name, verb_word(call->verb), call->kind->plural, *call->sub ? "/" : "",
                 call->sub, call->kind->group);
    if (call->kind->namespaced && *call->ns != '\0')
        (void)snprintf(why + n, sizeof(why) - (size_t)n, " in the namespace \"%s\"", call->ns);
    else
        (void)snprintf(why + n, sizeof(why) - (size_t)n, " at the cluster scope");
    status_forbidden(status, call->kind, call->name, why);
    return false;
}

/* ---- what changes ---- */

static void refuse_change(const struct identity *who, const struct obj *about, const char *what,
                          struct status *status)
{
    char why[512];
    (void)snprintf(why, sizeof(why), "User \"%s\" may only %s", who->name, what);
    status_forbidden(status, about->kind, about->meta.name, why);
}

static void drop_agents_part(yyjson_mut_doc *doc)
{
    yyjson_mut_val *meta = json_mut_at(yyjson_mut_doc_get_root(doc), "metadata");
    yyjson_mut_val *annotations = yyjson_mut_obj_get(meta, "annotations");
    if (annotations != NULL) {
        json_mut_put(doc, annotations, EPOCH_NOTE, NULL);
        json_mut_put(doc, annotations, EPOCH_NOTE_LATER, NULL);
    }
    if (yyjson_mut_obj_size(annotations) == 0)
        json_mut_put(doc, meta, "annotations", NULL);
    json_mut_put(doc, meta, "resourceVersion", NULL);
}

static bool only_epoch_differs(const struct obj *old, const struct obj *new_)
{
    scoped_json_mut *a = obj_edit(old);
    scoped_json_mut *b = obj_edit(new_);
    drop_agents_part(a);
    drop_agents_part(b);
    return json_mut_equal(yyjson_mut_doc_get_root(a), yyjson_mut_doc_get_root(b));
}

static void admit_node(const struct identity *who, const struct obj *old, const struct obj *new_,
                       struct status *status)
{
    const struct obj *obj = new_ ? new_ : old;
    bool named = obj->kind == &KIND_NODE || obj->kind == &KIND_LEASE;
    if (named && strcmp(obj->meta.name, who->name) != 0)
        refuse_change(who, obj, "change the Node and the Lease of its own name", status);
    /* A node moves no pod: taking one over would also take over what it may read. */
    if (obj->kind == &KIND_POD && old != NULL &&
        !str_eq(json_str_at(old->root, "spec.nodeName"), who->name))
        refuse_change(who, obj, "change pods that are bound to it", status);
}

void auth_admit(void *arg, const struct obj *old, const struct obj *new_, struct status *status)
{
    const struct identity *who = arg;
    assert(old != NULL || new_ != NULL);
    if (who->role == ROLE_NODE)
        admit_node(who, old, new_, status);
    if (who->role == ROLE_AGENT && (old == NULL || new_ == NULL || !only_epoch_differs(old, new_)))
        refuse_change(who, new_ ? new_ : old,
                      "change the annotations " EPOCH_NOTE " and " EPOCH_NOTE_LATER
                      " of its own pod",
                      status);
}
