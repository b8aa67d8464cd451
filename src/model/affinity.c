// SPDX-License-Identifier: Apache-2.0
/* Where a pod may run: affinity, tolerations, spread. */
#include "model/kind.h"
#include "model/podspec.h"
#include "model/rules.h"

// clang-format off
static const struct field NODE_REQUIREMENT_FIELDS[] = {
    {"key", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_QUALIFIED, .pb = 1 | PB_ZERO,
     .doc = "The node's label (or, in matchFields, its field) that is looked at."},
    {"operator", F_STRING, ONE, REQUIRED,
     .values = VALUES("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"), .pb = 2 | PB_ZERO,
     .doc = "How it is compared: In, NotIn, Exists, DoesNotExist, or Gt and Lt for numbers."},
    {"values", F_STRING, LIST, .pb = 3,
     .doc = "Values for In and NotIn, one number for Gt and Lt, none otherwise."},
    {0}};

static const struct type TYPE_NODE_REQUIREMENT = {
    CORE_V1("NodeSelectorRequirement"), "One condition on a node.",
    NODE_REQUIREMENT_FIELDS, .check = rules_requirement};

static const struct field NODE_TERM_FIELDS[] = {
    {"matchExpressions", F_OBJECT, LIST, .of = &TYPE_NODE_REQUIREMENT, .pb = 1,
     .doc = "Conditions on the node's labels; all must hold."},
    {"matchFields", F_OBJECT, LIST, .of = &TYPE_NODE_REQUIREMENT, .pb = 2,
     .doc = "Conditions on the node's fields; metadata.name is the one there is."},
    {0}};

static const struct type TYPE_NODE_TERM = {
    CORE_V1("NodeSelectorTerm"), "Conditions that a node meets all together. Empty: no node does.",
    NODE_TERM_FIELDS};

static const struct field NODE_SELECTOR_FIELDS[] = {
    {"nodeSelectorTerms", F_OBJECT, LIST, REQUIRED | NON_EMPTY, .of = &TYPE_NODE_TERM, .pb = 1,
     .doc = "Alternatives: a node is fine when it meets one of them."},
    {0}};

static const struct type TYPE_NODE_SELECTOR = {
    CORE_V1("NodeSelector"), "Chooses nodes by alternatives of conditions.", NODE_SELECTOR_FIELDS};

static const struct field PREFERRED_NODE_FIELDS[] = {
    {"weight", F_INT32, ONE, REQUIRED | RANGE, .min = 1, .max = 100, .pb = 1 | PB_ZERO,
     .doc = "How much a node gains that meets the preference, 1 to 100."},
    {"preference", F_OBJECT, ONE, REQUIRED, .of = &TYPE_NODE_TERM, .pb = 2 | PB_ZERO,
     .doc = "What is preferred."},
    {0}};

static const struct type TYPE_PREFERRED_NODE = {
    CORE_V1("PreferredSchedulingTerm"), "A wish, and how much it weighs.", PREFERRED_NODE_FIELDS};

#define REQUIRED_TERMS "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED_TERMS "preferredDuringSchedulingIgnoredDuringExecution"

static const struct field NODE_AFFINITY_FIELDS[] = {
    {REQUIRED_TERMS, F_OBJECT, ONE, .of = &TYPE_NODE_SELECTOR, .pb = 1 | PB_ZERO,
     .doc = "The pod only runs on nodes that are chosen here."},
    {PREFERRED_TERMS, F_OBJECT, LIST, .of = &TYPE_PREFERRED_NODE, .pb = 2,
     .doc = "Nodes with the highest sum of weights come first."},
    {0}};

static const struct type TYPE_NODE_AFFINITY = {
    CORE_V1("NodeAffinity"), "Rules on the nodes themselves.", NODE_AFFINITY_FIELDS};

static const struct field POD_TERM_FIELDS[] = {
    {"labelSelector", F_OBJECT, ONE, .of = &TYPE_LABEL_SELECTOR, .pb = 1 | PB_ZERO,
     .doc = "The pods that this is about; without it, none."},
    {"namespaceSelector", F_OBJECT, ONE, .of = &TYPE_LABEL_SELECTOR, .pb = 4 | PB_ZERO,
     .doc = "Namespaces of those pods, by label. Empty: all of them."},
    {"namespaces", F_STRING, LIST, .pb = 2,
     .doc = "Namespaces of those pods, by name. Without both: the pod's own."},
    {"topologyKey", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_QUALIFIED, .pb = 3 | PB_ZERO,
     .doc = "Node label that says what together means: the same value is the same place."},
    {"matchLabelKeys", F_STRING, LIST, .pb = 5,
     .doc = "Labels of the new pod whose values the other pods must have as well."},
    {"mismatchLabelKeys", F_STRING, LIST, .pb = 6,
     .doc = "Labels of the new pod whose values the other pods must not have."},
    {0}};

static const struct type TYPE_POD_TERM = {
    CORE_V1("PodAffinityTerm"), "Pods, and the kind of place they share.", POD_TERM_FIELDS};

static const struct field WEIGHTED_POD_FIELDS[] = {
    {"weight", F_INT32, ONE, REQUIRED | RANGE, .min = 1, .max = 100, .pb = 1 | PB_ZERO,
     .doc = "How much a node gains that meets the term, 1 to 100."},
    {"podAffinityTerm", F_OBJECT, ONE, REQUIRED, .of = &TYPE_POD_TERM, .pb = 2 | PB_ZERO,
     .doc = "What is preferred."},
    {0}};

static const struct type TYPE_WEIGHTED_POD = {
    CORE_V1("WeightedPodAffinityTerm"), "A wish, and how much it weighs.", WEIGHTED_POD_FIELDS};

static const struct field POD_AFFINITY_FIELDS[] = {
    {REQUIRED_TERMS, F_OBJECT, LIST, .of = &TYPE_POD_TERM, .pb = 1,
     .doc = "The pod only runs in a place where pods of each term run."},
    {PREFERRED_TERMS, F_OBJECT, LIST, .of = &TYPE_WEIGHTED_POD, .pb = 2,
     .doc = "Places with such pods come first."},
    {0}};

static const struct type TYPE_POD_AFFINITY = {
    CORE_V1("PodAffinity"), "Pods near which this one wants to be.", POD_AFFINITY_FIELDS};

static const struct field POD_ANTI_AFFINITY_FIELDS[] = {
    {REQUIRED_TERMS, F_OBJECT, LIST, .of = &TYPE_POD_TERM, .pb = 1,
     .doc = "The pod never runs in a place where pods of any term run."},
    {PREFERRED_TERMS, F_OBJECT, LIST, .of = &TYPE_WEIGHTED_POD, .pb = 2,
     .doc = "Places with such pods come last."},
    {0}};

static const struct type TYPE_POD_ANTI_AFFINITY = {
    CORE_V1("PodAntiAffinity"), "Pods from which this one wants to be away.",
    POD_ANTI_AFFINITY_FIELDS};

static const struct field AFFINITY_FIELDS[] = {
    {"nodeAffinity", F_OBJECT, ONE, .of = &TYPE_NODE_AFFINITY, .pb = 1 | PB_ZERO,
     .doc = "Rules on the nodes themselves."},
    {"podAffinity", F_OBJECT, ONE, .of = &TYPE_POD_AFFINITY, .pb = 2 | PB_ZERO,
     .doc = "Pods near which this one wants to be."},
    {"podAntiAffinity", F_OBJECT, ONE, .of = &TYPE_POD_ANTI_AFFINITY, .pb = 3 | PB_ZERO,
     .doc = "Pods from which this one wants to be away."},
    {0}};

static const struct field TOLERATION_FIELDS[] = {
    {"key", F_STRING, ONE, .format = FMT_QUALIFIED, .pb = 1,
     .doc = "Key of the taints that are tolerated; empty with Exists: all of them."},
    {"operator", F_STRING, ONE, .values = VALUES("Exists", "Equal"), .pb = 2,
     .doc = "Exists: whatever the taint's value is. Equal: the value must be the same; "
            "this is meant when nothing is given."},
    {"value", F_STRING, ONE, .format = FMT_LABEL_VALUE, .pb = 3,
     .doc = "Value of the taint for Equal."},
    {"effect", F_STRING, ONE, .values = VALUES("NoSchedule", "PreferNoSchedule", "NoExecute"),
     .pb = 4,
     .doc = "Effect of the taints that are tolerated; empty: all effects."},
    {"tolerationSeconds", F_INT64, ONE, .pb = 5 | PB_ZERO,
     .doc = "How long the pod stays on a node with such a NoExecute taint; without it, for ever."},
    {0}};

static const struct field TOPOLOGY_SPREAD_FIELDS[] = {
    {"maxSkew", F_INT32, ONE, REQUIRED | RANGE, .min = 1, .pb = 1 | PB_ZERO,
     .doc = "By how many pods the fullest place may be ahead of the emptiest."},
    {"topologyKey", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_QUALIFIED, .pb = 2 | PB_ZERO,
     .doc = "Node label whose values are the places to spread over."},
    {"whenUnsatisfiable", F_STRING, ONE, REQUIRED,
     .values = VALUES("DoNotSchedule", "ScheduleAnyway"), .pb = 3 | PB_ZERO,
     .doc = "DoNotSchedule: the pod waits. ScheduleAnyway: the least uneven place is taken."},
    {"labelSelector", F_OBJECT, ONE, .of = &TYPE_LABEL_SELECTOR, .pb = 4 | PB_ZERO,
     .doc = "The pods that are counted."},
    {"minDomains", F_INT32, ONE, RANGE, .min = 1, .pb = 5 | PB_ZERO,
     .doc = "With fewer places than this the emptiest one counts as having no pod. "
            "Only with DoNotSchedule."},
    {"nodeAffinityPolicy", F_STRING, ONE, .values = VALUES("Honor", "Ignore"), .pb = 6 | PB_ZERO,
     .doc = "Honor (as when absent): only nodes that the pod's node rules allow count as places."},
    {"nodeTaintsPolicy", F_STRING, ONE, .values = VALUES("Honor", "Ignore"), .pb = 7 | PB_ZERO,
     .doc = "Honor: nodes with taints that the pod does not tolerate are no places. "
            "Ignore (as when absent): they are."},
    {"matchLabelKeys", F_STRING, LIST, .pb = 8,
     .doc = "Labels of the new pod whose values the counted pods must have as well."},
    {0}};
// clang-format on

const struct type TYPE_AFFINITY = {
    CORE_V1("Affinity"),
    "Rules on where a pod may run and where it would like to.",
    AFFINITY_FIELDS,
};

static void toleration_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    const char *operator= yyjson_mut_get_str(yyjson_mut_obj_get(val, "operator"));
    const char *effect = yyjson_mut_get_str(yyjson_mut_obj_get(val, "effect"));
    yyjson_mut_val *value = yyjson_mut_obj_get(val, "value");
    bool exists = str_eq(operator, "Exists");
    if (yyjson_mut_get_len(yyjson_mut_obj_get(val, "key")) == 0 && !exists)
        check_invalid(c, "operator", yyjson_mut_obj_get(val, "operator"),
                      "must be Exists when `key` is empty");
    if (exists && yyjson_mut_get_len(value) > 0)
        check_invalid(c, "value", value, "must be empty when `operator` is 'Exists'");
    if (rules_has(val, "tolerationSeconds") && !str_eq(effect, "NoExecute"))
        check_invalid(c, "effect", yyjson_mut_obj_get(val, "effect"),
                      "must be 'NoExecute' when `tolerationSeconds` is set");
}

const struct type TYPE_TOLERATION = {
    CORE_V1("Toleration"),
    "Lets a pod run on nodes whose taints would keep it away.",
    TOLERATION_FIELDS,
    .check = toleration_check,
};

static void topology_spread_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    const char *when = yyjson_mut_get_str(yyjson_mut_obj_get(val, "whenUnsatisfiable"));
    if (rules_has(val, "minDomains") && !str_eq(when, "DoNotSchedule"))
        check_invalid(c, "minDomains", yyjson_mut_obj_get(val, "minDomains"),
                      "can only be used when `whenUnsatisfiable` is 'DoNotSchedule'");
}

const struct type TYPE_TOPOLOGY_SPREAD = {
    CORE_V1("TopologySpreadConstraint"),
    "Keeps pods evenly spread over places.",
    TOPOLOGY_SPREAD_FIELDS,
    .check = topology_spread_check,
};
