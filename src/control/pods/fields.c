// SPDX-License-Identifier: Apache-2.0
/* What a pod may know about itself: fieldRef and resourceFieldRef. */
#include "base/mem.h"
#include "control/pods/launch_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- fieldRef ---- */

static const char *own_ip(const struct launching *l)
{
    const char *ip = json_str_at(l->pod->root, "status.podIP");
    return ip != NULL ? ip : l->node->pod_ip;
}

static const char *host_ip(const struct launching *l)
{
    const char *ip = json_str_at(l->pod->root, "status.hostIP");
    return ip != NULL ? ip : l->node->host_ip;
}

/* All addresses of a list in the status, with commas; else the one that the node knows. */
static const char *ip_list(const struct launching *l, const char *path, const char *otherwise)
{
    scoped_str out = {0};
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(l->pod->root, path), i, n, item)
    {
        const char *ip = json_str_at(item, "ip");
        str_addf(&out, "%s%s", out.len > 0 && ip != NULL ? "," : "", ip != NULL ? ip : "");
    }
    return out.len > 0 ? arena_strdup(l->arena, str_text(&out)) : otherwise;
}

static const char *own_name(const struct launching *l)
{
    return l->pod->meta.name;
}

static const char *own_namespace(const struct launching *l)
{
    return obj_namespace(l->pod);
}

static const char *own_uid(const struct launching *l)
{
    return l->pod->meta.uid;
}

static const char *node_name(const struct launching *l)
{
    const char *name = json_str_at(l->spec, "nodeName");
    return name != NULL ? name : l->node->name;
}

static const char *account(const struct launching *l)
{
    return json_str_at(l->spec, "serviceAccountName");
}

static const char *own_ips(const struct launching *l)
{
    return ip_list(l, "status.podIPs", own_ip(l));
}

static const char *host_ips(const struct launching *l)
{
    return ip_list(l, "status.hostIPs", host_ip(l));
}

static const struct {
    const char *path;
    const char *(*read)(const struct launching *l);
} FIELDS[] = {
    {"metadata.name", own_name},  {"metadata.namespace", own_namespace},
    {"metadata.uid", own_uid},    {"spec.nodeName", node_name},
    {"status.podIP", own_ip},     {"spec.serviceAccountName", account},
    {"status.podIPs", own_ips},   {"status.hostIP", host_ip},
    {"status.hostIPs", host_ips},
};

/* metadata.labels['KEY']: the key, or an empty view. */
static struct sv key_of(const char *path, const char *map)
{
    size_t len = strlen(path), skip = strlen(map);
    if (!str_starts(path, map) || len < skip + 4 || strncmp(path + skip, "['", 2) != 0 ||
        !str_ends(path, "']"))
        return (struct sv){0};
    return (struct sv){path + skip + 2, len - skip - 4};
}

static bool entry_of(const struct launching *l, const char *path, const char **ret_value)
{
    struct sv label = key_of(path, "metadata.labels");
    struct sv note = key_of(path, "metadata.annotations");
    struct sv key = label.len > 0 ? label : note;
    if (key.len == 0)
        return false;
    yyjson_val *map = label.len > 0 ? l->pod->meta.labels : l->pod->meta.annotations;
    *ret_value = yyjson_get_str(yyjson_obj_getn(map, key.ptr, key.len));
    return true;
}

static bool field_of(const struct launching *l, const char *path, const char **ret_value)
{
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
        if (!str_eq(FIELDS[i].path, path))
            continue;
        *ret_value = FIELDS[i].read(l);
        return true;
    }
    return entry_of(l, path, ret_value);
}

int fields_value(const struct launching *l, yyjson_val *ref, const char *where,
                 const char **ret_value, struct err *err)
{
    const char *path = json_str_at(ref, "fieldPath");
    const char *value = NULL;
    if (path != NULL && field_of(l, path, &value)) {
        *ret_value = value != NULL ? arena_strdup(l->arena, value) : "";
        return 0;
    }
    int r = err_set(err, -ENOTSUP, "%s.fieldPath: %s cannot be read", where,
                    path != NULL ? path : "\"\"");
    (void)err_hint(err, "metadata.name, .namespace, .uid, .labels['KEY'], .annotations['KEY'], "
                        "spec.nodeName, spec.serviceAccountName, status.podIP(s) and "
                        "status.hostIP(s) can");
    return r;
}

struct pair {
    const char *key, *value;
};

static int pair_cmp(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

/* One line a key, in order, the value in quotes: the form in which kubelet writes them. */
static const char *whole_map(const struct launching *l, yyjson_val *map)
{
    VEC(struct pair) pairs = {0};
    size_t i, n;
    yyjson_val *key, *val;
    if (!yyjson_is_obj(map))
        return "";
    yyjson_obj_foreach(map, i, n, key, val)
    {
        struct pair pair = {yyjson_get_str(key), yyjson_get_str(val)};
        vec_push(&pairs, pair);
    }
    if (pairs.len > 0)
        qsort(pairs.items, pairs.len, sizeof(*pairs.items), pair_cmp);
    scoped_str out = {0};
    for (i = 0; i < pairs.len; i++) {
        const char *value = pairs.items[i].value != NULL ? pairs.items[i].value : "";
        str_addf(&out, "%s%s=", i > 0 ? "\n" : "", pairs.items[i].key);
        json_quote(value, strlen(value), &out);
    }
    vec_done(&pairs);
    return arena_strdup(l->arena, str_text(&out));
}

int fields_file(const struct launching *l, yyjson_val *ref, const char *where,
                const char **ret_value, struct err *err)
{
    const char *path = json_str_at(ref, "fieldPath");
    bool labels = str_eq(path, "metadata.labels");
    if (!labels && !str_eq(path, "metadata.annotations"))
        return fields_value(l, ref, where, ret_value, err);
    *ret_value = whole_map(l, labels ? l->pod->meta.labels : l->pod->meta.annotations);
    return 0;
}

/* ---- resourceFieldRef ---- */

static bool amount_of(yyjson_val *val, quantity *ret_amount)
{
    scoped_str text = {0};
    if (yyjson_is_str(val))
        str_add(&text, yyjson_get_str(val));
    else if (yyjson_is_num(val))
        json_write_val(val, &text);
    else
        return false;
    return quantity_parse(sv_of(str_text(&text)), ret_amount, NULL) >= 0;
}

bool fields_amount(yyjson_val *container, const char *which, const char *name, quantity *ret_amount)
{
    yyjson_val *resources = yyjson_obj_get(container, "resources");
    return amount_of(yyjson_obj_get(yyjson_obj_get(resources, which), name), ret_amount);
}

static yyjson_val *container_named(const struct launching *l, const char *name)
{
    if (name == NULL || *name == '\0')
        return l->container;
    yyjson_val *init = json_find(yyjson_obj_get(l->spec, "initContainers"), "name", name);
    return init ? init : json_find(yyjson_obj_get(l->spec, "containers"), "name", name);
}

/* Without a limit the node is the limit; without a request nothing was asked for. */
static quantity amount_or_default(const struct launching *l, yyjson_val *container,
                                  const char *which, const char *name)
{
    quantity amount = 0;
    bool is_limit = str_eq(which, "limits");
    if (fields_amount(container, which, name, &amount) && (amount > 0 || !is_limit))
        return amount;
    if (!is_limit)
        return fields_amount(container, "limits", name, &amount) ? amount : 0;
    if (str_eq(name, "cpu"))
        return quantity_of_milli(l->node->cpu_milli);
    return str_eq(name, "memory") ? quantity_of(l->node->memory_bytes) : 0;
}

static const char *const RESOURCES[] = {"cpu", "memory", "ephemeral-storage"};

static bool is_resource(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(RESOURCES); i++) {
        if (str_eq(name, RESOURCES[i]))
            return true;
    }
    return str_starts(name, "hugepages-");
}

/* Parts of a unit count as a whole one. A divisor of 0 is one unit. */
static int64_t in_units(quantity amount, quantity divisor, bool is_cpu)
{
    int64_t value = is_cpu ? quantity_milli(amount) : quantity_value(amount);
    int64_t unit = is_cpu ? quantity_milli(divisor) : quantity_value(divisor);
    if (unit <= 0)
        unit = is_cpu ? 1000 : 1;
    return value / unit + (value % unit > 0);
}

int fields_resource(const struct launching *l, yyjson_val *ref, const char *where,
                    const char **ret_value, struct err *err)
{
    const char *text = json_str_at(ref, "resource");
    const char *owner = json_str_at(ref, "containerName");
    struct sv name = sv_of(text);
    struct sv which = sv_cut(&name, '.');
    if (name.len == 0 || (!sv_is(which, "limits") && !sv_is(which, "requests")) ||
        !is_resource(name.ptr))
        return err_set(err, -ENOTSUP,
                       "%s.resource: %s is not known; there are limits.cpu, "
                       "requests.memory and the like",
                       where, text != NULL ? text : "\"\"");
    yyjson_val *container = container_named(l, owner);
    if (container == NULL)
        return err_set(err, -EINVAL, "%s.containerName: no container is called %s", where, owner);
    quantity divisor = 0;
    (void)amount_of(yyjson_obj_get(ref, "divisor"), &divisor); /* absent: one unit */
    quantity amount =
        amount_or_default(l, container, sv_is(which, "limits") ? "limits" : "requests", name.ptr);
    *ret_value = arena_printf(l->arena, "%lld",
                              (long long)in_units(amount, divisor, str_eq(name.ptr, "cpu")));
    return 0;
}
