// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/quantity.h"
#include "model/schema.h"

/* The parts of a pod, for every kind that has pods or templates of them. */
#define CORE_V1(name) "io.k8s.api.core.v1." name

extern const struct type TYPE_POD_SPEC, TYPE_POD_TEMPLATE_SPEC, TYPE_POD_STATUS;
extern const struct type TYPE_CONTAINER, TYPE_EPHEMERAL_CONTAINER, TYPE_RESOURCES;
extern const struct type TYPE_VOLUME, TYPE_FIELD_REF, TYPE_RESOURCE_FIELD_REF, TYPE_LOCAL_REF;
extern const struct type TYPE_AFFINITY, TYPE_TOLERATION, TYPE_TOPOLOGY_SPREAD, TYPE_TAINT;

/* Checks dependsOn of all containers: known names, no container that waits for itself, directly or
 * round a circle. `spec` is a PodSpec, the path of `c` stands at it. */
void depends_check(struct check *c, yyjson_mut_val *spec);
/* The same for the annotation muster.dev/depends-on, whose path `c` stands at. */
void depends_check_note(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *note);

/* val.fieldRef must name one of the fields, or an entry of the pod's labels or annotations. */
void field_ref_check(struct check *c, yyjson_mut_val *val, const char *const *fields);

/* A quantity as it stands in a document, text or number; false when it is none. */
bool resources_amount(yyjson_mut_val *val, quantity *ret_amount);
