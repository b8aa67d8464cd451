// SPDX-License-Identifier: Apache-2.0
#include "control/controllers.h"

// clang-format off
const struct controller *const CONTROLLERS[] = {
    &CONTROLLER_GARBAGE,
    &CONTROLLER_NAMESPACE,
    &CONTROLLER_EXPIRY,
    &CONTROLLER_JOB,
    &CONTROLLER_BINDER,
    &CONTROLLER_NODELIFE,
    &CONTROLLER_JOBSET,
    &CONTROLLER_STATEFULSET,
    &CONTROLLER_POOL,
    &CONTROLLER_ADMISSION,
    NULL,
};
// clang-format on
