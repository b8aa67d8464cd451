// SPDX-License-Identifier: Apache-2.0
/* What admission adds to the pods of a set: node labels and tolerations of its flavors, then what
 * the answers of checks ask for. What is said already stays: the template goes before flavors, they
 * go before checks, and an earlier check before a later one. */
#include "control/admission.h"

static const char *const MAPS[] = {"metadata.labels", "metadata.annotations", "spec.nodeSelector"};
static const char *const UPDATES[] = {"labels", "annotations", "nodeSelector"}; /* in their order */
enum { NODE_SELECTOR = 2 };
#define TOLERATIONS "spec.tolerations"

struct adds {
    yyjson_mut_doc *doc;
    yyjson_mut_val *maps[ARRAY_LEN(MAPS)];
    yyjson_mut_val *tolerations;
};

static yyjson_mut_val *copy_or(yyjson_mut_doc *doc, yyjson_val *val, yyjson_mut_val *otherwise)
{
    return val ? yyjson_val_mut_copy(doc, val) : otherwise;
}

static struct adds begin(yyjson_mut_doc *doc, yyjson_val *as_written)
{
    struct adds adds = {.doc = doc};
    for (size_t i = 0; i < ARRAY_LEN(MAPS); i++)
        adds.maps[i] = copy_or(doc, json_at(as_written, MAPS[i]), yyjson_mut_obj(doc));
    adds.tolerations = copy_or(doc, json_at(as_written, TOLERATIONS), yyjson_mut_arr(doc));
    return adds;
}

static void add_map(struct adds *adds, size_t which, yyjson_val *from)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(from, i, n, key, val)
    {
        const char *name = yyjson_get_str(key);
        if (yyjson_mut_obj_get(adds->maps[which], name) == NULL)
            json_mut_put(adds->doc, adds->maps[which], name, yyjson_val_mut_copy(adds->doc, val));
    }
}

static bool has_item(yyjson_mut_val *list, yyjson_val *item)
{
    size_t i, n;
    yyjson_mut_val *other;
    yyjson_mut_arr_foreach(list, i, n, other)
    {
        if (json_mut_identical(other, item))
            return true;
    }
    return false;
}

static void add_tolerations(struct adds *adds, yyjson_val *from)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(from, i, n, item)
    {
        if (!has_item(adds->tolerations, item))
            (void)yyjson_mut_arr_append(adds->tolerations, yyjson_val_mut_copy(adds->doc, item));
    }
}

static void add_flavors(struct adds *adds, struct cache *cache, yyjson_val *assignment)
{
    size_t i, n;
    yyjson_val *key, *name;
    yyjson_obj_foreach(yyjson_obj_get(assignment, "flavors"), i, n, key, name)
    {
        const struct obj *flavor = cache_get(cache, &KIND_RESOURCEFLAVOR, "", yyjson_get_str(name));
        if (flavor == NULL)
            continue;
        add_map(adds, NODE_SELECTOR, json_at(flavor->root, "spec.nodeLabels"));
        add_tolerations(adds, json_at(flavor->root, "spec.tolerations"));
    }
}

static void add_answers(struct adds *adds, yyjson_val *workload, const char *set)
{
    size_t i, n;
    yyjson_val *check;
    yyjson_arr_foreach(json_at(workload, "status.admissionChecks"), i, n, check)
    {
        yyjson_val *update = json_find(yyjson_obj_get(check, "podSetUpdates"), "name", set);
        for (size_t map = 0; map < ARRAY_LEN(MAPS); map++)
            add_map(adds, map, yyjson_obj_get(update, UPDATES[map]));
        add_tolerations(adds, yyjson_obj_get(update, "tolerations"));
    }
}

/* An empty one is written only where there was one. */
static void put(struct adds *adds, yyjson_mut_val *template, yyjson_val *as_written)
{
    for (size_t i = 0; i < ARRAY_LEN(MAPS); i++) {
        bool keep = yyjson_mut_obj_size(adds->maps[i]) > 0 || json_at(as_written, MAPS[i]);
        json_mut_set(adds->doc, template, MAPS[i], keep ? adds->maps[i] : NULL);
    }
    bool keep = yyjson_mut_arr_size(adds->tolerations) > 0 || json_at(as_written, TOLERATIONS);
    json_mut_set(adds->doc, template, TOLERATIONS, keep ? adds->tolerations : NULL);
}

void adds_put(const struct gang_look *look, yyjson_mut_doc *doc, yyjson_mut_val *template,
              yyjson_val *as_written, const char *set)
{
    yyjson_val *workload = look->workload->root;
    struct adds adds = begin(doc, as_written);
    add_flavors(&adds, look->cache,
                json_find(json_at(workload, "status.admission.podSetAssignments"), "name", set));
    add_answers(&adds, workload, set);
    put(&adds, template, as_written);
}

void adds_remove(yyjson_mut_doc *doc, yyjson_mut_val *template, yyjson_val *as_written)
{
    struct adds adds = begin(doc, as_written);
    put(&adds, template, as_written);
}
