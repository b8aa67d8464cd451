// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* Parts of containers and pods that have files of their own. */
extern const struct type TYPE_PROBE, TYPE_LIFECYCLE, TYPE_SECURITY_CONTEXT,
    TYPE_POD_SECURITY_CONTEXT;
