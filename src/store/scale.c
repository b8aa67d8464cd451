// SPDX-License-Identifier: Apache-2.0
#include "store/scale.h"
#include "model/options.h"
#include "model/selector.h"
#include "store/write_internal.h"
#include <stdio.h>

static const struct column COLUMNS[] = {
    {"Name", "string", "name", "Name of the object.", 0, "metadata.name"},
    {"Desired", "integer", "", "How many are wanted.", 0, "spec.replicas"},
    {"Available", "integer", "", "How many there are.", 0, "status.replicas"},
    {"Age", "date", "", "Since when it exists.", 0, "metadata.creationTimestamp"},
    {0},
};
const struct kind KIND_SCALE = {
    .group = "autoscaling",
    .version = "v1",
    .name = "Scale",
    .plural = "scales",
    .singular = "scale",
    .type = &TYPE_SCALE,
    .columns = COLUMNS,
};

static void copy_meta(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct obj *obj)
{
    static const char *const KEYS[] = {"name", "namespace", "uid", "resourceVersion",
                                       "creationTimestamp"};
    yyjson_mut_val *meta = yyjson_mut_obj_add_obj(doc, root, "metadata");
    yyjson_val *from = yyjson_obj_get(obj->root, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
        const char *text = yyjson_get_str(yyjson_obj_get(from, KEYS[i]));
        if (text != NULL)
            yyjson_mut_obj_add_strcpy(doc, meta, KEYS[i], text);
    }
}

/* matchLabels as the text "a=b,c=d", which is how a Scale carries its selector. */
static void selector_text(yyjson_val *selector, struct str *out)
{
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(yyjson_obj_get(selector, "matchLabels"), i, n, key, value)
    {
        str_addf(out, "%s%s=%s", i ? "," : "", yyjson_get_str(key), yyjson_get_str(value));
    }
}

yyjson_mut_doc *scale_view(const struct obj *obj)
{
    const struct kind_scale *paths = obj->kind->scale;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "kind", "Scale");
    yyjson_mut_obj_add_str(doc, root, "apiVersion", "autoscaling/v1");
    copy_meta(doc, root, obj);
    yyjson_mut_val *spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    yyjson_mut_obj_add_int(doc, spec, "replicas", json_int_at(obj->root, paths->spec_replicas, 0));
    yyjson_mut_val *status = yyjson_mut_obj_add_obj(doc, root, "status");
    yyjson_mut_obj_add_int(doc, status, "replicas",
                           json_int_at(obj->root, paths->status_replicas, 0));
    yyjson_val *selector = paths->selector ? json_at(obj->root, paths->selector) : NULL;
    if (selector != NULL) {
        scoped_str text = {0};
        selector_text(selector, &text);
        yyjson_mut_obj_add_strcpy(doc, status, "selector", str_text(&text));
    }
    return doc;
}

bool scale_apply(const struct kind *kind, yyjson_mut_doc *object, yyjson_mut_val *scale,
                 struct status *status)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(object);
    const char *name = json_mut_str_at(root, "metadata.name");
    struct findings findings = {0};
    if (!write_is_of_kind(&KIND_SCALE, scale, status))
        return false;
    schema_check(KIND_SCALE.type, scale, NULL, &findings);
    bool fine = findings.list.len == 0;
    if (!fine)
        status_invalid(status, &KIND_SCALE, name ? name : "", &findings);
    else
        json_mut_set(object, root, kind->scale->spec_replicas,
                     yyjson_mut_sint(object, json_mut_int_at(scale, "spec.replicas", 0)));
    findings_done(&findings);
    return fine;
}
