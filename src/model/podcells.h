// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/kind.h"

/* The columns that `kubectl get pods` shows. */
extern const struct column POD_COLUMNS[];
