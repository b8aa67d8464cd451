// SPDX-License-Identifier: Apache-2.0
/* What `muster simulate` rehearses. A Scenario is a file only: no server stores it. The objects in
 * it are checked as the server would check them. */
#include "base/mem.h"
#include "model/configuration.h"
#include "model/kind.h"
#include "model/rules.h"
#include <errno.h>
#include <stdlib.h>

#define MUSTER_V1ALPHA1(name) "dev.muster.v1alpha1." name
#define NODES_MAX 10000

// clang-format off
static const struct field NODE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_DNS_SUBDOMAIN,
     .doc = "Name of the node; with count the beginning of the names: n-0, n-1 and so on."},
    {"count", F_INT32, ONE, RANGE, .min = 1, .max = NODES_MAX,
     .doc = "How many nodes of this kind there are. One, of exactly this name, when not set."},
    {"capacity", F_QUANTITY, MAP, KEY_FORMAT | RANGE, .format = FMT_QUALIFIED, .min = 0,
     .max = INT64_MAX, .doc = "What each has: cpu, memory, pods (110 when not set), and anything "
                              "else that pods may ask for."},
    {"labels", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED, .doc = "Labels of each."},
    {"taints", F_OBJECT, LIST, .of = &TYPE_TAINT, .doc = "Taints of each."},
    {0}};

static const struct field PATCH_FIELDS[] = {
    {"apiVersion", F_STRING, ONE, REQUIRED, .doc = "Group and version of the object."},
    {"kind", F_STRING, ONE, REQUIRED, .doc = "Its kind."},
    {"namespace", F_STRING, ONE, .doc = "Its namespace; default when not set."},
    {"name", F_STRING, ONE, REQUIRED, .doc = "Its name."},
    {"patch", F_ANY, ONE, REQUIRED, .doc = "What changes: a merge patch of the object."},
    {0}};

static const struct field DELETE_FIELDS[] = {
    {"apiVersion", F_STRING, ONE, REQUIRED, .doc = "Group and version of the object."},
    {"kind", F_STRING, ONE, REQUIRED, .doc = "Its kind."},
    {"namespace", F_STRING, ONE, .doc = "Its namespace; default when not set."},
    {"name", F_STRING, ONE, REQUIRED, .doc = "Its name."},
    {"gracePeriodSeconds", F_INT64, ONE, RANGE, .min = 0, .max = INT32_MAX,
     .doc = "How long a pod has to end; the pod's own time when not set."},
    {0}};
// clang-format on

/* A plain n or y is false or true to YAML, and good names for nodes all the same. */
static void expand_letter(yyjson_mut_doc *doc, yyjson_mut_val *val, const char *field)
{
    yyjson_mut_val *name = yyjson_mut_obj_get(val, field);
    if (yyjson_mut_is_bool(name))
        json_mut_put(doc, val, field, yyjson_mut_str(doc, yyjson_mut_is_true(name) ? "y" : "n"));
}

static void node_expand(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    expand_letter(doc, val, "name");
}

static void event_expand(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    expand_letter(doc, val, "node");
}

/* ---- objects inside ---- */

static const char *text_at(yyjson_mut_val *obj, const char *key)
{
    const char *text = yyjson_mut_get_str(yyjson_mut_obj_get(obj, key));
    return text != NULL && *text != '\0' ? text : NULL;
}

static void unknown_kind(struct check *c, yyjson_mut_val *obj, const char *api, const char *name)
{
    VEC(const char *) names = {0};
    char version[128];
    const struct kind *same = NULL;
    for (size_t i = 0; KINDS[i] != NULL; i++) {
        vec_push(&names, KINDS[i]->name);
        same = str_eq(KINDS[i]->name, name) ? KINDS[i] : same;
    }
    if (same != NULL) {
        scoped_free char *why = mem_printf("it has no kind %s", name);
        check_invalid(c, "apiVersion", yyjson_mut_obj_get(obj, "apiVersion"), why);
        scoped_free char *hint =
            mem_printf("write apiVersion: %s", kind_api_version(same, version));
        check_hint(c, hint);
    } else {
        scoped_free char *why = mem_printf("there is no such kind in %s", api);
        check_invalid(c, "kind", yyjson_mut_obj_get(obj, "kind"), why);
        check_hint_nearest(c, name, names.items, names.len);
    }
    vec_done(&names);
}

static const struct kind *kind_inside(yyjson_mut_val *obj)
{
    const char *api = text_at(obj, "apiVersion"), *name = text_at(obj, "kind");
    return api != NULL && name != NULL ? kind_of_api(api, name) : NULL;
}

/* NULL: it has been said why. */
static const struct kind *check_kind(struct check *c, yyjson_mut_val *obj)
{
    const char *api = text_at(obj, "apiVersion"), *name = text_at(obj, "kind");
    if (api == NULL)
        check_required(c, "apiVersion", "for example v1");
    if (name == NULL)
        check_required(c, "kind", "for example Pod");
    const struct kind *kind = kind_inside(obj);
    if (api != NULL && name != NULL && kind == NULL)
        unknown_kind(c, obj, api, name);
    return kind;
}

static void check_name(struct check *c, const struct kind *kind, yyjson_mut_val *obj)
{
    yyjson_mut_val *meta = yyjson_mut_obj_get(obj, "metadata");
    const char *name = text_at(meta, "name");
    size_t mark = check_enter(c, "metadata");
    if (name == NULL && text_at(meta, "generateName") == NULL) {
        check_required(c, "name", "every object needs a name");
    } else if (name != NULL) {
        const char *why = format_problem(kind->name_format, name, strlen(name));
        if (why != NULL)
            check_invalid(c, "name", yyjson_mut_obj_get(meta, "name"), why);
    }
    check_leave(c, mark);
}

static void check_object_inside(struct check *c, yyjson_mut_val *obj)
{
    if (!yyjson_mut_is_obj(obj)) {
        check_type(c, NULL, obj, "an object");
        return;
    }
    const struct kind *kind = check_kind(c, obj);
    if (kind == NULL)
        return;
    schema_check_within(c, kind->type, obj);
    check_name(c, kind, obj);
}

static void fill_object_inside(yyjson_mut_doc *doc, yyjson_mut_val *obj)
{
    const struct kind *kind = yyjson_mut_is_obj(obj) ? kind_inside(obj) : NULL;
    if (kind != NULL)
        schema_fill(kind->type, doc, obj);
}

static void target_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    (void)check_kind(c, val);
    yyjson_mut_val *patch = yyjson_mut_obj_get(val, "patch");
    if (patch != NULL && !yyjson_mut_is_obj(patch))
        check_type(c, "patch", patch, "an object");
}

static const struct type TYPE_SCENARIO_PATCH = {MUSTER_V1ALPHA1("ScenarioPatch"),
                                                "A change of an object.", PATCH_FIELDS,
                                                .check = target_check};
static const struct type TYPE_SCENARIO_DELETE = {MUSTER_V1ALPHA1("ScenarioDelete"),
                                                 "The end of an object.", DELETE_FIELDS,
                                                 .check = target_check};

/* ---- events ---- */

// clang-format off
static const struct field EVENT_FIELDS[] = {
    {"at", F_DURATION, ONE, REQUIRED, .doc = "When, since the beginning: 90s, 1h30m."},
    {"create", F_ANY, ONE, .doc = "An object that is created, as in a file."},
    {"patch", F_OBJECT, ONE, .of = &TYPE_SCENARIO_PATCH, .doc = "An object that is changed."},
    {"delete", F_OBJECT, ONE, .of = &TYPE_SCENARIO_DELETE, .doc = "An object that is deleted."},
    {"node", F_STRING, ONE, .doc = "A node to which something happens; state says what."},
    {"state", F_STRING, ONE, .values = VALUES("Ready", "Cordoned", "Drained", "Unreachable", "Gone"),
     .doc = "Ready: it is there and takes pods. Cordoned: it takes no new ones. Drained: nor does "
            "it keep those that it has. Unreachable: it falls silent, its containers go on. Gone: "
            "it and all on it is lost."},
    {"pod", F_STRING, ONE,
     .doc = "namespace/name of a pod of which a container ends. Instead of the whole name the "
            "beginning is enough when the rest was made up: job-a-0 is the pod of index 0 of Job "
            "a."},
    {"container", F_STRING, ONE, .doc = "Which; may be left out when there is only one."},
    {"exit", F_INT32, ONE, RANGE, .min = 0, .max = 255,
     .doc = "Its exit code; 128 + N is a death by signal N. 1 when not set."},
    {"controller", F_STRING, ONE, .values = VALUES("restart"),
     .doc = "restart: the control plane is killed and started again."},
    {0}};
// clang-format on

static void only_with(struct check *c, yyjson_mut_val *val, const char *field, const char *needs)
{
    if (!rules_has(val, field) || rules_has(val, needs))
        return;
    scoped_free char *why = mem_printf("only together with %s", needs);
    check_forbidden(c, field, why);
}

static void check_span(struct check *c, yyjson_mut_val *obj, const char *field)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, field);
    struct sv text = {yyjson_mut_get_str(val), yyjson_mut_get_len(val)};
    time_ms span = 0;
    if (text.ptr != NULL && duration_parse(text, &span, NULL) == 0 && span < 0)
        check_invalid(c, field, val, "must not be negative");
}

static void check_pod_name(struct check *c, yyjson_mut_val *val)
{
    const char *pod = text_at(val, "pod");
    if (pod == NULL || strchr(pod, '/') != NULL)
        return;
    check_invalid(c, "pod", yyjson_mut_obj_get(val, "pod"), "must be namespace/name");
    scoped_free char *hint = mem_printf("write default/%s", pod);
    check_hint(c, hint);
}

static void event_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    static const char *const NAMES[] = {"create", "patch",      "delete", "node",
                                        "pod",    "controller", NULL};
    (void)old;
    (void)rules_one_of(c, val, NAMES, "event");
    check_span(c, val, "at");
    only_with(c, val, "state", "node");
    only_with(c, val, "container", "pod");
    only_with(c, val, "exit", "pod");
    if (rules_has(val, "node") && !rules_has(val, "state"))
        check_required(c, "state", "Ready, Cordoned, Drained, Unreachable or Gone");
    check_pod_name(c, val);
    yyjson_mut_val *create = yyjson_mut_obj_get(val, "create");
    if (create == NULL)
        return;
    size_t mark = check_enter(c, "create");
    check_object_inside(c, create);
    check_leave(c, mark);
}

static void event_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    fill_object_inside(doc, yyjson_mut_obj_get(val, "create"));
}

static const struct type TYPE_SCENARIO_NODE = {
    MUSTER_V1ALPHA1("ScenarioNode"), "Nodes of one kind.", NODE_FIELDS, .expand = node_expand};
static const struct type TYPE_SCENARIO_EVENT = {
    MUSTER_V1ALPHA1("ScenarioEvent"),
    "Something that happens at a time: exactly one of create, "
    "patch, delete, node, pod and controller.",
    EVENT_FIELDS,
    .check = event_check,
    .fill = event_fill,
    .expand = event_expand};

/* ---- the whole ---- */

// clang-format off
static const struct field SPEC_FIELDS[] = {
    {"seed", F_INT64, ONE, RANGE, .min = 0, .max = INT64_MAX, .fallback = "1",
     .doc = "Decides all that is drawn: names, jitter. The same seed gives the same run."},
    {"until", F_DURATION, ONE, .fallback = "\"24h\"",
     .doc = "When the rehearsal ends at the latest. It ends earlier when nothing can happen any "
            "more."},
    {"configuration", F_OBJECT, ONE, .of = &TYPE_CONFIGURATION_BLOCK,
     .doc = "What muster up --config would read: waitForPodsReady, placement."},
    {"nodes", F_OBJECT, LIST, .of = &TYPE_SCENARIO_NODE, .merge_key = "name",
     .doc = "The machines."},
    {"objects", F_ANY, LIST, .doc = "Objects that are there from the beginning, created in this "
                                    "order."},
    {"events", F_OBJECT, LIST, .of = &TYPE_SCENARIO_EVENT, .doc = "What happens, and when."},
    {0}};
// clang-format on

/* Is `name` one of the names that a row with a count stands for: its own, "-", and a number? */
static bool is_numbered(yyjson_mut_val *row, const char *name)
{
    const char *begin = text_at(row, "name");
    size_t len = begin != NULL ? strlen(begin) : 0;
    if (len == 0 || !rules_has(row, "count") || strncmp(name, begin, len) != 0 || name[len] != '-')
        return false;
    const char *number = name + len + 1;
    char *end;
    if (*number < '0' || *number > '9' || (*number == '0' && number[1] != '\0'))
        return false;
    errno = 0;
    long long n = strtoll(number, &end, 10);
    return errno == 0 && *end == '\0' && n < json_mut_int_at(row, "count", 0);
}

/* Equal names are the table's to report; a name may also be one of those that are counted. */
static void check_machines(struct check *c, yyjson_mut_val *nodes)
{
    size_t mark = check_enter_field(c, "nodes", nodes), i, n, k, m;
    yyjson_mut_val *node, *other;
    yyjson_mut_arr_foreach(nodes, i, n, node)
    {
        const char *name = text_at(node, "name");
        bool is_known = false;
        if (name == NULL || rules_has(node, "count"))
            continue;
        yyjson_mut_arr_foreach(nodes, k, m, other)
        {
            is_known = is_known || is_numbered(other, name);
        }
        if (!is_known)
            continue;
        size_t at = check_enter_item(c, i, node);
        check_duplicate(c, "name", yyjson_mut_obj_get(node, "name"));
        check_leave(c, at);
    }
    check_leave(c, mark);
}

static void spec_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    check_span(c, val, "until");
    check_machines(c, yyjson_mut_obj_get(val, "nodes"));
    yyjson_mut_val *objects = yyjson_mut_obj_get(val, "objects");
    size_t list = check_enter(c, "objects");
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(objects, i, n, item)
    {
        size_t mark = check_enter_item(c, i, item);
        check_object_inside(c, item);
        check_leave(c, mark);
    }
    check_leave(c, list);
}

static void spec_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(val, "objects"), i, n, item)
    {
        fill_object_inside(doc, item);
    }
}

static const struct type TYPE_SCENARIO_SPEC = {MUSTER_V1ALPHA1("ScenarioSpec"),
                                               "What is rehearsed.", SPEC_FIELDS,
                                               .check = spec_check, .fill = spec_fill};

static const struct field SCENARIO_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_SCENARIO_SPEC, .doc = "What is rehearsed."},
    {0}};
static const struct type TYPE_SCENARIO = {MUSTER_V1ALPHA1("Scenario"),
                                          "A story that muster simulate plays in virtual time.",
                                          SCENARIO_FIELDS};

static const struct column COLUMNS[] = {
    {"Name", "string", "name", "Its name.", 0, "metadata.name"},
    {0},
};

const struct kind KIND_SCENARIO = {.group = "muster.dev",
                                   .version = "v1alpha1",
                                   .name = "Scenario",
                                   .plural = "scenarios",
                                   .singular = "scenario",
                                   .name_format = FMT_DNS_SUBDOMAIN,
                                   .type = &TYPE_SCENARIO,
                                   .columns = COLUMNS};
