// SPDX-License-Identifier: Apache-2.0
/* Three dialects of one file. Ours has the defaults of Kueue's proposals; Kueue's v1beta1 and
 * v1beta2 have their own, and fields that mean nothing here, which are named and left out. */
#include "model/configuration.h"
#include "model/manifest.h"
#include "model/rules.h"
#include <errno.h>

#define SECONDS_MAX (366 * 24 * 3600)
#define CONFIGURATION(name) "dev.muster.v1alpha1." name
#define OURS "muster.dev/v1alpha1"
#define KUEUE_V1BETA1 "config.kueue.x-k8s.io/v1beta1"
#define KUEUE_V1BETA2 "config.kueue.x-k8s.io/v1beta2"

/* Where kep-1282 thinks of a limit by time, it is a number. */
static void requeuing_expand(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    yyjson_mut_val *limit = yyjson_mut_obj_get(val, "backoffLimitTimeout");
    char text[32];
    if (!yyjson_mut_is_int(limit))
        return;
    (void)snprintf(text, sizeof(text), "%llds", (long long)yyjson_mut_get_sint(limit));
    json_mut_put(doc, val, "backoffLimitTimeout", yyjson_mut_strcpy(doc, text));
}

// clang-format off
static const struct field REQUEUING_FIELDS[] = {
    {"timestamp", F_STRING, ONE, .fallback = "\"Eviction\"", .values = VALUES("Eviction", "Creation"),
     .doc = "Where a workload that did not get ready stands afterwards: Eviction, behind those that "
            "were there before its eviction; Creation, where it was."},
    {"backoffLimitCount", F_INT32, ONE, RANGE, .max = INT32_MAX,
     .doc = "How often it is put back before it is deactivated; no limit when not set."},
    {"backoffLimitTimeout", F_DURATION, ONE,
     .doc = "How long after its first eviction since it was ready it is deactivated; no limit when "
            "not set. A plain number is seconds."},
    {"backoffBaseSeconds", F_INT32, ONE, RANGE, .fallback = "60", .max = SECONDS_MAX,
     .doc = "The pause after the first eviction; doubles with each further one."},
    {"backoffMaxSeconds", F_INT32, ONE, RANGE, .fallback = "3600", .max = SECONDS_MAX,
     .doc = "The longest pause."},
    {"resetAfter", F_DURATION, ONE, .fallback = "\"10m\"",
     .doc = "A workload that stays ready this long has all its tries forgotten; 0s: never."},
    {0}};

static const struct type TYPE_REQUEUING = {
    CONFIGURATION("RequeuingStrategy"), "What happens after an eviction.", REQUEUING_FIELDS,
    .expand = requeuing_expand};

static const struct field READY_FIELDS[] = {
    {"enable", F_BOOL, ONE, .doc = "Whether workloads must get ready in time."},
    {"timeout", F_DURATION, ONE,
     .doc = "From admission until all pods must be ready; then the workload is evicted."},
    {"recoveryTimeout", F_DURATION, ONE,
     .doc = "From the moment in which one is not ready any more until all must be again. No limit when "
            "not set or 0s."},
    {"blockAdmission", F_BOOL, ONE,
     .doc = "Whether others wait while an admitted workload is not ready. As `enable` when not set."},
    {"blockScope", F_STRING, ONE, .fallback = "\"Cluster\"",
     .values = VALUES("Cluster", "Cohort", "ClusterQueue", "Flavor"),
     .doc = "Which others: all, those of the same cohort or queue, or those that want a flavor that "
            "the one that is not ready has."},
    {"requeuingStrategy", F_OBJECT, ONE, .fallback = "{}",
     .of = &TYPE_REQUEUING,
     .doc = "What happens after an eviction."},
    {0}};

static const struct field PLUGIN_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .doc = "The plugin."},
    {"weight", F_INT64, ONE, RANGE, .max = INT32_MAX, .doc = "Of a priority: how much it counts."},
    {"args", F_ANY, ONE, .doc = "What it takes."},
    {0}};
static const struct type TYPE_PLUGIN = {CONFIGURATION("PlacementPlugin"), "A rule.", PLUGIN_FIELDS};
static const struct field POLICY_FIELDS[] = {
    {"predicates", F_OBJECT, LIST, .of = &TYPE_PLUGIN, .doc = "What a place must have."},
    {"priorities", F_OBJECT, LIST, .of = &TYPE_PLUGIN, .doc = "Which places are better."},
    {0}};
static const struct type TYPE_POLICY = {
    CONFIGURATION("PlacementPolicy"), "How a place is chosen.", POLICY_FIELDS};
static const struct field PLACEMENT_FIELDS[] = {
    {"podCapacity", F_INT32, ONE, RANGE, .min = 1, .max = INT32_MAX,
     .doc = "How many vreplicas a pod takes."},
    {"refreshPeriod", F_DURATION, ONE, .doc = "How often the pool is looked at for its size."},
    {"policyType", F_STRING, ONE, .values = VALUES("MAXFILLUP", "EVENSPREAD"),
     .doc = "A ready-made policy, instead of `scheduler` and `descheduler`."},
    {"scheduler", F_OBJECT, ONE, .of = &TYPE_POLICY, .doc = "Where new vreplicas go."},
    {"descheduler", F_OBJECT, ONE, .of = &TYPE_POLICY, .doc = "Which vreplicas go first."},
    {0}};
// clang-format on

/* ---- what the tables cannot say ---- */

static bool span_of(yyjson_mut_val *obj, const char *field, time_ms *ret)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, field);
    struct sv text = {yyjson_mut_get_str(val), yyjson_mut_get_len(val)};
    return text.ptr != NULL && duration_parse(text, ret, NULL) >= 0;
}

static void check_span(struct check *c, yyjson_mut_val *val, const char *field, bool may_be_zero)
{
    time_ms span = 0;
    if (!span_of(val, field, &span))
        return;
    if (span < 0 || (span == 0 && !may_be_zero))
        check_invalid(c, field, yyjson_mut_obj_get(val, field),
                      may_be_zero ? "must not be negative" : "must be more than 0s");
}

static void check_requeuing(struct check *c, yyjson_mut_val *val)
{
    size_t mark = check_enter(c, "requeuingStrategy");
    int64_t base = json_mut_int_at(val, "backoffBaseSeconds", 0);
    int64_t max = json_mut_int_at(val, "backoffMaxSeconds", INT64_MAX);
    if (base > max) {
        check_invalid(c, "backoffBaseSeconds", yyjson_mut_obj_get(val, "backoffBaseSeconds"),
                      "must not be more than backoffMaxSeconds");
        check_hint(c, "the first pause (60 unless set) would be longer than the longest (3600): "
                      "raise backoffMaxSeconds or lower backoffBaseSeconds");
    }
    check_span(c, val, "backoffLimitTimeout", false);
    check_span(c, val, "resetAfter", true);
    check_leave(c, mark);
}

static void ready_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    check_span(c, val, "timeout", false);
    check_span(c, val, "recoveryTimeout", true);
    check_requeuing(c, yyjson_mut_obj_get(val, "requeuingStrategy"));
}

static void placement_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    check_span(c, val, "refreshPeriod", false);
    static const char *const POLICIES[] = {"scheduler", "descheduler"};
    for (size_t i = 0; i < ARRAY_LEN(POLICIES); i++) {
        if (rules_has(val, "policyType") && rules_has(val, POLICIES[i]))
            check_forbidden(c, POLICIES[i], "not together with policyType");
    }
}

static const struct type TYPE_READY = {CONFIGURATION("WaitForPodsReady"),
                                       "Workloads are ready in time, or leave their place.",
                                       READY_FIELDS, .check = ready_check};
static const struct type TYPE_PLACEMENT = {CONFIGURATION("Placement"),
                                           "How vreplicas are placed in a pool of pods.",
                                           PLACEMENT_FIELDS, .check = placement_check};

#define BLOCK_ROWS                                                                                 \
    {"waitForPodsReady", F_OBJECT, ONE, .of = &TYPE_READY,                                         \
     .doc = "Workloads are ready in time, or leave their place. Off when not set."},               \
    {                                                                                              \
        "placement", F_OBJECT, ONE, .of = &TYPE_PLACEMENT, .doc = "How vreplicas are placed."      \
    }
#define FILE_ROWS                                                                                  \
    {"apiVersion",                                                                                 \
     F_STRING,                                                                                     \
     ONE,                                                                                          \
     REQUIRED,                                                                                     \
     .values = VALUES(OURS, KUEUE_V1BETA1, KUEUE_V1BETA2),                                         \
     .doc = "Whose form it is."},                                                                  \
    {                                                                                              \
        "kind", F_STRING, ONE, REQUIRED, .values = VALUES("Configuration"), .doc = "Its kind."     \
    }
static const struct field BLOCK_FIELDS[] = {BLOCK_ROWS, {0}};
const struct type TYPE_CONFIGURATION_BLOCK = {CONFIGURATION("ConfigurationBlock"),
                                              "What the control plane is told.", BLOCK_FIELDS};
static const struct field FILE_FIELDS[] = {
    FILE_ROWS, {"metadata", F_ANY, ONE, .doc = "Not used."}, BLOCK_ROWS, {0}};
const struct type TYPE_CONFIGURATION = {CONFIGURATION("Configuration"),
                                        "What the control plane is told.", FILE_FIELDS};

/* What else Kueue's file has. It is about other things than what is decided here. */
#define IGNORED(name)                                                                              \
    {                                                                                              \
        name, F_ANY, ONE, .doc = "Not used here."                                                  \
    }
static const struct field KUEUE_FIELDS[] = {
    FILE_ROWS,
    BLOCK_ROWS,
    IGNORED("metadata"),
    IGNORED("namespace"),
    IGNORED("health"),
    IGNORED("metrics"),
    IGNORED("webhook"),
    IGNORED("manager"),
    IGNORED("leaderElection"),
    IGNORED("controller"),
    IGNORED("pprofBindAddress"),
    IGNORED("manageJobsWithoutQueueName"),
    IGNORED("managedJobsNamespaceSelector"),
    IGNORED("internalCertManagement"),
    IGNORED("clientConnection"),
    IGNORED("integrations"),
    IGNORED("queueVisibility"),
    IGNORED("multiKueue"),
    IGNORED("fairSharing"),
    IGNORED("admissionFairSharing"),
    IGNORED("resources"),
    IGNORED("featureGates"),
    IGNORED("objectRetentionPolicies"),
    IGNORED("tls"),
    {0},
};
static const struct type TYPE_KUEUE = {CONFIGURATION("KueueConfiguration"),
                                       "Kueue's configuration.", KUEUE_FIELDS};

/* ---- defaults ---- */

const struct configuration_dialect CONFIGURATION_DIALECTS[] = {
    {OURS, &TYPE_CONFIGURATION, false, 5 * 60000, false, true},
    {KUEUE_V1BETA1, &TYPE_KUEUE, false, 5 * 60000, true, true},
    {KUEUE_V1BETA2, &TYPE_KUEUE, true, 30 * 60000, true, false},
    {0},
};

void configuration_default(struct configuration *ret)
{
    *ret = (struct configuration){.ready = {.timeout_ms = CONFIGURATION_DIALECTS[0].timeout_ms,
                                            .limit_count = -1,
                                            .base_ms = 60000,
                                            .max_ms = 3600000,
                                            .reset_after_ms = 600000}};
}

void configuration_done(struct configuration *configuration)
{
    yyjson_doc_free(configuration->doc);
    *configuration = (struct configuration){0};
}

static time_ms read_span(yyjson_val *obj, const char *path, time_ms otherwise)
{
    yyjson_val *val = json_at(obj, path);
    time_ms span = otherwise;
    if (yyjson_is_str(val))
        (void)duration_parse((struct sv){yyjson_get_str(val), yyjson_get_len(val)}, &span, NULL);
    return span; /* it was checked before */
}

static bool read_flag(yyjson_val *obj, const char *field, bool otherwise)
{
    yyjson_val *val = yyjson_obj_get(obj, field);
    return yyjson_is_bool(val) ? yyjson_get_bool(val) : otherwise;
}

static enum block_scope read_scope(yyjson_val *block)
{
    static const char *const NAMES[] = {"Cluster", "Cohort", "ClusterQueue", "Flavor"};
    const char *text = json_str_at(block, "blockScope");
    for (size_t i = 0; text != NULL && i < ARRAY_LEN(NAMES); i++) {
        if (str_eq(text, NAMES[i]))
            return (enum block_scope)i;
    }
    return BLOCK_CLUSTER;
}

static void decode(const struct configuration_dialect *dialect, yyjson_val *root,
                   struct configuration *out)
{
    struct wait_for_ready *ready = &out->ready;
    yyjson_val *block = yyjson_obj_get(root, "waitForPodsReady");
    out->placement = yyjson_obj_get(root, "placement");
    ready->enable = read_flag(block, "enable", dialect->enable);
    ready->timeout_ms = read_span(block, "timeout", dialect->timeout_ms);
    ready->recovery_ms =
        read_span(block, "recoveryTimeout", dialect->recovery_as_start ? ready->timeout_ms : 0);
    ready->blocks = read_flag(block, "blockAdmission", ready->enable && dialect->blocks);
    ready->scope = read_scope(block);
    yyjson_val *requeue = yyjson_obj_get(block, "requeuingStrategy");
    ready->orders_by_creation = str_eq(json_str_at(requeue, "timestamp"), "Creation");
    ready->limit_count = json_int_at(requeue, "backoffLimitCount", -1);
    ready->limit_ms = read_span(requeue, "backoffLimitTimeout", 0);
    ready->base_ms = json_int_at(requeue, "backoffBaseSeconds", 60) * 1000;
    ready->max_ms = json_int_at(requeue, "backoffMaxSeconds", 3600) * 1000;
    ready->reset_after_ms = read_span(requeue, "resetAfter", 600000);
}

/* ---- reading ---- */

/* Finds everything that is wrong; fills in defaults on the way. */
static void find(const struct type *type, yyjson_mut_doc *doc, struct findings *findings)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    schema_unknown(type, root, findings);
    schema_fill(type, doc, root);
    schema_check(type, root, NULL, findings);
}

static int report(const char *where, const struct findings *findings, struct err *err)
{
    const struct finding *first = &findings->list.items[0];
    bool is_named = first->reason != FINDING_UNKNOWN; /* those name their field themselves */
    int r = err_set(err, -EINVAL, "%s%s%s%s", where, is_named ? first->path : "",
                    is_named ? ": " : "", first->text);
    if (findings->list.len > 1) {
        size_t len = strlen(err->text);
        (void)snprintf(err->text + len, sizeof(err->text) - len, " (and %zu more)",
                       findings->list.len - 1);
    }
    return first->hint != NULL ? err_hint(err, "%s", first->hint) : r;
}

static int judge(const struct manifest *manifest, size_t index,
                 const struct configuration_dialect *dialect, struct err *err)
{
    const struct manifest_doc *doc = &manifest->docs.items[index];
    struct findings findings = {0};
    int r = 0;
    find(dialect->type, doc->doc, &findings);
    if (findings.list.len > 0) {
        int line = doc->line, column = 1;
        (void)manifest_position(doc, findings.list.items[0].at, &line, &column);
        scoped_free char *where = mem_printf("%s:%d:%d: ", manifest->file, line, column);
        r = report(where, &findings, err);
    }
    findings_done(&findings);
    return r;
}

static void warn_ignored(const struct manifest *manifest, size_t index,
                         const struct configuration_dialect *dialect, struct str *warnings)
{
    const struct manifest_doc *doc = &manifest->docs.items[index];
    size_t i, n;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(yyjson_mut_doc_get_root(doc->doc), i, n, key, val)
    {
        const char *name = yyjson_mut_get_str(key);
        const struct field *field = type_field(dialect->type, name, strlen(name));
        int line = 1, column = 1;
        if (field == NULL || field->type != F_ANY || str_eq(name, "metadata"))
            continue;
        (void)manifest_position(doc, val, &line, &column);
        str_addf(warnings, "%s:%d:%d: %s: not used here, ignored\n", manifest->file, line, column,
                 name);
    }
}

/* NULL: none that is known. */
static const struct configuration_dialect *dialect_of(yyjson_mut_val *root)
{
    const char *api = json_mut_str_at(root, "apiVersion");
    for (size_t i = 0; api != NULL && CONFIGURATION_DIALECTS[i].api != NULL; i++) {
        if (str_eq(api, CONFIGURATION_DIALECTS[i].api))
            return &CONFIGURATION_DIALECTS[i];
    }
    return NULL;
}

bool configuration_is(yyjson_mut_val *root)
{
    return str_eq(json_mut_str_at(root, "kind"), "Configuration") && dialect_of(root) != NULL;
}

int configuration_take(const struct manifest *manifest, size_t index, struct configuration *ret,
                       struct str *warnings, struct err *err)
{
    const yyjson_mut_doc *doc = manifest->docs.items[index].doc;
    const struct configuration_dialect *dialect =
        dialect_of(yyjson_mut_doc_get_root((yyjson_mut_doc *)doc));
    dialect = dialect != NULL ? dialect
                              : &CONFIGURATION_DIALECTS[0]; /* whose table says what is allowed */
    int r = judge(manifest, index, dialect, err);
    if (r < 0)
        return r;
    warn_ignored(manifest, index, dialect, warnings);
    configuration_default(ret);
    ret->doc = yyjson_mut_doc_imut_copy((yyjson_mut_doc *)doc, &JSON_ALC);
    decode(dialect, yyjson_doc_get_root(ret->doc), ret);
    return 0;
}

/* The only document, or the one among objects that is a configuration. */
static int find_document(const struct manifest *manifest, size_t *ret_index, struct err *err)
{
    size_t found = 0;
    *ret_index = 0;
    for (size_t i = 0; i < manifest->docs.len && manifest->docs.len > 1; i++) {
        if (!configuration_is(yyjson_mut_doc_get_root(manifest->docs.items[i].doc)))
            continue;
        *ret_index = i;
        found++;
    }
    if (manifest->docs.len == 1 || found == 1)
        return 0;
    if (manifest->docs.len == 0)
        (void)err_set(err, -EINVAL, "%s: holds 0 documents instead of one", manifest->file);
    else
        (void)err_set(err, -EINVAL, "%s: %zu of its %zu documents are a Configuration",
                      manifest->file, found, manifest->docs.len);
    return err_hint(err, "it begins with apiVersion: " OURS " and kind: Configuration");
}

int configuration_read(const char *file, struct sv text, struct configuration *ret,
                       struct str *warnings, struct err *err)
{
    struct manifest manifest = {0};
    size_t index = 0;
    int r = manifest_parse(file, text, &manifest, err);
    if (r < 0)
        return r;
    r = find_document(&manifest, &index, err);
    if (r == 0)
        r = configuration_take(&manifest, index, ret, warnings, err);
    manifest_done(&manifest);
    return r;
}

int configuration_of(yyjson_val *block, struct configuration *ret, struct err *err)
{
    if (!yyjson_is_obj(block))
        return err_set(err, -EINVAL, "the configuration must be an object");
    scoped_json_mut *doc = yyjson_mut_doc_new(&JSON_ALC);
    yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, block));
    struct findings findings = {0};
    find(&TYPE_CONFIGURATION_BLOCK, doc, &findings);
    int r = findings.list.len > 0 ? report("", &findings, err) : 0;
    findings_done(&findings);
    if (r < 0)
        return r;
    configuration_default(ret);
    ret->doc = yyjson_mut_doc_imut_copy(doc, &JSON_ALC);
    decode(&CONFIGURATION_DIALECTS[0], yyjson_doc_get_root(ret->doc), ret);
    return 0;
}
