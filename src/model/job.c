// SPDX-License-Identifier: Apache-2.0
/* Tables of the Job, and the checks inside its spec. What concerns the Job as a stored object is
 * in kind_job.c. */
#include "model/job.h"
#include "model/kind.h"
#include "model/podspec.h"
#include "model/rules.h"
#include <stdlib.h>

#define RULES_MAX 20
#define EXIT_CODES_MAX 255
#define INDEXED_MAX 100000 /* parallelism of a Job whose backoff is counted per index */

// clang-format off
static const struct field EXIT_CODES_FIELDS[] = {
    {"containerName", F_STRING, ONE, .pb = 1 | PB_ZERO,
     .doc = "The container that is looked at; without it, all of them."},
    {"operator", F_STRING, ONE, REQUIRED, .values = VALUES("In", "NotIn"), .pb = 2 | PB_ZERO,
     .doc = "In: an exit code is one of the values. NotIn: it is none of them, and not 0."},
    {"values", F_INT32, LIST, REQUIRED | NON_EMPTY | RANGE, .min = 1, .max = EXIT_CODES_MAX,
     .pb = 3,
     .doc = "The exit codes, in rising order. 0 is no failure and cannot be in a list for In."},
    {0}};
// clang-format on

static void exit_codes_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    bool in = str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(val, "operator")), "In");
    int64_t last = -1;
    size_t mark = check_enter(c, "values");
    size_t i, n;
    yyjson_mut_val *code;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(val, "values"), i, n, code)
    {
        int64_t number = yyjson_mut_get_sint(code);
        size_t inner = check_enter_item(c, i, code);
        if (in && number == 0)
            check_invalid(c, NULL, code, "must not be 0 for the In operator");
        else if (i > 0 && number == last)
            check_duplicate(c, NULL, code);
        else if (i > 0 && number < last)
            check_invalid(c, NULL, code, "must be ordered");
        check_leave(c, inner);
        last = number;
    }
    check_leave(c, mark);
}

static const struct type TYPE_EXIT_CODES = {
    BATCH_V1("PodFailurePolicyOnExitCodesRequirement"),
    "Exit codes that a rule is about.",
    EXIT_CODES_FIELDS,
    .check = exit_codes_check,
};

// clang-format off
static const struct field POD_CONDITION_FIELDS[] = {
    {"type", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_QUALIFIED, .pb = 1 | PB_ZERO,
     .doc = "Type of the pod's condition, such as DisruptionTarget."},
    {"status", F_STRING, ONE, .fallback = "\"True\"", .values = VALUES("True", "False", "Unknown"),
     .pb = 2 | PB_ZERO,
     .doc = "Status that it must have."},
    {0}};
static const struct type TYPE_POD_CONDITION_PATTERN = {
    BATCH_V1("PodFailurePolicyOnPodConditionsPattern"), "A condition of the failed pod.",
    POD_CONDITION_FIELDS};

static const struct field FAILURE_RULE_FIELDS[] = {
    {"action", F_STRING, ONE, REQUIRED, .values = VALUES("FailJob", "FailIndex", "Ignore", "Count"),
     .pb = 1 | PB_ZERO,
     .doc = "FailJob ends the Job; FailIndex gives this index up; Ignore replaces the pod without "
            "counting; Count counts as if there were no rule."},
    {"onExitCodes", F_OBJECT, ONE, .of = &TYPE_EXIT_CODES, .pb = 2 | PB_ZERO,
     .doc = "The rule holds for these exit codes."},
    {"onPodConditions", F_OBJECT, LIST, RANGE, .max = RULES_MAX, .of = &TYPE_POD_CONDITION_PATTERN,
     .pb = 3,
     .doc = "The rule holds when the pod has one of these conditions."},
    {0}};
// clang-format on

static void failure_rule_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_one_of(c, val, VALUES("onExitCodes", "onPodConditions"), "requirement");
}

static const struct type TYPE_FAILURE_RULE = {
    BATCH_V1("PodFailurePolicyRule"),
    "What to do when a pod fails in a certain way; the first rule that fits counts.",
    FAILURE_RULE_FIELDS,
    .check = failure_rule_check,
};

// clang-format off
static const struct field FAILURE_POLICY_FIELDS[] = {
    {"rules", F_OBJECT, LIST, REQUIRED | RANGE, .max = RULES_MAX, .of = &TYPE_FAILURE_RULE, .pb = 1,
     .doc = "Rules, tried in order; the first that fits counts."},
    {0}};
static const struct type TYPE_FAILURE_POLICY = {
    BATCH_V1("PodFailurePolicy"), "What failures of pods mean for the Job.",
    FAILURE_POLICY_FIELDS};

static const struct field SUCCESS_RULE_FIELDS[] = {
    {"succeededIndexes", F_STRING, ONE, .pb = 1 | PB_ZERO,
     .doc = "Indexes that must have succeeded, such as 0 or 1,3-5."},
    {"succeededCount", F_INT32, ONE, RANGE, .min = 1, .pb = 2 | PB_ZERO,
     .doc = "How many must have succeeded: of those indexes, or of all."},
    {0}};
// clang-format on

static void success_rule_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    if (!rules_has(val, "succeededIndexes") && !rules_has(val, "succeededCount"))
        check_required(c, NULL, "at least one of succeededCount or succeededIndexes");
}

static const struct type TYPE_SUCCESS_RULE = {
    BATCH_V1("SuccessPolicyRule"),
    "A way in which the Job may succeed early.",
    SUCCESS_RULE_FIELDS,
    .check = success_rule_check,
};

// clang-format off
static const struct field SUCCESS_POLICY_FIELDS[] = {
    {"rules", F_OBJECT, LIST, REQUIRED | NON_EMPTY | RANGE, .min = 1, .max = RULES_MAX,
     .of = &TYPE_SUCCESS_RULE, .pb = 1,
     .doc = "When one of them is met the Job has succeeded and its other pods are stopped."},
    {0}};
static const struct type TYPE_SUCCESS_POLICY = {
    BATCH_V1("SuccessPolicy"), "When the Job has succeeded though not all indexes have.",
    SUCCESS_POLICY_FIELDS};

static const struct field JOB_SPEC_FIELDS[] = {
    {"parallelism", F_INT32, ONE, RANGE, .pb = 1 | PB_ZERO,
     .doc = "How many pods run at one time."},
    {"completions", F_INT32, ONE, RANGE, .pb = 2 | PB_ZERO,
     .doc = "How many pods must succeed. Without it: the success of any one is that of the Job, "
            "and no new pods are started."},
    {"completionMode", F_STRING, ONE, IMMUTABLE, .fallback = "\"NonIndexed\"",
     .values = VALUES("NonIndexed", "Indexed"), .pb = 9 | PB_ZERO,
     .doc = "Indexed: each pod has a number from 0 to completions - 1, in JOB_COMPLETION_INDEX, "
            "and each number must succeed once. NonIndexed: pods are all alike."},
    {"suspend", F_BOOL, ONE, .fallback = "false", .pb = 10 | PB_ZERO,
     .doc = "True when the Job has no pods for now; running ones are stopped."},
    {"activeDeadlineSeconds", F_INT64, ONE, RANGE, .pb = 3 | PB_ZERO,
     .doc = "Seconds from its start after which the Job is stopped and has failed."},
    {"backoffLimit", F_INT32, ONE, RANGE, .pb = 7 | PB_ZERO,
     .doc = "How many failures of pods the Job bears; 6 unless backoffLimitPerIndex is set."},
    {"backoffLimitPerIndex", F_INT32, ONE, RANGE | IMMUTABLE, .pb = 12 | PB_ZERO,
     .doc = "How many failures each index bears. Only with Indexed and restartPolicy Never."},
    {"maxFailedIndexes", F_INT32, ONE, RANGE, .pb = 13 | PB_ZERO,
     .doc = "How many indexes may fail before the Job does. Only with backoffLimitPerIndex."},
    {"podFailurePolicy", F_OBJECT, ONE, IMMUTABLE, .of = &TYPE_FAILURE_POLICY, .pb = 11 | PB_ZERO,
     .doc = "What failures of pods mean for the Job, instead of just counting them."},
    {"successPolicy", F_OBJECT, ONE, IMMUTABLE, .of = &TYPE_SUCCESS_POLICY, .pb = 16 | PB_ZERO,
     .doc = "When the Job has succeeded though not all indexes have. Only with Indexed."},
    {"podReplacementPolicy", F_STRING, ONE, .values = VALUES("TerminatingOrFailed", "Failed"),
     .pb = 14 | PB_ZERO,
     .doc = "When a new pod takes the place of an old one: as soon as that one is being stopped "
            "(TerminatingOrFailed), or only when it has ended (Failed)."},
    {"ttlSecondsAfterFinished", F_INT32, ONE, RANGE, .pb = 8 | PB_ZERO,
     .doc = "Seconds after its end until the Job is deleted; without it, it stays."},
    {"managedBy", F_STRING, ONE, RANGE | IMMUTABLE, .max = 63, .format = FMT_QUALIFIED,
     .pb = 15 | PB_ZERO,
     .doc = "The controller that works on this Job, as domain/name, instead of the built-in one."},
    {"manualSelector", F_BOOL, ONE, .fallback = "false", .pb = 5 | PB_ZERO,
     .doc = "True when selector is given by hand. Then it is yours to see that it is unique."},
    {"selector", F_OBJECT, ONE, IMMUTABLE, .of = &TYPE_LABEL_SELECTOR, .pb = 4 | PB_ZERO,
     .doc = "The Job's pods. Made by the server; leave it out."},
    {"template", F_OBJECT, ONE, REQUIRED, .of = &TYPE_POD_TEMPLATE_SPEC, .pb = 6 | PB_ZERO,
     .doc = "The pattern of the pods. Its restartPolicy must be OnFailure or Never."},
    {0}};

static const struct field JOB_CONDITION_FIELDS[] = {
    {"type", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "Complete, Failed, Suspended, FailureTarget or SuccessCriteriaMet."},
    {"status", F_STRING, ONE, REQUIRED, .values = VALUES("True", "False", "Unknown"),
     .pb = 2 | PB_ZERO,
     .doc = "True, False or Unknown."},
    {"lastProbeTime", F_TIME, ONE, .pb = 3, .doc = "When this was last looked at."},
    {"lastTransitionTime", F_TIME, ONE, .pb = 4, .doc = "When the status last changed."},
    {"reason", F_STRING, ONE, .pb = 5, .doc = "One word: why the status is what it is."},
    {"message", F_STRING, ONE, .pb = 6, .doc = "The same for people."},
    {0}};
static const struct type TYPE_JOB_CONDITION = {
    BATCH_V1("JobCondition"), "One aspect of the Job's state, and since when it is so.",
    JOB_CONDITION_FIELDS};

static const struct field UNCOUNTED_FIELDS[] = {
    {"succeeded", F_STRING, LIST, .pb = 1, .doc = "Uids of pods that succeeded."},
    {"failed", F_STRING, LIST, .pb = 2, .doc = "Uids of pods that failed."},
    {0}};
static const struct type TYPE_UNCOUNTED = {
    BATCH_V1("UncountedTerminatedPods"), "Pods that have ended and are not in the counts yet.",
    UNCOUNTED_FIELDS};

static const struct field JOB_STATUS_FIELDS[] = {
    {"conditions", F_OBJECT, LIST, MERGE, .of = &TYPE_JOB_CONDITION, .merge_key = "type", .pb = 1,
     .doc = "How far the Job has come."},
    {"startTime", F_TIME, ONE, .pb = 2,
     .doc = "When the Job began, or went on after it was suspended."},
    {"completionTime", F_TIME, ONE, .pb = 3, .doc = "When the Job succeeded."},
    {"active", F_INT32, ONE, RANGE, .pb = 4, .doc = "Pods that wait or run."},
    {"ready", F_INT32, ONE, RANGE, .pb = 9 | PB_ZERO, .doc = "Pods that are ready."},
    {"terminating", F_INT32, ONE, RANGE, .pb = 11 | PB_ZERO, .doc = "Pods that are being stopped."},
    {"succeeded", F_INT32, ONE, RANGE, .pb = 5, .doc = "Pods that succeeded."},
    {"failed", F_INT32, ONE, RANGE, .pb = 6, .doc = "Pods that failed."},
    {"completedIndexes", F_STRING, ONE, .pb = 7, .doc = "Indexes that succeeded, such as 1,3-5."},
    {"failedIndexes", F_STRING, ONE, .pb = 10 | PB_ZERO,
     .doc = "Indexes that were given up, such as 1,3-5."},
    {"uncountedTerminatedPods", F_OBJECT, ONE, .of = &TYPE_UNCOUNTED, .pb = 8 | PB_ZERO,
     .doc = "Pods that have ended and are not in the counts yet."},
    {0}};
// clang-format on

const struct type TYPE_JOB_STATUS = {
    BATCH_V1("JobStatus"),
    "How far the Job has come.",
    JOB_STATUS_FIELDS,
};

/* ---- defaults ---- */

static void put_int(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *field, int64_t value)
{
    if (!rules_has(obj, field))
        json_mut_put(doc, obj, field, yyjson_mut_sint(doc, value));
}

static void job_spec_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    if (!rules_has(val, "parallelism"))
        put_int(doc, val, "completions", 1); /* with neither, one pod that must succeed */
    put_int(doc, val, "parallelism", 1);
    /* Where failures are counted for each index, the sum has no limit. */
    put_int(doc, val, "backoffLimit", rules_has(val, "backoffLimitPerIndex") ? INT32_MAX : 6);
    if (!rules_has(val, "podReplacementPolicy")) {
        bool failed = rules_has(val, "podFailurePolicy");
        json_mut_put(doc, val, "podReplacementPolicy",
                     yyjson_mut_str(doc, failed ? "Failed" : "TerminatingOrFailed"));
    }
}

/* ---- checks ---- */

static void check_restart_policy(struct check *c, yyjson_mut_val *val)
{
    yyjson_mut_val *policy = json_mut_at(val, "template.spec.restartPolicy");
    const char *text = yyjson_mut_get_str(policy);
    size_t template = check_enter(c, "template");
    size_t spec = check_enter(c, "spec");
    if (str_eq(text, "Always")) {
        check_not_supported(c, "restartPolicy", policy, VALUES("OnFailure", "Never"));
        check_hint(c, "a Job ends; write restartPolicy: Never, or OnFailure to restart containers");
    } else if (text != NULL && !str_eq(text, "Never")) {
        if (rules_has(val, "podFailurePolicy"))
            check_invalid(c, "restartPolicy", policy,
                          "only \"Never\" is supported when podFailurePolicy is specified");
        else if (rules_has(val, "backoffLimitPerIndex"))
            check_invalid(c, "restartPolicy", policy,
                          "only \"Never\" is supported when backoffLimitPerIndex is specified");
    }
    check_leave(c, spec);
    check_leave(c, template);
}

static void check_not_indexed(struct check *c, yyjson_mut_val *val)
{
    if (rules_has(val, "backoffLimitPerIndex"))
        check_invalid(c, "backoffLimitPerIndex", yyjson_mut_obj_get(val, "backoffLimitPerIndex"),
                      "requires indexed completion mode");
    if (rules_has(val, "successPolicy"))
        check_forbidden(c, "successPolicy", "requires indexed completion mode");
}

static void check_indexed(struct check *c, yyjson_mut_val *val)
{
    int64_t parallelism = json_mut_int_at(val, "parallelism", 0);
    /* With neither, which only a template can have, it is one pod. */
    if (!rules_has(val, "completions") && rules_has(val, "parallelism"))
        check_required(c, "completions", "when completion mode is Indexed");
    if (parallelism > INDEXED_MAX)
        check_invalid(c, "parallelism", yyjson_mut_obj_get(val, "parallelism"),
                      "must be less than or equal to 100000 when completion mode is Indexed");
}

static void check_failed_indexes(struct check *c, yyjson_mut_val *val)
{
    yyjson_mut_val *most = yyjson_mut_obj_get(val, "maxFailedIndexes");
    if (!rules_has(val, "maxFailedIndexes"))
        return;
    if (!rules_has(val, "backoffLimitPerIndex"))
        check_required(c, "backoffLimitPerIndex", "when maxFailedIndexes is specified");
    if (yyjson_mut_get_sint(most) > json_mut_int_at(val, "completions", INT32_MAX))
        check_invalid(c, "maxFailedIndexes", most, "must be less than or equal to completions");
}

static void check_failure_rule(struct check *c, yyjson_mut_val *rule, yyjson_mut_val *job_spec,
                               const struct rules_names *containers)
{
    bool fail_index = str_eq(json_mut_str_at(rule, "action"), "FailIndex");
    if (fail_index && !rules_has(job_spec, "backoffLimitPerIndex"))
        check_invalid(c, "action", yyjson_mut_obj_get(rule, "action"),
                      "requires the backoffLimitPerIndex to be set");
    size_t mark = check_enter(c, "onExitCodes");
    rules_known(c, "containerName", json_mut_at(rule, "onExitCodes.containerName"), containers);
    check_leave(c, mark);
}

static void check_failure_policy(struct check *c, yyjson_mut_val *val)
{
    scoped_names containers = {0};
    rules_names_of(&containers, json_mut_at(val, "template.spec.containers"), "name");
    rules_names_of(&containers, json_mut_at(val, "template.spec.initContainers"), "name");
    size_t policy = check_enter(c, "podFailurePolicy");
    size_t list = check_enter(c, "rules");
    size_t i, n;
    yyjson_mut_val *rule;
    yyjson_mut_arr_foreach(json_mut_at(val, "podFailurePolicy.rules"), i, n, rule)
    {
        size_t item = check_enter_item(c, i, rule);
        check_failure_rule(c, rule, val, &containers);
        check_leave(c, item);
    }
    check_leave(c, list);
    check_leave(c, policy);
    const char *replacement = json_mut_str_at(val, "podReplacementPolicy");
    if (rules_has(val, "podFailurePolicy") && str_eq(replacement, "TerminatingOrFailed"))
        check_not_supported(c, "podReplacementPolicy",
                            yyjson_mut_obj_get(val, "podReplacementPolicy"), VALUES("Failed"));
}

/* "1,3-5": numbers and intervals, rising, below `completions`. */
static bool is_index_list(const char *text, long completions)
{
    long last = -1;
    for (const char *at = text;; at++) {
        char *end;
        if (*at < '0' || *at > '9')
            return false;
        long first = strtol(at, &end, 10);
        long until = first;
        if (*end == '-' && end[1] >= '0' && end[1] <= '9')
            until = strtol(end + 1, &end, 10);
        if (first <= last || until < first || until >= completions)
            return false;
        last = until;
        at = end;
        if (*at != ',')
            return *at == '\0';
    }
}

static void check_success_policy(struct check *c, yyjson_mut_val *val)
{
    int64_t completions = json_mut_int_at(val, "completions", 0);
    size_t policy = check_enter(c, "successPolicy");
    size_t list = check_enter(c, "rules");
    size_t i, n;
    yyjson_mut_val *rule;
    yyjson_mut_arr_foreach(json_mut_at(val, "successPolicy.rules"), i, n, rule)
    {
        yyjson_mut_val *indexes = yyjson_mut_obj_get(rule, "succeededIndexes");
        size_t item = check_enter_item(c, i, rule);
        if (yyjson_mut_is_str(indexes) && !is_index_list(yyjson_mut_get_str(indexes), completions))
            check_invalid(c, "succeededIndexes", indexes,
                          "must be rising indexes below completions, such as 0 or 1,3-5");
        if (json_mut_int_at(rule, "succeededCount", 0) > completions)
            check_invalid(c, "succeededCount", yyjson_mut_obj_get(rule, "succeededCount"),
                          "must be less than or equal to completions");
        check_leave(c, item);
    }
    check_leave(c, list);
    check_leave(c, policy);
}

static void check_selector(struct check *c, yyjson_mut_val *val)
{
    if (!yyjson_mut_get_bool(yyjson_mut_obj_get(val, "manualSelector")))
        return;
    if (!rules_has(val, "selector")) {
        check_required(c, "selector", "when manualSelector is true");
        return;
    }
    if (rules_labels_match(json_mut_at(val, "selector.matchLabels"),
                           json_mut_at(val, "template.metadata.labels")))
        return;
    size_t template = check_enter(c, "template");
    size_t meta = check_enter(c, "metadata");
    check_invalid(c, "labels", json_mut_at(val, "template.metadata.labels"),
                  "`selector` does not match template `labels`");
    check_leave(c, meta);
    check_leave(c, template);
}

static void job_spec_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    check_restart_policy(c, val);
    if (str_eq(json_mut_str_at(val, "completionMode"), "Indexed"))
        check_indexed(c, val);
    else
        check_not_indexed(c, val);
    check_failed_indexes(c, val);
    check_failure_policy(c, val);
    check_success_policy(c, val);
    check_selector(c, val);
}

const struct type TYPE_JOB_SPEC = {
    BATCH_V1("JobSpec"),   "What the Job runs, how often, and how it bears failures.",
    JOB_SPEC_FIELDS,       .check = job_spec_check,
    .fill = job_spec_fill,
};

// clang-format off
static const struct field JOB_TEMPLATE_SPEC_FIELDS[] = {
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_JOB_SPEC, .pb = 2,
     .doc = "What the Jobs run, how often, and how they bear failures."},
    {0}};
// clang-format on

const struct type TYPE_JOB_TEMPLATE_SPEC = {
    BATCH_V1("JobTemplateSpec"),
    "The pattern after which Jobs are made.",
    JOB_TEMPLATE_SPEC_FIELDS,
};
