// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/manager.h"

/* Every controller there is; the list that the server runs is CONTROLLERS. */
extern const struct controller CONTROLLER_GARBAGE, CONTROLLER_NAMESPACE, CONTROLLER_EXPIRY,
    CONTROLLER_JOB, CONTROLLER_BINDER, CONTROLLER_NODELIFE, CONTROLLER_JOBSET;
extern const struct controller CONTROLLER_STATEFULSET, CONTROLLER_POOL, CONTROLLER_ADMISSION;
extern const struct controller *const CONTROLLERS[]; /* NULL-terminated */

#define EVENT_LIFETIME_MS (60 * 60 * 1000)
#define NODE_SILENT_MS 40000 /* a node that renews its lease less often is taken for dead */
