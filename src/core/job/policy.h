// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "core/job/indexes.h"

/* What the failure of one pod means, by a Job's podFailurePolicy; and whether a set of succeeded
 * indexes is enough, by its successPolicy. The rules are read where they stand, in the Job's
 * specification. */
enum failure_action {
    FAILURE_COUNT, /* as without a rule */
    FAILURE_IGNORE,
    FAILURE_FAIL_INDEX,
    FAILURE_FAIL_JOB,
};

struct failure_match {
    enum failure_action action;
    int rule;              /* its number; -1: none fits */
    const char *container; /* of a rule on exit codes: which one ended so, and how */
    int64_t exit_code;
    const char *condition; /* of a rule on conditions: which one the pod has */
};

/* `policy` may be NULL, `pod_status` is the status of the pod that failed. */
struct failure_match policy_match(yyjson_val *policy, yyjson_val *pod_status);
/* "Container a for pod ns/x failed with exit code 3 matching FailJob rule at index 0" */
void policy_message(const struct failure_match *match, const char *ns, const char *pod,
                    struct str *out);

/* The number of the first rule that is met, -1 when none is. */
int success_match(yyjson_val *policy, int64_t completions, const struct indexes *succeeded);
