// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "model/job.h"
#include "model/kind.h"
#include "model/kueue.h"
#include "model/rules.h"
#include <errno.h>
#include <stdlib.h>

#define LABEL_UID "batch.kubernetes.io/controller-uid"
#define LABEL_NAME "batch.kubernetes.io/job-name"

// clang-format off
static const struct field JOB_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_JOB_SPEC, .pb = 2,
     .doc = "What the Job runs, how often, and how it bears failures."},
    {"status", F_OBJECT, ONE, .of = &TYPE_JOB_STATUS, .pb = 3,
     .doc = "How far the Job has come."},
    {0}};
// clang-format on

/* A Job without labels takes those of its pods. */
static void job_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    yyjson_mut_val *meta = yyjson_mut_obj_get(val, "metadata");
    yyjson_mut_val *labels = json_mut_at(val, "spec.template.metadata.labels");
    if (!yyjson_mut_is_obj(meta) || yyjson_mut_obj_size(labels) == 0)
        return;
    if (yyjson_mut_obj_size(yyjson_mut_obj_get(meta, "labels")) == 0)
        json_mut_put(doc, meta, "labels", yyjson_mut_val_mut_copy(doc, labels));
}

/* ---- updates ---- */

static const char *const NOTHING[] = {NULL};
/* Where pods may go can be decided until they exist. */
static const char *const SCHEDULING[] = {
    "metadata.labels",
    "metadata.annotations",
    "spec.nodeSelector",
    "spec.affinity",
    "spec.tolerations",
    "spec.schedulingGates",
    NULL,
};

static void check_template(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old)
{
    bool suspended = yyjson_mut_get_bool(yyjson_mut_obj_get(old, "suspend"));
    scoped_str path = {0};
    if (!rules_changed(yyjson_mut_obj_get(spec, "template"), yyjson_mut_obj_get(old, "template"),
                       suspended ? SCHEDULING : NOTHING, &path))
        return;
    size_t mark = check_enter(c, "template");
    check_forbidden(c, path.len > 0 ? str_text(&path) : NULL,
                    suspended ? "field is immutable; of the template of a suspended Job only "
                                "labels, annotations and what decides on nodes may change"
                              : "field is immutable");
    check_hint(c, "delete the Job and create it anew");
    check_leave(c, mark);
}

static void check_completions(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old)
{
    yyjson_mut_val *now = yyjson_mut_obj_get(spec, "completions");
    if (rules_same(now, yyjson_mut_obj_get(old, "completions")))
        return;
    bool indexed = str_eq(json_mut_str_at(spec, "completionMode"), "Indexed");
    if (!indexed)
        check_invalid(c, "completions", now, "field is immutable");
    else if (!rules_same(now, yyjson_mut_obj_get(spec, "parallelism")))
        check_invalid(c, "completions", now,
                      "can only be changed to the same number as parallelism, both together");
}

/* A Job that takes fewer pods says how few. While it runs with fewer this was looked at before. */
static void check_least(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    yyjson_mut_val *notes = json_mut_at(val, "metadata.annotations");
    yyjson_mut_val *before = json_mut_at(old, "metadata.annotations");
    yyjson_mut_val *least = yyjson_mut_obj_get(notes, KUEUE_MIN_PARALLELISM);
    if (!yyjson_mut_is_str(least) ||
        rules_same(least, yyjson_mut_obj_get(before, KUEUE_MIN_PARALLELISM)))
        return;
    int64_t most = json_mut_int_at(val, "spec.parallelism", 1);
    int64_t completions = json_mut_int_at(val, "spec.completions", most);
    most = completions < most ? completions : most;
    char *end;
    errno = 0;
    long long number = strtoll(yyjson_mut_get_str(least), &end, 10);
    if (errno == 0 && end != yyjson_mut_get_str(least) && *end == '\0' && number > 0 &&
        number < most)
        return;
    size_t mark = check_enter(c, "metadata");
    size_t at = check_enter(c, "annotations");
    size_t inner = check_enter_member(c, KUEUE_MIN_PARALLELISM, least);
    scoped_free char *why = mem_printf(
        "should be a number above 0 and below %lld, the pods at a time", (long long)most);
    check_invalid(c, NULL, least, why);
    check_leave(c, inner);
    check_leave(c, at);
    check_leave(c, mark);
}

static void job_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(val, "spec");
    yyjson_mut_val *old_spec = yyjson_mut_obj_get(old, "spec");
    kueue_check_labels(c, val, old);
    check_least(c, val, old);
    if (!yyjson_mut_is_obj(spec) || !yyjson_mut_is_obj(old_spec))
        return;
    size_t mark = check_enter(c, "spec");
    check_template(c, spec, old_spec);
    check_completions(c, spec, old_spec);
    check_leave(c, mark);
}

static const struct type TYPE_JOB = {
    BATCH_V1("Job"),  "Runs pods until a given number of them has succeeded.",
    JOB_FIELDS,       .check = job_check,
    .fill = job_fill,
};

/* ---- what the server adds ---- */

/* The labels are of two generations of names; tools look for either. */
static const struct {
    const char *label, *source;
} GENERATED[] = {
    {LABEL_UID, "metadata.uid"},
    {LABEL_NAME, "metadata.name"},
    {"controller-uid", "metadata.uid"},
    {"job-name", "metadata.name"},
};

static bool is_manual(yyjson_mut_val *root)
{
    return yyjson_mut_get_bool(json_mut_at(root, "spec.manualSelector"));
}

/* Labels that were copied from another Job along with its template are replaced. */
static void job_prepare(yyjson_mut_doc *doc, yyjson_mut_val *root, time_ms now)
{
    (void)now;
    kueue_hold(doc, root);
    json_mut_put(doc, root, "status", yyjson_mut_obj(doc));
    const char *uid = json_mut_str_at(root, "metadata.uid");
    if (is_manual(root) || uid == NULL || !yyjson_mut_is_obj(json_mut_at(root, "spec")))
        return;
    yyjson_mut_val *labels = json_mut_need_obj(doc, root, "spec.template.metadata.labels");
    for (size_t i = 0; i < ARRAY_LEN(GENERATED); i++) {
        const char *value = json_mut_str_at(root, GENERATED[i].source);
        if (value != NULL)
            json_mut_put(doc, labels, GENERATED[i].label, yyjson_mut_strcpy(doc, value));
    }
    yyjson_mut_val *match = yyjson_mut_obj(doc);
    json_mut_put(doc, match, LABEL_UID, yyjson_mut_strcpy(doc, uid));
    yyjson_mut_val *selector = yyjson_mut_obj(doc);
    json_mut_put(doc, selector, "matchLabels", match);
    json_mut_set(doc, root, "spec.selector", selector);
}

/* Whoever writes back the manifest from which the Job was made has not seen what was added. */
static void job_prepare_update(yyjson_mut_doc *doc, yyjson_mut_val *new_root, yyjson_val *old_root)
{
    yyjson_val *selector = json_at(old_root, "spec.selector");
    if (is_manual(new_root) || !yyjson_mut_is_obj(json_mut_at(new_root, "spec.template")))
        return;
    if (selector != NULL && !rules_has(json_mut_at(new_root, "spec"), "selector"))
        json_mut_set(doc, new_root, "spec.selector", yyjson_val_mut_copy(doc, selector));
    yyjson_val *old_labels = json_at(old_root, "spec.template.metadata.labels");
    for (size_t i = 0; i < ARRAY_LEN(GENERATED); i++) {
        yyjson_val *old = yyjson_obj_get(old_labels, GENERATED[i].label);
        yyjson_mut_val *labels = json_mut_need_obj(doc, new_root, "spec.template.metadata.labels");
        if (old != NULL && !rules_has(labels, GENERATED[i].label))
            json_mut_put(doc, labels, GENERATED[i].label, yyjson_val_mut_copy(doc, old));
    }
}

/* ---- cells ---- */

static void cell_status(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    static const struct {
        const char *condition, *word;
    } AFTER_DELETION[] = {{"Suspended", "Suspended"},
                          {"FailureTarget", "FailureTarget"},
                          {"SuccessCriteriaMet", "SuccessCriteriaMet"}};
    yyjson_val *conditions = json_at(root, "status.conditions");
    const char *word = "Running";
    for (size_t i = ARRAY_LEN(AFTER_DELETION); i-- > 0;) {
        if (cell_condition_is(conditions, AFTER_DELETION[i].condition, "True"))
            word = AFTER_DELETION[i].word;
    }
    if (json_str_at(root, "metadata.deletionTimestamp") != NULL)
        word = "Terminating";
    if (cell_condition_is(conditions, "Failed", "True"))
        word = "Failed";
    if (cell_condition_is(conditions, "Complete", "True"))
        word = "Complete";
    cell_text(out, word);
}

static void cell_completions(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    long long succeeded = json_int_at(root, "status.succeeded", 0);
    long long completions = json_int_at(root, "spec.completions", -1);
    long long parallelism = json_int_at(root, "spec.parallelism", 0);
    if (completions >= 0)
        cell_textf(out, "%lld/%lld", succeeded, completions);
    else if (parallelism > 1)
        cell_textf(out, "%lld/1 of %lld", succeeded, parallelism);
    else
        cell_textf(out, "%lld/1", succeeded);
}

static void cell_duration(yyjson_val *root, time_ms now, struct str *out)
{
    time_ms start = cell_time(root, "status.startTime");
    time_ms end = cell_time(root, "status.completionTime");
    scoped_str text = {0};
    if (start != 0)
        duration_human((end != 0 ? end : now) - start, &text);
    cell_text(out, str_text(&text));
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

static void cell_job_selector(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_selector(out, json_at(root, "spec.selector"));
}

// clang-format off
static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Status",      "string", "", "In a word, how the Job is.", .cell = cell_status},
    {"Completions", "string", "", "Pods that succeeded, of those that must.",
     .cell = cell_completions},
    {"Duration",    "string", "", "How long it ran, or has been running.", .cell = cell_duration},
    AGE_COLUMN,
    {"Containers",  "string", "", "Names of the pods' containers.", 1, .cell = cell_containers},
    {"Images",      "string", "", "Images of the pods' containers.", 1, .cell = cell_images},
    {"Selector",    "string", "", "Labels of the Job's pods.", 1, .cell = cell_job_selector},
    {0}};
// clang-format on

static const struct kind_scale SCALE = {
    .spec_replicas = "spec.parallelism",
    .status_replicas = "status.active",
    .selector = "spec.selector",
};

const struct kind KIND_JOB = {
    .group = "batch",
    .version = "v1",
    .name = "Job",
    .plural = "jobs",
    .singular = "job",
    .categories = VALUES("all"),
    .namespaced = true,
    .has_status = true,
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_JOB,
    .columns = COLUMNS,
    .scale = &SCALE,
    .selectable = VALUES("status.successful=status.succeeded|0"),
    .prepare = job_prepare,
    .prepare_update = job_prepare_update,
};
