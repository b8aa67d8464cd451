// SPDX-License-Identifier: Apache-2.0
#include "control/controllers.h"

const struct controller *const CONTROLLERS[] = {
    &CONTROLLER_GARBAGE,
    &CONTROLLER_NAMESPACE,
    &CONTROLLER_EXPIRY,
    &CONTROLLER_BINDER,
    NULL,
};
