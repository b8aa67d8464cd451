// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/pods/runner_internal.h"

/* What a node that was told to end does before it ends its pods: leave.c. */
#define KEY_LEAVE "@leave"
#define KEY_LATE "@late"
/* False: nothing; its pods can be ended at once. Else runner_end_pods() will be called. */
bool leave_begin(struct runner *runner);
void leave_reconcile(struct runner *runner);
