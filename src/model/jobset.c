// SPDX-License-Identifier: Apache-2.0
/* Tables of the JobSet. Its templates of Jobs stay as they were written, but for the two defaults
 * that a JobSet has other than a Job: that is how it is told apart whether somebody said how many
 * pods there are or nobody did. */
#include "model/jobset.h"
#include "model/job.h"
#include "model/kind.h"
#include "model/rules.h"

#define DEPENDENCIES_MAX 5
#define JOB_RESTARTS_MAX 1024

// clang-format off
static const struct field DEPENDS_ON_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY,
     .doc = "One of the replicated jobs that stand before this one."},
    {"status", F_STRING, ONE, REQUIRED, .values = VALUES("Ready", "Complete"),
     .doc = "Ready: its Jobs run with all their pods ready, or have ended. Complete: all its Jobs "
            "have succeeded."},
    {0}};
static const struct type TYPE_DEPENDS_ON = {
    JOBSET_V1ALPHA2("DependsOn"), "Another replicated job that must be so far first.",
    DEPENDS_ON_FIELDS};

static const struct field REPLICATED_JOB_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_DNS_LABEL,
     .doc = "Stands in the names of the Jobs: JobSet's name, this name, index."},
    {"groupName", F_STRING, ONE, NON_EMPTY, .fallback = "\"default\"", .format = FMT_DNS_NAME,
     .doc = "The group to which the Jobs belong; they are numbered within it as well."},
    {"replicas", F_INT32, ONE, RANGE, .fallback = "1",
     .doc = "How many Jobs are made from the template."},
    {"template", F_OBJECT, ONE, REQUIRED | AS_WRITTEN, .of = &TYPE_JOB_TEMPLATE_SPEC,
     .doc = "The pattern of the Jobs. Where it says nothing else they are Indexed and their pods "
            "restart containers OnFailure; or Never, where podFailurePolicy or "
            "backoffLimitPerIndex need that."},
    {"dependsOn", F_OBJECT, LIST, MERGE | RANGE, .max = DEPENDENCIES_MAX, .of = &TYPE_DEPENDS_ON,
     .merge_key = "name",
     .doc = "The Jobs are made only when these other replicated jobs, which stand before this one, "
            "are so far. Not together with startupPolicy InOrder."},
    {0}};
// clang-format on

static void put_text(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *field, const char *text)
{
    const char *given = yyjson_mut_get_str(yyjson_mut_obj_get(obj, field));
    bool is_open = !rules_has(obj, field) || (given != NULL && *given == '\0');
    if (yyjson_mut_is_obj(obj) && is_open)
        json_mut_put(doc, obj, field, yyjson_mut_strcpy(doc, text));
}

static void replicated_job_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    yyjson_mut_val *spec = json_mut_at(val, "template.spec");
    bool never = rules_has(spec, "podFailurePolicy") || rules_has(spec, "backoffLimitPerIndex");
    put_text(doc, spec, "completionMode", "Indexed");
    put_text(doc, json_mut_at(spec, "template.spec"), "restartPolicy",
             never ? "Never" : "OnFailure");
}

static const struct type TYPE_REPLICATED_JOB = {
    JOBSET_V1ALPHA2("ReplicatedJob"),
    "A number of Jobs that are all alike.",
    REPLICATED_JOB_FIELDS,
    .fill = replicated_job_fill,
};

// clang-format off
static const struct field NETWORK_FIELDS[] = {
    {"enableDNSHostnames", F_BOOL, ONE, .fallback = "true",
     .doc = "True when pods are reached by name: JobSet, replicated job, index of the Job and index "
            "of the pod with '-' between them, then the subdomain."},
    {"subdomain", F_STRING, ONE, .format = FMT_DNS_NAME,
     .doc = "The domain of those names; the JobSet's name when not set."},
    {"publishNotReadyAddresses", F_BOOL, ONE, .fallback = "true",
     .doc = "True when pods are found by name before they are ready."},
    {0}};
static const struct type TYPE_NETWORK = {
    JOBSET_V1ALPHA2("Network"), "How the pods find each other.", NETWORK_FIELDS};

static const struct field SUCCESS_POLICY_FIELDS[] = {
    {"operator", F_STRING, ONE, REQUIRED, .values = VALUES("All", "Any"),
     .doc = "All: every Job must succeed. Any: one is enough, and the others are stopped."},
    {"targetReplicatedJobs", F_STRING, LIST,
     .doc = "The replicated jobs whose Jobs count; all of them when not set."},
    {0}};
static const struct type TYPE_SUCCESS_POLICY = {
    JOBSET_V1ALPHA2("SuccessPolicy"), "When the JobSet has succeeded.", SUCCESS_POLICY_FIELDS};

static const struct field FAILURE_RULE_FIELDS[] = {
    {"name", F_STRING, ONE, RANGE, .max = 128,
     .doc = "A name for conditions and events, no other rule's: a letter, then letters, digits, "
            "'_', ',' and ':', and neither ',' nor ':' at the end. failurePolicyRule with the "
            "rule's number when not set."},
    {"action", F_STRING, ONE, REQUIRED,
     .values = VALUES("FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts",
                      "RestartJob", "RestartJobAndIgnoreMaxRestarts"),
     .doc = "FailJobSet ends the JobSet; RestartJobSet restarts all Jobs; RestartJob only the one "
            "that failed. Those with AndIgnoreMaxRestarts are not counted."},
    {"onJobFailureReasons", F_STRING, LIST,
     .values = VALUES("BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes",
                      "MaxFailedIndexesExceeded", "PodFailurePolicy"),
     .doc = "Reasons of a Job's Failed condition for which the rule holds; any when not set."},
    {"onJobFailureMessagePatterns", F_STRING, LIST,
     .doc = "Regular expressions in POSIX extended syntax, of which one must be found in the "
            "message of that condition; any message will do when not set."},
    {"targetReplicatedJobs", F_STRING, LIST,
     .doc = "The replicated jobs for whose Jobs the rule holds; all of them when not set."},
    {0}};
static const struct type TYPE_FAILURE_RULE = {
    JOBSET_V1ALPHA2("FailurePolicyRule"),
    "What to do when a Job fails in a certain way; the first rule that fits counts.",
    FAILURE_RULE_FIELDS};

static const struct field FAILURE_POLICY_FIELDS[] = {
    {"maxRestarts", F_INT32, ONE, RANGE, .fallback = "0",
     .doc = "How many restarts the JobSet gets before it has failed."},
    {"restartStrategy", F_STRING, ONE, .fallback = "\"Recreate\"",
     .values = VALUES("Recreate", "BlockingRecreate", "InPlaceRestart"),
     .doc = "Recreate makes each Job anew as soon as its predecessor is gone; BlockingRecreate waits "
            "until all are gone. InPlaceRestart keeps Jobs and pods and restarts what runs in "
            "them: all members stop, meet at a barrier and go on together. It needs backoffLimit "
            "2147483647, podReplacementPolicy Failed and completions equal to parallelism."},
    {"rules", F_OBJECT, LIST, .of = &TYPE_FAILURE_RULE,
     .doc = "Rules, tried in order when a Job fails; RestartJobSet when none fits."},
    {0}};
// clang-format on

static void failure_policy_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    size_t i, n;
    yyjson_mut_val *rule;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(val, "rules"), i, n, rule)
    {
        scoped_free char *name = mem_printf("failurePolicyRule%zu", i);
        put_text(doc, rule, "name", name);
    }
}

static const struct type TYPE_FAILURE_POLICY = {
    JOBSET_V1ALPHA2("FailurePolicy"),
    "What happens when Jobs or members fail. Without it, one failed Job fails the JobSet.",
    FAILURE_POLICY_FIELDS,
    .fill = failure_policy_fill,
};

// clang-format off
static const struct field STARTUP_POLICY_FIELDS[] = {
    {"startupPolicyOrder", F_STRING, ONE, REQUIRED, .values = VALUES("AnyOrder", "InOrder"),
     .doc = "InOrder: the Jobs of a replicated job are made when those before are ready. AnyOrder: "
            "all at once."},
    {0}};
static const struct type TYPE_STARTUP_POLICY = {
    JOBSET_V1ALPHA2("StartupPolicy"), "In which order Jobs are made. dependsOn says it better.",
    STARTUP_POLICY_FIELDS};

static const struct field COORDINATOR_FIELDS[] = {
    {"replicatedJob", F_STRING, ONE, REQUIRED | NON_EMPTY,
     .doc = "The replicated job that has the pod."},
    {"jobIndex", F_INT32, ONE, RANGE, .doc = "Which of its Jobs; 0 when not set."},
    {"podIndex", F_INT32, ONE, RANGE, .doc = "Which pod of that Job; 0 when not set."},
    {0}};
static const struct type TYPE_COORDINATOR = {
    JOBSET_V1ALPHA2("Coordinator"),
    "A pod whose address all Jobs and pods get as label and annotation "
    "jobset.sigs.k8s.io/coordinator.",
    COORDINATOR_FIELDS};

static const struct field SPEC_FIELDS[] = {
    {"replicatedJobs", F_OBJECT, LIST, MERGE, .of = &TYPE_REPLICATED_JOB, .merge_key = "name",
     .doc = "The Jobs of the set. Of those that exist only parallelism with completions may "
            "change and, while the JobSet is suspended, labels, annotations, nodeSelector, "
            "tolerations and schedulingGates of the pods."},
    {"network", F_OBJECT, ONE, IMMUTABLE, .of = &TYPE_NETWORK, .fallback = "{}",
     .doc = "How the pods find each other."},
    {"successPolicy", F_OBJECT, ONE, IMMUTABLE, .of = &TYPE_SUCCESS_POLICY,
     .fallback = "{\"operator\":\"All\"}",
     .doc = "When the JobSet has succeeded."},
    {"failurePolicy", F_OBJECT, ONE, IMMUTABLE, .of = &TYPE_FAILURE_POLICY,
     .doc = "What happens when Jobs or members fail. Without it, one failed Job fails the JobSet."},
    {"startupPolicy", F_OBJECT, ONE, IMMUTABLE, .of = &TYPE_STARTUP_POLICY,
     .fallback = "{\"startupPolicyOrder\":\"AnyOrder\"}",
     .doc = "In which order Jobs are made. dependsOn says it better."},
    {"suspend", F_BOOL, ONE,
     .doc = "True when the Jobs have no pods for now; running ones are stopped."},
    {"coordinator", F_OBJECT, ONE, .of = &TYPE_COORDINATOR,
     .doc = "A pod whose address all others are told."},
    {"managedBy", F_STRING, ONE, RANGE | IMMUTABLE, .max = 63,
     .doc = "The controller that works on this JobSet, as domain/name. Unless it is "
            "jobset.sigs.k8s.io/jobset-controller the built-in one leaves it alone."},
    {"ttlSecondsAfterFinished", F_INT32, ONE, RANGE,
     .doc = "Seconds after its end until the JobSet is deleted; without it, it stays."},
    {"volumeClaimPolicies", F_ANY, LIST, IMMUTABLE,
     .doc = "Claims of storage that are made for the JobSet. There are none here: refused."},
    {0}};
// clang-format on

const struct type TYPE_JOBSET_SPEC = {
    JOBSET_V1ALPHA2("JobSetSpec"),
    "The Jobs of the set, and what becomes of all when one ends.",
    SPEC_FIELDS,
    .check = jobset_spec_check,
};

// clang-format off
#define COUNT(name, text) {name, F_INT32, ONE, RANGE, .fallback = "0", .doc = (text)}

static const struct field REPLICATED_JOB_STATUS_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .doc = "Name of the replicated job."},
    COUNT("ready", "Jobs whose pods are all ready or have succeeded."),
    COUNT("succeeded", "Jobs that succeeded."),
    COUNT("failed", "Jobs that failed."),
    COUNT("active", "Jobs that have pods which wait or run."),
    COUNT("suspended", "Jobs that are suspended."),
    {"jobRestarts", F_INT32, LIST, RANGE, .max = JOB_RESTARTS_MAX,
     .doc = "How often each Job, by its index, was restarted alone."},
    {"jobRestartsCountTowardsMax", F_INT32, LIST, RANGE, .max = JOB_RESTARTS_MAX,
     .doc = "How many of those count for maxRestarts."},
    {0}};
static const struct type TYPE_REPLICATED_JOB_STATUS = {
    JOBSET_V1ALPHA2("ReplicatedJobStatus"), "How far the Jobs of one replicated job have come.",
    REPLICATED_JOB_STATUS_FIELDS};

static const struct field STATUS_FIELDS[] = {
    {"conditions", F_OBJECT, LIST, MERGE, .of = &TYPE_CONDITION, .merge_key = "type",
     .doc = "How far the JobSet has come: Completed, Failed, Suspended, RestartingJobSet, "
            "StartupPolicyInProgress and StartupPolicyCompleted."},
    COUNT("restarts", "How often all Jobs were made anew."),
    {"restartsCountTowardsMax", F_INT32, ONE, RANGE,
     .doc = "How many restarts of all Jobs, made anew or in place, count for maxRestarts."},
    {"terminalState", F_STRING, ONE, .doc = "Completed or Failed, once the JobSet has ended."},
    {"replicatedJobsStatus", F_OBJECT, LIST, MERGE, .of = &TYPE_REPLICATED_JOB_STATUS,
     .merge_key = "name",
     .doc = "How far the Jobs have come, by replicated job."},
    {"inPlaceRestarts", F_INT32, ONE, RANGE,
     .doc = "How often all members were restarted in place. Those that a member asked for count for "
            "maxRestarts; those that somebody else asked for do not."},
    COUNT("deprecatedEpoch", "Members of this epoch or an earlier one must restart in place."),
    COUNT("syncedEpoch", "Members of this epoch may run: all have arrived in it. The first is 1."),
    {"previousInPlaceRestartAttempt", F_INT32, ONE, RANGE,
     .doc = "deprecatedEpoch less one, under its later name; not set before the first restart."},
    {"currentInPlaceRestartAttempt", F_INT32, ONE, RANGE,
     .doc = "syncedEpoch less one, under its later name; not set before all members have "
            "arrived for the first time."},
    {0}};
// clang-format on

const struct type TYPE_JOBSET_STATUS = {
    JOBSET_V1ALPHA2("JobSetStatus"),
    "How far the JobSet has come.",
    STATUS_FIELDS,
};
