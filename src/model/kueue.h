// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/cell.h"
#include "model/kind.h"
#include "model/rules.h"

/* What the kinds of kueue.x-k8s.io share. Each is stored as v1beta2 and served as v1beta1 as well,
 * in which some fields have other names. */
#define KUEUE_GROUP "kueue.x-k8s.io"
#define KUEUE_V1BETA1(name) "io.x-k8s.kueue.v1beta1." name
#define KUEUE_V1BETA2(name) "io.x-k8s.kueue.v1beta2." name

#define KUEUE_QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define KUEUE_PRIORITY_LABEL "kueue.x-k8s.io/priority-class"
#define KUEUE_MAX_RUN_LABEL "kueue.x-k8s.io/max-exec-time-seconds"
#define KUEUE_GROUP_LABEL "kueue.x-k8s.io/pod-group-name"
#define KUEUE_GROUP_COUNT "kueue.x-k8s.io/pod-group-total-count"   /* annotation */
#define KUEUE_MIN_PARALLELISM "kueue.x-k8s.io/job-min-parallelism" /* annotation of a Job */
#define KUEUE_GATE "kueue.x-k8s.io/admission"                      /* scheduling gate of a pod */
#define KUEUE_MANAGED_LABEL "kueue.x-k8s.io/managed"

extern const struct type TYPE_RESOURCE_GROUP, TYPE_FAIR_SHARING, TYPE_FLAVOR_USAGE,
    TYPE_LOCAL_FLAVOR_USAGE;

/* Whatever it says itself: a Job or JobSet that waits in a queue is made suspended. */
void kueue_hold(yyjson_mut_doc *doc, yyjson_mut_val *root);
/* The same for a pod: a gate holds it back. */
void kueue_hold_pod(yyjson_mut_doc *doc, yyjson_mut_val *root);

/* Of a Job or JobSet: KUEUE_MAX_RUN_LABEL is a number of seconds if it waits in a queue, and while
 * it runs it stays in its queue. */
void kueue_check_labels(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old);
/* Of a new pod that waits in a queue: a group has a name that can be a Workload's, and a size. */
void kueue_check_group(struct check *c, yyjson_mut_val *root);
/* Its text as seconds; 0: no limit, or not a number that can be one. */
int64_t kueue_max_run(const char *text);

/* parent.from becomes parent.to; `parent` is a path. Nothing when there is no such field. */
void kueue_rename(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *parent, const char *from,
                  const char *to);
/* Resource groups of a ClusterQueue or a Cohort, at whose spec `c` stands. `parent` is the field
 * that names whom it borrows from and lends to. A Cohort lends what is in it as well, so it may
 * lend more than its own quota. */
struct kueue_owner {
    const char *parent;
    bool is_cohort;
};
void kueue_check_groups(struct check *c, yyjson_mut_val *spec, struct kueue_owner owner);

/* Of a whole Workload: what tables cannot say (workload_check.c). */
void workload_check(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old);

#define KUEUE_KIND_FIELDS(spec_type, status_type, status_doc)                                      \
    FIELDS_TYPE_META, FIELD_METADATA,                                                              \
        {"spec", F_OBJECT, ONE, .of = &(spec_type), .doc = "What is wanted."},                     \
        {"status", F_OBJECT, ONE, .of = &(status_type), .doc = (status_doc)},                      \
    {                                                                                              \
        0                                                                                          \
    }
