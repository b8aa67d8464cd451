// SPDX-License-Identifier: Apache-2.0
/* Tables as OpenAPI v3, one document a group version, as kubectl reads it:
 *
 * 1. explain takes the kind from the `get` operation of a resource's path, then looks for the
 *    schema that carries the same group, version and kind;
 * 2. create and apply ask whether the kind's `patch` operation knows `fieldValidation`, and whether
 *    it takes a strategic merge patch;
 * 3. apply makes its patch from the merge keys that stand beside a field's schema.
 *
 * References are wrapped in allOf, since whatever stands beside a bare $ref is ignored. */
#include "model/kind.h"
#include <assert.h>
#include <ctype.h>

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."
#define SCHEMAS "#/components/schemas/"
#define GVK "x-kubernetes-group-version-kind"

struct build {
    yyjson_mut_doc *doc;
    yyjson_mut_val *paths;
    yyjson_mut_val *schemas;
};

/* ---- types that no kind's table names ---- */

static const struct field LIST_META_FIELDS[] = {
    {"continue", F_STRING, ONE,
     .doc = "Given back in the next request to read on; empty at the end."},
    {"remainingItemCount", F_INT64, ONE, .doc = "How many items come after this page."},
    {"resourceVersion", F_STRING, ONE,
     .doc = "The version of the whole list; watches start from it."},
    {"selfLink", F_STRING, ONE, .doc = "No longer set."},
    {0},
};
static const struct type LIST_META = {META "ListMeta", "What all lists have.", LIST_META_FIELDS};

static const struct field STATUS_FIELDS[] = {
    FIELDS_TYPE_META,
    {"metadata", F_OBJECT, ONE, .of = &LIST_META, .doc = "As in lists."},
    {"status", F_STRING, ONE, .doc = "Success or Failure."},
    {"message", F_STRING, ONE, .doc = "What happened, for people."},
    {"reason", F_STRING, ONE, .doc = "What happened, for programs: one word."},
    {"details", F_ANY, ONE, .doc = "The object in question and the causes, field by field."},
    {"code", F_INT32, ONE, .doc = "The HTTP code of the answer."},
    {0},
};
static const struct type STATUS = {META "Status", "The answer to a request that returns no object.",
                                   STATUS_FIELDS};

static const struct field PRECONDITIONS_FIELDS[] = {
    {"resourceVersion", F_STRING, ONE, .doc = "Delete only this version."},
    {"uid", F_STRING, ONE, .doc = "Delete only the object with this UID."},
    {0},
};
static const struct type PRECONDITIONS = {
    META "Preconditions", "What must hold for the deletion to happen.", PRECONDITIONS_FIELDS};

static const struct field DELETE_OPTIONS_FIELDS[] = {
    FIELDS_TYPE_META,
    {"dryRun", F_STRING, LIST, .doc = "All: do everything but store the result."},
    {"gracePeriodSeconds", F_INT64, ONE, .doc = "Time to stop in; 0 ends at once."},
    {"orphanDependents", F_BOOL, ONE, .doc = "Old form of propagationPolicy."},
    {"preconditions", F_OBJECT, ONE, .of = &PRECONDITIONS,
     .doc = "Else the answer is 409 Conflict."},
    {"propagationPolicy", F_STRING, ONE, .doc = "Orphan, Background or Foreground."},
    {0},
};
static const struct type DELETE_OPTIONS = {META "DeleteOptions", "How an object is deleted.",
                                           DELETE_OPTIONS_FIELDS};

static const struct field PATCH_FIELDS[] = {{0}};
static const struct type PATCH = {META "Patch", "A patch in the form that its content type names.",
                                  PATCH_FIELDS};

static const struct field SCALE_SPEC_FIELDS[] = {
    {"replicas", F_INT32, ONE, .doc = "How many are wanted."},
    {0},
};
static const struct type SCALE_SPEC = {"io.k8s.api.autoscaling.v1.ScaleSpec", "The wanted scale.",
                                       SCALE_SPEC_FIELDS};
static const struct field SCALE_STATUS_FIELDS[] = {
    {"replicas", F_INT32, ONE, REQUIRED, .doc = "How many there are."},
    {"selector", F_STRING, ONE, .doc = "Selects those that are counted."},
    {0},
};
static const struct type SCALE_STATUS = {"io.k8s.api.autoscaling.v1.ScaleStatus",
                                         "The scale that was seen.", SCALE_STATUS_FIELDS};
static const struct field SCALE_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, .of = &SCALE_SPEC, .doc = "The wanted scale."},
    {"status", F_OBJECT, ONE, .of = &SCALE_STATUS, .doc = "The scale that was seen."},
    {0},
};
static const struct type SCALE = {"io.k8s.api.autoscaling.v1.Scale",
                                  "The number of replicas of an object, whatever its kind.",
                                  SCALE_FIELDS};

/* Scalars that are schemas of their own in Kubernetes, so that clients know them by name. Those
 * with two JSON types have no `type`: explain then shows their name instead of "string". */
static const struct named {
    const char *name, *type, *other_type, *format, *doc;
} NAMED[] = {
    [F_QUANTITY] = {"io.k8s.apimachinery.pkg.api.resource.Quantity", "string", "number", NULL,
                    "A number with an optional suffix: m for thousandths, k, M, G, T, P, E for "
                    "powers of 1000, Ki, Mi, Gi, Ti, Pi, Ei for powers of 1024. Examples: 250m, "
                    "2, 1.5Gi, 1e3."},
    [F_INT_OR_STRING] = {"io.k8s.apimachinery.pkg.util.intstr.IntOrString", "integer", "string",
                         "int-or-string", "An integer, or a text such as a name or a percentage."},
    [F_TIME] = {META "Time", "string", NULL, "date-time", "A point in time, as in RFC 3339."},
    [F_MICRO_TIME] = {META "MicroTime", "string", NULL, "date-time",
                      "A point in time with microseconds, as in RFC 3339."},
    [F_DURATION] = {META "Duration", "string", NULL, NULL, "A span of time: 90s, 5m, 1h30m."},
    [F_PERCENT] = {"dev.muster.v1alpha1.Percent", "number", "string", NULL,
                   "A share of a whole: \"80%\", or 80. From 0 to 100."},
    [F_ANY] = {0},
};

static const struct {
    const char *type, *format;
} PLAIN[] = {
    [F_OBJECT] = {"object", NULL},    [F_STRING] = {"string", NULL},
    [F_BOOL] = {"boolean", NULL},     [F_INT32] = {"integer", "int32"},
    [F_INT64] = {"integer", "int64"}, [F_NUMBER] = {"number", "double"},
    [F_BYTES] = {"string", "byte"},   [F_ANY] = {NULL, NULL},
};

/* ---- small pieces ---- */

static yyjson_mut_val *obj_new(struct build *b)
{
    return yyjson_mut_obj(b->doc);
}

/* Adders that abort on failure, as all of our memory does. Keys are literals or copied before. */
static void add(struct build *b, yyjson_mut_val *obj, const char *key, yyjson_mut_val *val)
{
    bool added = yyjson_mut_obj_add_val(b->doc, obj, key, val);
    assert(added);
}

static void add_str(struct build *b, yyjson_mut_val *obj, const char *key, const char *text)
{
    if (text != NULL)
        add(b, obj, key, yyjson_mut_str(b->doc, text));
}

static void add_copy(struct build *b, yyjson_mut_val *obj, const char *key, yyjson_mut_val *val)
{
    bool added = yyjson_mut_obj_add(obj, yyjson_mut_strcpy(b->doc, key), val);
    assert(added);
}

static yyjson_mut_val *add_obj(struct build *b, yyjson_mut_val *obj, const char *key)
{
    yyjson_mut_val *val = obj_new(b);
    add(b, obj, key, val);
    return val;
}

static yyjson_mut_val *add_arr(struct build *b, yyjson_mut_val *obj, const char *key)
{
    yyjson_mut_val *val = yyjson_mut_arr(b->doc);
    add(b, obj, key, val);
    return val;
}

static yyjson_mut_val *ref(struct build *b, const char *name)
{
    scoped_str path = {0};
    str_addf(&path, SCHEMAS "%s", name);
    yyjson_mut_val *obj = obj_new(b);
    add(b, obj, "$ref", yyjson_mut_strcpy(b->doc, path.data));
    return obj;
}

static yyjson_mut_val *wrapped_ref(struct build *b, const char *name)
{
    yyjson_mut_val *obj = obj_new(b);
    (void)yyjson_mut_arr_append(add_arr(b, obj, "allOf"), ref(b, name));
    return obj;
}

static yyjson_mut_val *gvk(struct build *b, const char *group, const char *version,
                           const char *kind)
{
    yyjson_mut_val *obj = obj_new(b);
    add_str(b, obj, "group", group);
    add(b, obj, "kind", yyjson_mut_strcpy(b->doc, kind));
    add_str(b, obj, "version", version);
    return obj;
}

/* ---- schemas ---- */

static void add_type(struct build *b, const struct type *type);

static bool has_schema(struct build *b, const char *name)
{
    return yyjson_mut_obj_get(b->schemas, name) != NULL;
}

static void add_named(struct build *b, enum ftype type)
{
    const struct named *named = &NAMED[type];
    if (has_schema(b, named->name))
        return;
    yyjson_mut_val *schema = add_obj(b, b->schemas, named->name);
    add_str(b, schema, "description", named->doc);
    if (named->other_type == NULL) {
        add_str(b, schema, "type", named->type);
    } else {
        yyjson_mut_val *types = add_arr(b, schema, "oneOf");
        add_str(b, yyjson_mut_arr_add_obj(b->doc, types), "type", named->type);
        add_str(b, yyjson_mut_arr_add_obj(b->doc, types), "type", named->other_type);
    }
    add_str(b, schema, "format", named->format);
    if (type == F_INT_OR_STRING)
        add(b, schema, "x-kubernetes-int-or-string", yyjson_mut_bool(b->doc, true));
}

static yyjson_mut_val *plain_schema(struct build *b, enum ftype type)
{
    yyjson_mut_val *schema = obj_new(b);
    add_str(b, schema, "type", PLAIN[type].type);
    add_str(b, schema, "format", PLAIN[type].format);
    if (type == F_ANY || type == F_OBJECT)
        add(b, schema, "x-kubernetes-preserve-unknown-fields", yyjson_mut_bool(b->doc, true));
    return schema;
}

static void add_limits(struct build *b, const struct field *field, yyjson_mut_val *schema)
{
    bool is_int = field->type == F_INT32 || field->type == F_INT64;
    if (!is_int || field->shape == LIST || !(field->flags & RANGE))
        return;
    if (field->min != INT64_MIN)
        add(b, schema, "minimum", yyjson_mut_sint(b->doc, field->min));
    if (field->max != 0 && field->max != INT64_MAX)
        add(b, schema, "maximum", yyjson_mut_sint(b->doc, field->max));
}

/* Of one value: the field itself, or an item of its list or map. */
static yyjson_mut_val *value_schema(struct build *b, const struct field *field)
{
    if (field->type == F_OBJECT && field->of != NULL) {
        add_type(b, field->of);
        return wrapped_ref(b, field->of->name);
    }
    if (field->type < ARRAY_LEN(NAMED) && NAMED[field->type].name != NULL) {
        add_named(b, field->type);
        return wrapped_ref(b, NAMED[field->type].name);
    }
    yyjson_mut_val *schema = plain_schema(b, field->type);
    add_limits(b, field, schema);
    if (field->values == NULL)
        return schema;
    yyjson_mut_val *values = add_arr(b, schema, "enum");
    for (const char *const *value = field->values; *value != NULL; value++)
        (void)yyjson_mut_arr_add_str(b->doc, values, *value);
    return schema;
}

static void add_list_type(struct build *b, const struct field *field, yyjson_mut_val *schema)
{
    bool merges = field->flags & MERGE;
    if (field->merge_key == NULL) {
        add_str(b, schema, "x-kubernetes-list-type", merges ? "set" : "atomic");
        return;
    }
    if (merges)
        add_str(b, schema, "x-kubernetes-patch-merge-key", field->merge_key);
    if (field->flags & KEY_MAY_REPEAT)
        return; /* the key alone does not tell the items apart, so this is no map by it */
    add_str(b, schema, "x-kubernetes-list-type", "map");
    (void)yyjson_mut_arr_add_str(b->doc, add_arr(b, schema, "x-kubernetes-list-map-keys"),
                                 field->merge_key);
}

static void add_patch_strategy(struct build *b, const struct field *field, yyjson_mut_val *schema)
{
    static const char *const STRATEGY[] = {NULL, "merge", "retainKeys", "merge,retainKeys"};
    unsigned merge = (field->flags & MERGE) ? 1 : 0;
    unsigned retain = (field->flags & RETAIN_KEYS) ? 2 : 0;
    add_str(b, schema, "x-kubernetes-patch-strategy", STRATEGY[merge | retain]);
}

static yyjson_mut_val *field_schema(struct build *b, const struct field *field)
{
    yyjson_mut_val *schema = NULL;
    if (field->shape == ONE) {
        schema = value_schema(b, field);
    } else {
        schema = obj_new(b);
        add_str(b, schema, "type", field->shape == LIST ? "array" : "object");
        add(b, schema, field->shape == LIST ? "items" : "additionalProperties",
            value_schema(b, field));
    }
    if (field->shape == LIST)
        add_list_type(b, field, schema);
    add_patch_strategy(b, field, schema);
    add_str(b, schema, "description", field->doc);
    if (field->fallback == NULL)
        return schema;
    scoped_json *fallback = yyjson_read(field->fallback, strlen(field->fallback), 0);
    assert(fallback != NULL);
    add(b, schema, "default", yyjson_val_mut_copy(b->doc, yyjson_doc_get_root(fallback)));
    return schema;
}

static void add_type(struct build *b, const struct type *type)
{
    if (has_schema(b, type->name))
        return;
    yyjson_mut_val *schema = obj_new(b);
    add_copy(b, b->schemas, type->name, schema); /* first, should the type contain itself */
    add_str(b, schema, "description", type->doc);
    add_str(b, schema, "type", "object");
    yyjson_mut_val *properties = obj_new(b), *required = yyjson_mut_arr(b->doc);
    for (const struct field *f = type->fields; f->name != NULL; f++) {
        add(b, properties, f->name, field_schema(b, f));
        if (f->flags & REQUIRED)
            (void)yyjson_mut_arr_add_str(b->doc, required, f->name);
    }
    if (yyjson_mut_obj_size(properties) > 0)
        add(b, schema, "properties", properties);
    if (yyjson_mut_arr_size(required) > 0)
        add(b, schema, "required", required);
}

static void name_kind(struct build *b, const char *schema_name, yyjson_mut_val *names)
{
    yyjson_mut_val *schema = yyjson_mut_obj_get(b->schemas, schema_name);
    assert(schema != NULL);
    if (yyjson_mut_obj_get(schema, GVK) == NULL)
        (void)yyjson_mut_arr_append(add_arr(b, schema, GVK), names);
}

static void add_list_schema(struct build *b, const struct kind *kind)
{
    scoped_free char *name = mem_printf("%sList", kind->type->name);
    scoped_free char *kind_name = mem_printf("%sList", kind->name);
    const struct field fields[] = {
        FIELDS_TYPE_META,
        {"metadata", F_OBJECT, ONE, .of = &LIST_META, .doc = "What all lists have."},
        {"items", F_OBJECT, LIST, REQUIRED, .of = kind->type, .doc = "The objects."},
        {0},
    };
    const struct type list = {name, "A list of objects of one kind.", fields};
    add_type(b, &list);
    name_kind(b, name, gvk(b, kind->group, kind->version, kind_name));
}

static void add_kind_schemas(struct build *b, const struct kind *kind)
{
    add_type(b, kind->type);
    name_kind(b, kind->type->name, gvk(b, kind->group, kind->version, kind->name));
    add_list_schema(b, kind);
    if (kind->scale == NULL)
        return;
    add_type(b, &SCALE);
    name_kind(b, SCALE.name, gvk(b, "autoscaling", "v1", "Scale"));
}

/* ---- operations ---- */

enum { P_READ = 1 << 0, P_LIST = 1 << 1, P_WRITE = 1 << 2, P_PATCH = 1 << 3, P_DELETE = 1 << 4 };

static const struct param {
    const char *name, *type, *doc;
    unsigned in;
} PARAMS[] = {
    {"allowWatchBookmarks", "boolean", "Send bookmarks while watching.", P_LIST},
    {"continue", "string", "Read on where the page before ended.", P_LIST},
    {"fieldSelector", "string", "Only objects whose fields match.", P_LIST},
    {"labelSelector", "string", "Only objects whose labels match.", P_LIST},
    {"limit", "integer", "At most so many items in one answer.", P_LIST},
    {"resourceVersion", "string", "The version to read at or to watch from.", P_LIST | P_READ},
    {"resourceVersionMatch", "string", "Exact or NotOlderThan.", P_LIST},
    {"sendInitialEvents", "boolean", "Begin a watch with what there is.", P_LIST},
    {"timeoutSeconds", "integer", "End the watch after this time.", P_LIST},
    {"watch", "boolean", "Answer with changes as they happen.", P_LIST},
    {"dryRun", "string", "All: do everything but store the result.", P_WRITE | P_PATCH | P_DELETE},
    {"fieldManager", "string", "Who makes the change.", P_WRITE | P_PATCH},
    {"fieldValidation", "string", "Unknown fields: Ignore, Warn or Strict.", P_WRITE | P_PATCH},
    {"force", "boolean", "Take over fields of other managers.", P_PATCH},
    {"gracePeriodSeconds", "integer", "Time to stop in; 0 ends at once.", P_DELETE},
    {"orphanDependents", "boolean", "Old form of propagationPolicy.", P_DELETE},
    {"propagationPolicy", "string", "Orphan, Background or Foreground.", P_DELETE},
};

enum body { BODY_NONE, BODY_SELF, BODY_PATCH, BODY_DELETE };
enum answer { ANSWER_SELF, ANSWER_LIST, ANSWER_STATUS };

struct op {
    const char *method, *action, *verb;
    unsigned params;
    enum body body;
    enum answer answer;
};

static const struct op LIST_OPS[] = {
    {"get", "list", "list", P_LIST, BODY_NONE, ANSWER_LIST},
    {0},
};
static const struct op COLLECTION_OPS[] = {
    {"get", "list", "list", P_LIST, BODY_NONE, ANSWER_LIST},
    {"post", "post", "create", P_WRITE, BODY_SELF, ANSWER_SELF},
    {"delete", "deletecollection", "deleteCollection", P_LIST | P_DELETE, BODY_DELETE,
     ANSWER_STATUS},
    {0},
};
static const struct op SINGLY_OPS[] = {
    {"get", "list", "list", P_LIST, BODY_NONE, ANSWER_LIST},
    {"post", "post", "create", P_WRITE, BODY_SELF, ANSWER_SELF},
    {0},
};
static const struct op ITEM_OPS[] = {
    {"get", "get", "read", P_READ, BODY_NONE, ANSWER_SELF},
    {"put", "put", "replace", P_WRITE, BODY_SELF, ANSWER_SELF},
    {"patch", "patch", "patch", P_PATCH, BODY_PATCH, ANSWER_SELF},
    {"delete", "delete", "delete", P_DELETE, BODY_DELETE, ANSWER_STATUS},
    {0},
};
static const struct op READING_OPS[] = {
    {"get", "get", "read", P_READ, BODY_NONE, ANSWER_SELF},
    {0},
};
static const struct op SUBRESOURCE_OPS[] = {
    {"get", "get", "read", P_READ, BODY_NONE, ANSWER_SELF},
    {"put", "put", "replace", P_WRITE, BODY_SELF, ANSWER_SELF},
    {"patch", "patch", "patch", P_PATCH, BODY_PATCH, ANSWER_SELF},
    {0},
};

/* One path of the API. */
struct place {
    const struct kind *kind;
    const char *suffix; /* of the operation ids: "NamespacedPodStatus" */
    const struct type *self;
    const struct op *ops;
    bool is_scale;
};

static void add_param(struct build *b, yyjson_mut_val *params, const struct param *param,
                      const char *in)
{
    yyjson_mut_val *obj = yyjson_mut_arr_add_obj(b->doc, params);
    add_str(b, obj, "name", param->name);
    add_str(b, obj, "in", in);
    add_str(b, obj, "description", param->doc);
    if (str_eq(in, "path"))
        add(b, obj, "required", yyjson_mut_bool(b->doc, true));
    yyjson_mut_val *schema = add_obj(b, obj, "schema");
    add_str(b, schema, "type", param->type);
    add(b, schema, "uniqueItems", yyjson_mut_bool(b->doc, true));
}

static void add_params(struct build *b, yyjson_mut_val *op_obj, unsigned wanted)
{
    yyjson_mut_val *params = add_arr(b, op_obj, "parameters");
    for (size_t i = 0; i < ARRAY_LEN(PARAMS); i++)
        if (PARAMS[i].in & wanted)
            add_param(b, params, &PARAMS[i], "query");
}

static void add_content(struct build *b, yyjson_mut_val *parent, const char *media,
                        const char *schema)
{
    yyjson_mut_val *content = yyjson_mut_obj_get(parent, "content");
    if (content == NULL)
        content = add_obj(b, parent, "content");
    add(b, add_obj(b, content, media), "schema", ref(b, schema));
}

static void add_body(struct build *b, yyjson_mut_val *op_obj, const struct place *place,
                     enum body body)
{
    static const char *const PATCHES[] = {"application/json-patch+json",
                                          "application/merge-patch+json",
                                          "application/strategic-merge-patch+json"};
    if (body == BODY_NONE)
        return;
    yyjson_mut_val *request = add_obj(b, op_obj, "requestBody");
    if (body == BODY_SELF)
        add_content(b, request, "application/json", place->self->name);
    if (body == BODY_DELETE)
        add_content(b, request, "application/json", DELETE_OPTIONS.name);
    for (size_t i = 0; body == BODY_PATCH && i < ARRAY_LEN(PATCHES); i++)
        add_content(b, request, PATCHES[i], PATCH.name);
    if (body != BODY_DELETE)
        add(b, request, "required", yyjson_mut_bool(b->doc, true));
}

static void add_response(struct build *b, yyjson_mut_val *op_obj, const struct place *place,
                         const struct op *op)
{
    yyjson_mut_val *responses = add_obj(b, op_obj, "responses");
    bool creates = str_eq(op->method, "post");
    yyjson_mut_val *response = add_obj(b, responses, creates ? "201" : "200");
    add_str(b, response, "description", creates ? "Created" : "OK");
    scoped_free char *list = mem_printf("%sList", place->self->name);
    const char *schema = op->answer == ANSWER_SELF   ? place->self->name
                         : op->answer == ANSWER_LIST ? list
                                                     : STATUS.name;
    add_content(b, response, "application/json", schema);
}

static void add_capitalised(struct str *out, struct sv word)
{
    if (word.len == 0)
        return;
    str_addc(out, (char)toupper((unsigned char)word.ptr[0]));
    str_addn(out, word.ptr + 1, word.len - 1);
}

/* "listCoreV1NamespacedPod": the group up to its first dot. */
static void operation_id(const struct place *place, const struct op *op, struct str *out)
{
    struct sv group = sv_of(place->kind->group[0] == '\0' ? "core" : place->kind->group);
    str_add(out, op->verb);
    add_capitalised(out, sv_cut(&group, '.'));
    add_capitalised(out, sv_of(place->kind->version));
    str_add(out, place->suffix);
}

static void add_op(struct build *b, yyjson_mut_val *path, const struct place *place,
                   const struct op *op)
{
    const struct kind *kind = place->kind;
    scoped_str id = {0};
    operation_id(place, op, &id);
    yyjson_mut_val *obj = add_obj(b, path, op->method);
    add(b, obj, "operationId", yyjson_mut_strcpy(b->doc, id.data));
    add_params(b, obj, op->params);
    add_body(b, obj, place, op->body);
    add_response(b, obj, place, op);
    add_str(b, obj, "x-kubernetes-action", op->action);
    add(b, obj, GVK,
        place->is_scale ? gvk(b, "autoscaling", "v1", "Scale")
                        : gvk(b, kind->group, kind->version, kind->name));
}

/* ---- paths ---- */

static void add_path(struct build *b, const char *path, const struct place *place)
{
    static const struct param NAMESPACE = {"namespace", "string", "The namespace.", 0};
    static const struct param NAME = {"name", "string", "The name of the object.", 0};
    static const struct param PRETTY = {"pretty", "string", "Indent the answer for people.", 0};
    yyjson_mut_val *obj = obj_new(b);
    add_copy(b, b->paths, path, obj);
    for (const struct op *op = place->ops; op->method != NULL; op++)
        add_op(b, obj, place, op);
    yyjson_mut_val *params = add_arr(b, obj, "parameters");
    if (strstr(path, "{name}") != NULL)
        add_param(b, params, &NAME, "path");
    if (strstr(path, "{namespace}") != NULL)
        add_param(b, params, &NAMESPACE, "path");
    add_param(b, params, &PRETTY, "query");
}

static void add_item_paths(struct build *b, const char *collection, struct place place,
                           const char *id)
{
    scoped_free char *item = mem_printf("%s/{name}", collection);
    scoped_free char *status = mem_printf("%s/status", item);
    scoped_free char *status_id = mem_printf("%sStatus", id);
    scoped_free char *scale = mem_printf("%s/scale", item);
    scoped_free char *scale_id = mem_printf("%sScale", id);
    place.ops = kind_is_reading(place.kind) ? READING_OPS : ITEM_OPS;
    add_path(b, item, &place);
    place.ops = SUBRESOURCE_OPS;
    place.suffix = status_id;
    if (place.kind->has_status)
        add_path(b, status, &place);
    if (place.kind->scale == NULL)
        return;
    place.self = &SCALE;
    place.suffix = scale_id;
    place.is_scale = true;
    add_path(b, scale, &place);
}

static void add_kind_paths(struct build *b, const struct kind *kind)
{
    char api[128];
    const char *root = kind->group[0] == '\0' ? "/api" : "/apis";
    const char *in = kind->namespaced ? "/namespaces/{namespace}" : "";
    scoped_free char *base = mem_printf("%s/%s", root, kind_api_version(kind, api));
    scoped_free char *all = mem_printf("%s/%s", base, kind->plural);
    scoped_free char *all_id = mem_printf("%sForAllNamespaces", kind->name);
    scoped_free char *collection = mem_printf("%s%s/%s", base, in, kind->plural);
    scoped_free char *id = mem_printf("%s%s", kind->namespaced ? "Namespaced" : "", kind->name);
    struct place place = {.kind = kind, .self = kind->type, .suffix = all_id, .ops = LIST_OPS};
    if (kind->namespaced)
        add_path(b, all, &place);
    place.suffix = id;
    place.ops = kind_is_reading(kind)     ? LIST_OPS
                : kind->is_deleted_singly ? SINGLY_OPS
                                          : COLLECTION_OPS;
    add_path(b, collection, &place);
    add_item_paths(b, collection, place, id);
}

static void add_head(struct build *b, yyjson_mut_val *root)
{
    add_str(b, root, "openapi", "3.0.0");
    yyjson_mut_val *info = add_obj(b, root, "info");
    add_str(b, info, "title", "muster");
    add_str(b, info, "version", MUSTER_VERSION);
    b->paths = add_obj(b, root, "paths");
    b->schemas = add_obj(b, add_obj(b, root, "components"), "schemas");
}

void openapi_v3(const char *group, const char *version, struct str *out_json)
{
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    assert(doc != NULL);
    struct build b = {.doc = doc};
    yyjson_mut_val *root = obj_new(&b);
    add_head(&b, root);
    add_type(&b, &STATUS);
    add_type(&b, &DELETE_OPTIONS);
    add_type(&b, &PATCH);
    const struct kind *kind;
    for (size_t i = 0; (kind = kind_served(i)) != NULL; i++) {
        if (!str_eq(kind->group, group) || !str_eq(kind->version, version))
            continue;
        add_kind_schemas(&b, kind);
        add_kind_paths(&b, kind);
    }
    json_write(root, out_json);
}
