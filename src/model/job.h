// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* The specification of a Job, for kinds that have templates of Jobs. */
#define JOB_MANAGER "kubernetes.io/job-controller" /* in managedBy: our own */
#define BATCH_V1(name) "io.k8s.api.batch.v1." name
extern const struct type TYPE_JOB_SPEC, TYPE_JOB_STATUS, TYPE_JOB_TEMPLATE_SPEC;
