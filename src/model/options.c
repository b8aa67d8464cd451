// SPDX-License-Identifier: Apache-2.0
#include "model/options.h"
#include "model/kind.h"
#include "model/podspec.h"
#include "model/rules.h"

#define META_V1(name) "io.k8s.apimachinery.pkg.apis.meta.v1." name
#define AUTOSCALING_V1(name) "io.k8s.api.autoscaling.v1." name

// clang-format off
static const struct field PRECONDITIONS_FIELDS[] = {
    {"uid", F_STRING, ONE, .pb = 1 | PB_ZERO, .doc = "The uid that the object must have."},
    {"resourceVersion", F_STRING, ONE, .pb = 2 | PB_ZERO,
     .doc = "The revision at which it must be."},
    {0}};
static const struct type TYPE_PRECONDITIONS = {
    META_V1("Preconditions"), "Without these the object is not deleted.", PRECONDITIONS_FIELDS};

static const struct field DELETE_OPTIONS_FIELDS[] = {
    FIELDS_TYPE_META,
    {"gracePeriodSeconds", F_INT64, ONE, .pb = 1 | PB_ZERO,
     .doc = "Seconds that the object gets to end by itself; 0: none."},
    {"preconditions", F_OBJECT, ONE, .of = &TYPE_PRECONDITIONS, .pb = 2 | PB_ZERO,
     .doc = "Without these the object is not deleted."},
    {"orphanDependents", F_BOOL, ONE, .pb = 3 | PB_ZERO,
     .doc = "Old form of propagationPolicy: true is Orphan."},
    {"propagationPolicy", F_STRING, ONE, .values = VALUES("Orphan", "Background", "Foreground"),
     .pb = 4 | PB_ZERO,
     .doc = "What becomes of the objects that belong to it: they stay, go after it, or before."},
    {"dryRun", F_STRING, LIST, .values = VALUES("All"), .pb = 5,
     .doc = "All: everything is checked and nothing is done."},
    {"ignoreStoreReadErrorWithClusterBreakingPotential", F_BOOL, ONE, .pb = 6 | PB_ZERO,
     .doc = "For objects that cannot be read any more; there are none here."},
    {0}};

static const struct field SCALE_SPEC_FIELDS[] = {
    {"replicas", F_INT32, ONE, RANGE, .pb = 1, .doc = "How many are wanted."},
    {0}};
static const struct type TYPE_SCALE_SPEC = {
    AUTOSCALING_V1("ScaleSpec"), "How many are wanted.", SCALE_SPEC_FIELDS};

static const struct field SCALE_STATUS_FIELDS[] = {
    {"replicas", F_INT32, ONE, RANGE, .pb = 1 | PB_ZERO, .doc = "How many there are."},
    {"selector", F_STRING, ONE, .pb = 2, .doc = "Labels by which they are found, as a=b,c=d."},
    {0}};
static const struct type TYPE_SCALE_STATUS = {
    AUTOSCALING_V1("ScaleStatus"), "How many there are.", SCALE_STATUS_FIELDS};

static const struct field SCALE_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, .of = &TYPE_SCALE_SPEC, .pb = 2, .doc = "How many are wanted."},
    {"status", F_OBJECT, ONE, .of = &TYPE_SCALE_STATUS, .pb = 3, .doc = "How many there are."},
    {0}};

static const struct field EVICTION_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"deleteOptions", F_OBJECT, ONE, .of = &TYPE_DELETE_OPTIONS, .pb = 2 | PB_ZERO,
     .doc = "How the pod is to be deleted."},
    {0}};

static const struct field BINDING_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"target", F_OBJECT, ONE, REQUIRED, .of = &TYPE_REFERENCE, .pb = 2 | PB_ZERO,
     .doc = "The node on which the pod shall run."},
    {0}};
// clang-format on

const struct type TYPE_DELETE_OPTIONS = {
    META_V1("DeleteOptions"),
    "How an object is to be deleted.",
    DELETE_OPTIONS_FIELDS,
};
const struct type TYPE_SCALE = {
    AUTOSCALING_V1("Scale"),
    "How many of something there are and shall be.",
    SCALE_FIELDS,
};
const struct type TYPE_EVICTION = {
    "io.k8s.api.policy.v1.Eviction",
    "Takes a pod off its node.",
    EVICTION_FIELDS,
};
const struct type TYPE_BINDING = {
    CORE_V1("Binding"),
    "Puts a pod on a node.",
    BINDING_FIELDS,
};
