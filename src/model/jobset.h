// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* The parts of a JobSet. Tables are in jobset.c; what tables cannot say is in jobset_check.c and,
 * for restarts in place, in jobset_inplace.c and jobset_probe.c; the stored object is in
 * kind_jobset.c. */
#define JOBSET_MANAGER "jobset.sigs.k8s.io/jobset-controller" /* in managedBy: our own */
#define JOBSET_V1ALPHA2(name) "io.x-k8s.jobset.v1alpha2." name

/* Variables that tell an agent with which exit code it asks for the restart of its pod: the
 * document's name, and the one that became of it. */
#define JOBSET_ENV_EXIT_CODE "RESTART_POD_IN_PLACE_EXIT_CODE"
#define JOBSET_ENV_EXIT_CODE_LATER "IN_PLACE_RESTART_EXIT_CODE"
/* Where an agent beside its worker answers once the barrier is lifted; as above. */
#define JOBSET_BARRIER_PATH "/barrier-is-lifted"
#define JOBSET_BARRIER_PATH_LATER "/barrier-is-down"

/* On the pods of a JobSet. */
#define JOBSET_LABEL_NAME "jobset.sigs.k8s.io/jobset-name"
#define JOBSET_LABEL_UID "jobset.sigs.k8s.io/jobset-uid"
/* On a JobSet, with any value: members start and restart without waiting for each other. */
#define JOBSET_NOTE_NOT_IN_PLACE "jobset.sigs.k8s.io/disable-in-place-restart"
/* One Job for each domain of the topology that is named here; with the second, whatever its value,
 * on nodes to which somebody has given the label of the Job. On a JobSet, on a replicated job's
 * template, or on that of the pods: the nearest counts. */
#define JOBSET_NOTE_EXCLUSIVE "alpha.jobset.sigs.k8s.io/exclusive-topology"
#define JOBSET_NOTE_BY_LABEL "alpha.jobset.sigs.k8s.io/node-selector"
#define JOBSET_NODE_LABEL "alpha.jobset.sigs.k8s.io/namespaced-job" /* NAMESPACE_JOB */
#define JOBSET_NODE_TAINT "alpha.jobset.sigs.k8s.io/no-schedule"

extern const struct type TYPE_JOBSET_SPEC, TYPE_JOBSET_STATUS;

/* Of a JobSetSpec, at whose path `c` stands. */
void jobset_spec_check(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old);
void jobset_in_place_check(struct check *c, yyjson_mut_val *spec);
/* Of a container: does its startup probe ask for the barrier? Is its program muster-agent? Then the
 * probe must ask where that answers. */
bool jobset_asks_barrier(yyjson_mut_val *container);
bool jobset_runs_agent(yyjson_mut_val *container);
void jobset_probe_check(struct check *c, yyjson_mut_val *container);
/* Of the spec of a pod, which was checked: does it bring the agent that keeps its barrier? */
bool jobset_pod_has_agent(yyjson_val *pod_spec);
/* Of a status: the epochs that are over and that has begun. Both sets of names are written; where a
 * server knows only one of them, that one counts. */
struct jobset_epochs {
    int64_t deprecated, synced;
};
struct jobset_epochs jobset_epochs(yyjson_val *status);
/* Of a whole JobSet: what is made from its name. */
void jobset_names_check(struct check *c, yyjson_mut_val *root);
/* Of a whole JobSet: what may change in it. */
void jobset_update_check(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old);
