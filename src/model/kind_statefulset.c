// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "model/kind.h"
#include "model/podspec.h"
#include "model/rules.h"

#define APPS_V1(name) "io.k8s.api.apps.v1." name

// clang-format off
static const struct field ROLLING_UPDATE_FIELDS[] = {
    {"partition", F_INT32, ONE, RANGE, .pb = 1 | PB_ZERO,
     .doc = "Only pods with this ordinal or a higher one are updated; the others stay as they are, "
            "and are made as they were when they are lost."},
    {"maxUnavailable", F_INT_OR_STRING, ONE, .pb = 2 | PB_ZERO,
     .doc = "How many pods may be away during an update, as a number or a percentage; 1 unless "
            "set."},
    {0}};
static const struct type TYPE_ROLLING_UPDATE = {
    APPS_V1("RollingUpdateStatefulSetStrategy"), "How far and how fast an update goes.",
    ROLLING_UPDATE_FIELDS};

static const struct field STRATEGY_FIELDS[] = {
    {"type", F_STRING, ONE, .fallback = "\"RollingUpdate\"",
     .values = VALUES("RollingUpdate", "OnDelete"), .pb = 1,
     .doc = "RollingUpdate: pods are replaced one after the other, from the highest ordinal down. "
            "OnDelete: a pod gets the new template when somebody deletes it."},
    {"rollingUpdate", F_OBJECT, ONE, .of = &TYPE_ROLLING_UPDATE, .pb = 2 | PB_ZERO,
     .doc = "Details of RollingUpdate."},
    {0}};
// clang-format on

static void strategy_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    if (!str_eq(json_mut_str_at(val, "type"), "RollingUpdate"))
        return;
    yyjson_mut_val *rolling = json_mut_need_obj(doc, val, "rollingUpdate");
    if (!rules_has(rolling, "partition"))
        json_mut_put(doc, rolling, "partition", yyjson_mut_sint(doc, 0));
}

static void check_unavailable(struct check *c, yyjson_mut_val *val)
{
    yyjson_mut_val *most = json_mut_at(val, "rollingUpdate.maxUnavailable");
    bool is_none = yyjson_mut_is_int(most) ? yyjson_mut_get_sint(most) < 1
                                           : str_eq(yyjson_mut_get_str(most), "0%");
    if (most == NULL || !is_none)
        return;
    size_t mark = check_enter(c, "rollingUpdate");
    check_invalid(c, "maxUnavailable", most, "cannot be 0");
    check_leave(c, mark);
}

static void strategy_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    if (str_eq(json_mut_str_at(val, "type"), "OnDelete") && rules_has(val, "rollingUpdate"))
        check_invalid(c, "rollingUpdate", yyjson_mut_obj_get(val, "rollingUpdate"),
                      "only allowed for updateStrategy 'RollingUpdate'");
    check_unavailable(c, val);
}

static const struct type TYPE_STRATEGY = {APPS_V1("StatefulSetUpdateStrategy"),
                                          "How pods get a new template.", STRATEGY_FIELDS,
                                          .check = strategy_check, .fill = strategy_fill};

// clang-format off
static const struct field ORDINALS_FIELDS[] = {
    {"start", F_INT32, ONE, RANGE, .pb = 1 | PB_ZERO, .doc = "The lowest number; 0 unless set."},
    {0}};
static const struct type TYPE_ORDINALS = {
    APPS_V1("StatefulSetOrdinals"), "Where the numbers of pods begin.", ORDINALS_FIELDS};

static const struct field RETENTION_FIELDS[] = {
    {"whenDeleted", F_STRING, ONE, .values = VALUES("Retain", "Delete"), .pb = 1,
     .doc = "What becomes of claims when the set is deleted. There are no claims here; it is "
            "kept."},
    {"whenScaled", F_STRING, ONE, .values = VALUES("Retain", "Delete"), .pb = 2,
     .doc = "What becomes of claims when the set shrinks. There are no claims here; it is kept."},
    {0}};
static const struct type TYPE_RETENTION = {
    APPS_V1("StatefulSetPersistentVolumeClaimRetentionPolicy"), "What becomes of claims.",
    RETENTION_FIELDS};

static const struct field SPEC_FIELDS[] = {
    {"replicas", F_INT32, ONE, RANGE, .fallback = "1", .pb = 1 | PB_ZERO,
     .doc = "How many pods there are, numbered without gaps."},
    {"selector", F_OBJECT, ONE, REQUIRED | IMMUTABLE, .of = &TYPE_LABEL_SELECTOR, .pb = 2 | PB_ZERO,
     .doc = "The labels of the set's pods; the template must have them."},
    {"template", F_OBJECT, ONE, REQUIRED, .of = &TYPE_POD_TEMPLATE_SPEC, .pb = 3 | PB_ZERO,
     .doc = "The pattern of the pods. Each is called NAME-NUMBER, and so is its host."},
    {"volumeClaimTemplates", F_ANY, LIST, .pb = 4,
     .doc = "Claims that each pod has of its own. There are no claims here: refused."},
    {"serviceName", F_STRING, ONE, IMMUTABLE, .pb = 5 | PB_ZERO,
     .doc = "The service that names the pods. There are no services here; it is kept."},
    {"podManagementPolicy", F_STRING, ONE, IMMUTABLE, .fallback = "\"OrderedReady\"",
     .values = VALUES("OrderedReady", "Parallel"), .pb = 6,
     .doc = "OrderedReady: pods are made in order, each when the one before it is ready, and "
            "removed in reverse order. Parallel: all at once."},
    {"updateStrategy", F_OBJECT, ONE, .of = &TYPE_STRATEGY, .fallback = "{}", .pb = 7 | PB_ZERO,
     .doc = "How pods get a new template."},
    {"revisionHistoryLimit", F_INT32, ONE, RANGE, .fallback = "10", .pb = 8 | PB_ZERO,
     .doc = "How many old templates are kept, for kubectl rollout undo."},
    {"minReadySeconds", F_INT32, ONE, RANGE, .pb = 9,
     .doc = "For how long a pod must have been ready before the next one is touched."},
    {"persistentVolumeClaimRetentionPolicy", F_OBJECT, ONE, .of = &TYPE_RETENTION, .pb = 10 | PB_ZERO,
     .doc = "What becomes of claims. There are none here; it is kept."},
    {"ordinals", F_OBJECT, ONE, .of = &TYPE_ORDINALS, .pb = 11 | PB_ZERO,
     .doc = "Where the numbers of pods begin."},
    {0}};
// clang-format on

static void check_template(struct check *c, yyjson_mut_val *val)
{
    yyjson_mut_val *policy = json_mut_at(val, "template.spec.restartPolicy");
    yyjson_mut_val *labels = json_mut_at(val, "template.metadata.labels");
    size_t template = check_enter(c, "template");
    if (policy != NULL && !str_eq(yyjson_mut_get_str(policy), "Always")) {
        size_t spec = check_enter(c, "spec");
        check_not_supported(c, "restartPolicy", policy, VALUES("Always"));
        check_hint(c, "pods of a StatefulSet run until they are taken away; for work that ends, "
                      "use a Job");
        check_leave(c, spec);
    }
    if (!rules_labels_match(json_mut_at(val, "selector.matchLabels"), labels)) {
        size_t meta = check_enter(c, "metadata");
        check_invalid(c, "labels", labels, "`selector` does not match template `labels`");
        check_leave(c, meta);
    }
    check_leave(c, template);
}

static void spec_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    yyjson_mut_val *selector = yyjson_mut_obj_get(val, "selector");
    if (yyjson_mut_is_obj(selector) &&
        yyjson_mut_obj_size(yyjson_mut_obj_get(selector, "matchLabels")) == 0 &&
        yyjson_mut_arr_size(yyjson_mut_obj_get(selector, "matchExpressions")) == 0)
        check_invalid(c, "selector", selector, "empty selector is invalid for statefulset");
    else
        check_template(c, val);
    if (yyjson_mut_arr_size(yyjson_mut_obj_get(val, "volumeClaimTemplates")) > 0) {
        check_forbidden(c, "volumeClaimTemplates", "there are no persistent volume claims here");
        check_hint(c, "use an emptyDir volume, or hostPath for what must outlive the pod");
    }
}

static const struct type TYPE_SPEC = {
    APPS_V1("StatefulSetSpec"),
    "How many pods there are, of what pattern, and how they are replaced.",
    SPEC_FIELDS,
    .check = spec_check,
};

// clang-format off
static const struct field CONDITION_FIELDS[] = {
    {"type", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "Which aspect of the set this is."},
    {"status", F_STRING, ONE, REQUIRED, .values = VALUES("True", "False", "Unknown"),
     .pb = 2 | PB_ZERO, .doc = "True, False or Unknown."},
    {"lastTransitionTime", F_TIME, ONE, .pb = 3, .doc = "When the status last changed."},
    {"reason", F_STRING, ONE, .pb = 4, .doc = "One word: why the status is what it is."},
    {"message", F_STRING, ONE, .pb = 5, .doc = "The same for people."},
    {0}};
static const struct type TYPE_SET_CONDITION = {
    APPS_V1("StatefulSetCondition"), "One aspect of the set's state, and since when it is so.",
    CONDITION_FIELDS};

static const struct field STATUS_FIELDS[] = {
    {"observedGeneration", F_INT64, ONE, .pb = 1,
     .doc = "The generation of the set that this status is about."},
    {"replicas", F_INT32, ONE, RANGE, .pb = 2 | PB_ZERO, .doc = "Pods that exist."},
    {"readyReplicas", F_INT32, ONE, RANGE, .pb = 3, .doc = "Pods that are ready."},
    {"currentReplicas", F_INT32, ONE, RANGE, .pb = 4, .doc = "Pods of the current revision."},
    {"updatedReplicas", F_INT32, ONE, RANGE, .pb = 5,
     .doc = "Pods of the revision that is being rolled out."},
    {"currentRevision", F_STRING, ONE, .pb = 6,
     .doc = "The revision that pods had before the update, or have when none is under way."},
    {"updateRevision", F_STRING, ONE, .pb = 7, .doc = "The revision of the template as it is."},
    {"collisionCount", F_INT32, ONE, .pb = 9 | PB_ZERO,
     .doc = "How often the name of a revision was taken."},
    {"conditions", F_OBJECT, LIST, MERGE, .of = &TYPE_SET_CONDITION, .merge_key = "type", .pb = 10,
     .doc = "Aspects of the set's state."},
    {"availableReplicas", F_INT32, ONE, RANGE, .pb = 11 | PB_ZERO,
     .doc = "Pods that have been ready for minReadySeconds."},
    {0}};
static const struct type TYPE_STATUS = {
    APPS_V1("StatefulSetStatus"), "What pods there are.", STATUS_FIELDS};

static const struct field SET_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_SPEC, .pb = 2,
     .doc = "How many pods there are, of what pattern, and how they are replaced."},
    {"status", F_OBJECT, ONE, .of = &TYPE_STATUS, .pb = 3, .doc = "What pods there are."},
    {0}};
// clang-format on

static const struct type TYPE_STATEFULSET = {
    APPS_V1("StatefulSet"),
    "Pods with numbers: each keeps its name, whatever happens to it.",
    SET_FIELDS,
};

/* Readers may count on the two that are never left out. */
static void set_prepare(yyjson_mut_doc *doc, yyjson_mut_val *root, time_ms now)
{
    (void)now;
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_int(doc, status, "replicas", 0);
    yyjson_mut_obj_add_int(doc, status, "availableReplicas", 0);
    json_mut_put(doc, root, "status", status);
}

static void cell_ready(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_textf(out, "%lld/%lld", (long long)json_int_at(root, "status.readyReplicas", 0),
               (long long)json_int_at(root, "spec.replicas", 0));
}

static void add_of_containers(yyjson_val *root, const char *field, struct str *out)
{
    scoped_str text = {0};
    size_t i, n;
    yyjson_val *container;
    yyjson_arr_foreach(json_at(root, "spec.template.spec.containers"), i, n, container)
    {
        str_add(&text, i == 0 ? "" : ",");
        str_add(&text, json_str_at(container, field));
    }
    cell_text(out, str_text(&text));
}

static void cell_containers(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    add_of_containers(root, "name", out);
}

static void cell_images(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    add_of_containers(root, "image", out);
}

// clang-format off
static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Ready", "string", "", "Pods that are ready, of those wanted.", .cell = cell_ready},
    AGE_COLUMN,
    {"Containers", "string", "", "Names of the pods' containers.", 1, .cell = cell_containers},
    {"Images",     "string", "", "Images of the pods' containers.", 1, .cell = cell_images},
    {0}};
// clang-format on

static const struct kind_scale SCALE = {
    .spec_replicas = "spec.replicas",
    .status_replicas = "status.replicas",
    .selector = "spec.selector",
};

const struct kind KIND_STATEFULSET = {
    .group = "apps",
    .version = "v1",
    .name = "StatefulSet",
    .plural = "statefulsets",
    .singular = "statefulset",
    .short_names = VALUES("sts"),
    .categories = VALUES("all"),
    .namespaced = true,
    .has_status = true,
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_STATEFULSET,
    .columns = COLUMNS,
    .scale = &SCALE,
    .prepare = set_prepare,
};
