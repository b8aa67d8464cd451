// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* Bodies of requests that are no kinds: nothing of them is stored. */
extern const struct type TYPE_DELETE_OPTIONS, TYPE_SCALE, TYPE_BINDING, TYPE_EVICTION;
extern const struct type TYPE_ACCESS_REVIEW, TYPE_RULES_REVIEW, TYPE_SELF_REVIEW;
