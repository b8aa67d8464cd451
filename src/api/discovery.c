// SPDX-License-Identifier: Apache-2.0
/* What there is: the old documents (/api, /apis, one list a group version) and the aggregated one
 * that newer clients ask for by Accept. All of it follows from the tables of kinds. */
#include "api/call.h"
#include <string.h>

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define AGGREGATED_BETA "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

static const char *const VERBS_ALL[] = {"create", "delete", "deletecollection", "get",
                                        "list",   "patch",  "update",           "watch"};
static const char *const VERBS_SINGLY[] = {"create", "delete", "get",  "list",
                                           "patch",  "update", "watch"};
static const char *const VERBS_SUB[] = {"get", "patch", "update"};
static const char *const VERBS_CREATE[] = {"create"};
static const char *const VERBS_READING[] = {"get", "list"};

static void add_list(struct str *out, const char *key, const char *const *words, size_t n)
{
    str_addf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++)
        str_addf(out, "%s\"%s\"", i ? "," : "", words[i]);
    str_addc(out, ']');
}

static void add_words(struct str *out, const char *key, const char *const *words)
{
    size_t n = 0;
    while (words != NULL && words[n] != NULL)
        n++;
    if (n > 0)
        add_list(out, key, words, n);
}

static void add_verbs(struct str *out, const struct kind *kind)
{
    if (kind_is_reading(kind))
        add_list(out, "verbs", VERBS_READING, ARRAY_LEN(VERBS_READING));
    else if (kind->is_deleted_singly)
        add_list(out, "verbs", VERBS_SINGLY, ARRAY_LEN(VERBS_SINGLY));
    else
        add_list(out, "verbs", VERBS_ALL, ARRAY_LEN(VERBS_ALL));
}

/* Is this the first kind of its group (or group version)? Then the group is listed here. */
static bool is_first(const struct api *api, size_t at, bool same_version)
{
    for (size_t i = 0; i < at; i++) {
        if (strcmp(api_kind(api, i)->group, api_kind(api, at)->group) == 0 &&
            (!same_version || strcmp(api_kind(api, i)->version, api_kind(api, at)->version) == 0))
            return false;
    }
    return true;
}

static bool in_version(const struct kind *kind, const char *group, const char *version)
{
    return strcmp(kind->group, group) == 0 && strcmp(kind->version, version) == 0;
}

/* ---- sub-resources ---- */

struct sub {
    const char *name;
    const char *group, *version, *kind;
    const char *const *verbs;
    size_t verb_count;
};

static size_t subs_of(const struct kind *kind, struct sub out[6])
{
    size_t n = 0;
    if (kind->has_status)
        out[n++] = (struct sub){"status",   kind->group, kind->version,
                                kind->name, VERBS_SUB,   ARRAY_LEN(VERBS_SUB)};
    if (kind->scale != NULL)
        out[n++] =
            (struct sub){"scale", "autoscaling", "v1", "Scale", VERBS_SUB, ARRAY_LEN(VERBS_SUB)};
    if (kind == &KIND_POD) {
        out[n++] = (struct sub){"binding", "", "v1", "Binding", VERBS_CREATE, 1};
        out[n++] = (struct sub){"log", "", "v1", "Pod", VERBS_SUB, 1}; /* get */
        out[n++] = (struct sub){"eviction", "policy", "v1", "Eviction", VERBS_CREATE, 1};
    }
    if (kind == &KIND_JOBSET)
        out[n++] = (struct sub){"restart", kind->group, kind->version, kind->name, VERBS_CREATE, 1};
    if (kind == &KIND_NAMESPACE)
        out[n++] = (struct sub){"finalize", "", "v1", "Namespace", VERBS_SUB + 2, 1};
    return n;
}

/* ---- the old documents ---- */

static void old_resource(struct str *out, const struct kind *kind)
{
    str_addf(out, "{\"name\":\"%s\",\"singularName\":\"%s\",\"namespaced\":%s,\"kind\":\"%s\"",
             kind->plural, kind->singular, kind->namespaced ? "true" : "false", kind->name);
    add_verbs(out, kind);
    add_words(out, "shortNames", kind->short_names);
    add_words(out, "categories", kind->categories);
    str_addc(out, '}');
    struct sub subs[6];
    size_t n = subs_of(kind, subs);
    for (size_t i = 0; i < n; i++) {
        str_addf(out,
                 ",{\"name\":\"%s/%s\",\"singularName\":\"\",\"namespaced\":%s,\"kind\":\"%s\"",
                 kind->plural, subs[i].name, kind->namespaced ? "true" : "false", subs[i].kind);
        if (strcmp(subs[i].group, kind->group) != 0)
            str_addf(out, ",\"group\":\"%s\",\"version\":\"%s\"", subs[i].group, subs[i].version);
        add_list(out, "verbs", subs[i].verbs, subs[i].verb_count);
        str_addc(out, '}');
    }
}

static bool old_version(const struct api *api, struct str *out, const char *group,
                        const char *version)
{
    str_addf(out,
             "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"%s%s%s\","
             "\"resources\":[",
             group, *group ? "/" : "", version);
    size_t n = 0;
    for (size_t i = 0; api_kind(api, i) != NULL; i++) {
        if (!in_version(api_kind(api, i), group, version))
            continue;
        if (n++ > 0)
            str_addc(out, ',');
        old_resource(out, api_kind(api, i));
    }
    str_add(out, "]}\n");
    return n > 0;
}

static void old_group(const struct api *api, struct str *out, const char *group)
{
    const char *preferred = NULL;
    str_addf(out, "\"name\":\"%s\",\"versions\":[", group);
    for (size_t i = 0; api_kind(api, i) != NULL; i++) {
        if (strcmp(api_kind(api, i)->group, group) != 0 || !is_first(api, i, true))
            continue;
        str_addf(out, "%s{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}", preferred ? "," : "",
                 group, api_kind(api, i)->version, api_kind(api, i)->version);
        preferred = preferred ? preferred : api_kind(api, i)->version;
    }
    str_addf(out, "],\"preferredVersion\":{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}}", group,
             preferred, preferred);
}

static void old_groups(const struct api *api, struct str *out)
{
    bool any = false;
    str_add(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (size_t i = 0; api_kind(api, i) != NULL; i++) {
        if (*api_kind(api, i)->group == '\0' || !is_first(api, i, false))
            continue;
        str_add(out, any ? ",{" : "{");
        old_group(api, out, api_kind(api, i)->group);
        any = true;
    }
    str_add(out, "]}\n");
}

/* ---- the aggregated document ---- */

static void new_resource(struct str *out, const struct kind *kind)
{
    str_addf(out,
             "{\"resource\":\"%s\",\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\",\"kind\":"
             "\"%s\"},\"scope\":\"%s\",\"singularResource\":\"%s\"",
             kind->plural, kind->group, kind->version, kind->name,
             kind->namespaced ? "Namespaced" : "Cluster", kind->singular);
    add_verbs(out, kind);
    add_words(out, "shortNames", kind->short_names);
    add_words(out, "categories", kind->categories);
    struct sub subs[6];
    size_t n = subs_of(kind, subs);
    str_add(out, ",\"subresources\":[");
    for (size_t i = 0; i < n; i++) {
        str_addf(out,
                 "%s{\"subresource\":\"%s\",\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\","
                 "\"kind\":\"%s\"}",
                 i ? "," : "", subs[i].name, subs[i].group, subs[i].version, subs[i].kind);
        add_list(out, "verbs", subs[i].verbs, subs[i].verb_count);
        str_addc(out, '}');
    }
    str_add(out, "]}");
}

static void new_version(const struct api *api, struct str *out, const char *group,
                        const char *version)
{
    str_addf(out, "{\"version\":\"%s\",\"freshness\":\"Current\",\"resources\":[", version);
    bool any = false;
    for (size_t i = 0; api_kind(api, i) != NULL; i++) {
        if (!in_version(api_kind(api, i), group, version))
            continue;
        if (any)
            str_addc(out, ',');
        new_resource(out, api_kind(api, i));
        any = true;
    }
    str_add(out, "]}");
}

static void new_group(const struct api *api, struct str *out, const char *group)
{
    if (*group != '\0')
        str_addf(out, "{\"metadata\":{\"name\":\"%s\"},\"versions\":[", group);
    else
        str_add(out, "{\"metadata\":{},\"versions\":[");
    bool any = false;
    for (size_t i = 0; api_kind(api, i) != NULL; i++) {
        if (strcmp(api_kind(api, i)->group, group) != 0 || !is_first(api, i, true))
            continue;
        if (any)
            str_addc(out, ',');
        new_version(api, out, group, api_kind(api, i)->version);
        any = true;
    }
    str_add(out, "]}");
}

static void new_groups(const struct api *api, struct str *out, bool core, bool beta)
{
    str_addf(out,
             "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/%s\","
             "\"metadata\":{},\"items\":[",
             beta ? "v2beta1" : "v2");
    bool any = false;
    for (size_t i = 0; api_kind(api, i) != NULL; i++) {
        if ((*api_kind(api, i)->group == '\0') != core || !is_first(api, i, false))
            continue;
        if (any)
            str_addc(out, ',');
        new_group(api, out, api_kind(api, i)->group);
        any = true;
    }
    str_add(out, "]}\n");
}

/* ---- which one ---- */

static bool old_document(const struct call *call, bool core, struct str *out)
{
    const struct api *api = call->api;
    if (core && call->part_count == 1) {
        str_add(out, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
                     "\"serverAddressByClientCIDRs\":[]}\n");
        return true;
    }
    if (core)
        return old_version(api, out, "", call->parts[1]);
    if (call->part_count == 1) {
        old_groups(api, out);
        return true;
    }
    if (call->part_count == 3)
        return old_version(api, out, call->parts[1], call->parts[2]);
    for (size_t i = 0; api_kind(api, i) != NULL; i++) {
        if (*call->parts[1] == '\0' || strcmp(api_kind(api, i)->group, call->parts[1]) != 0)
            continue;
        str_add(out, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
        old_group(api, out, call->parts[1]);
        return true;
    }
    return false;
}

void discovery_answer(struct call *call)
{
    bool core = strcmp(call->parts[0], "api") == 0;
    struct str out = {0};
    if (strcmp(call->req->method, "GET") != 0 && strcmp(call->req->method, "HEAD") != 0) {
        struct status status = {0};
        status_set(&status, 405, "MethodNotAllowed", "discovery is only read");
        call_refuse(call, &status);
        return;
    }
    bool v2 = call_accepts(call, "g=apidiscovery.k8s.io;v=v2;");
    bool beta = call_accepts(call, "g=apidiscovery.k8s.io;v=v2beta1;");
    if (call->part_count == 1 && (v2 || beta)) {
        new_groups(call->api, &out, core, !v2);
        struct buf *body = buf_take(&out);
        call_reply(call, 200, v2 ? AGGREGATED : AGGREGATED_BETA, "Vary: Accept\r\n", body);
        buf_unref(body);
        return;
    }
    if (old_document(call, core, &out)) {
        call_reply_json(call, 200, &out);
        return;
    }
    str_done(&out);
    call_not_found(call);
}
