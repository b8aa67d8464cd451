// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/vec.h"
#include "store/object.h"

/* Parts of the binder: what pods ask for and nodes have, and whether a node suits a pod. */

/* Names of resources, each with a number. The first three are always there. */
enum { RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_PODS, RESOURCE_KNOWN };
struct resource_names {
    VEC(char *) list;
};
void resource_names_init(struct resource_names *names);
void resource_names_done(struct resource_names *names);

/* Amounts by number: thousandths of cpu, whole units of everything else. Missing is 0. */
struct amounts {
    VEC(int64_t) of;
};
void amounts_done(struct amounts *amounts);
int64_t amounts_get(const struct amounts *amounts, size_t resource);
void amounts_add(struct amounts *to, const struct amounts *what, int64_t times);
bool amounts_equal(const struct amounts *a, const struct amounts *b);
/* {"cpu":"2","memory":"1Gi"} */
void amounts_read(struct resource_names *names, yyjson_val *map, struct amounts *out);
/* All that a pod asks for: its containers together or the largest of its init containers, what it
 * takes besides, and one place. */
void amounts_of_pod(struct resource_names *names, yyjson_val *spec, struct amounts *out);

/* NULL when the node's labels, taints and conditions let the pod in, else why not, in
 * Kubernetes' words ("node(s) were unschedulable"). */
const char *match_problem(const struct obj *node, yyjson_val *pod_spec, char *buf, size_t size);
bool match_one_tolerates(yyjson_val *toleration, yyjson_val *taint);
/* Does one of the tolerations bear this taint? */
bool match_tolerates(yyjson_val *tolerations, yyjson_val *taint);
