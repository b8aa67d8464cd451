// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/jsonpath.h"
#include "cli/target.h"

/* Waiting for one object to become something. */
enum vigil_what { VIGIL_DELETE, VIGIL_CREATE, VIGIL_CONDITION, VIGIL_JSONPATH };
struct vigil {
    struct cli *cli;
    enum vigil_what what;
    time_ms deadline; /* of cli_monotonic() */
    const char *condition;
    const char *value; /* of the condition or the path; NULL: any value of the path */
    struct jsonpath *path;
};

/* 0 once it is so; else an exit code, the reason has been printed. An item with a uid that was
 * replaced by another of its name counts as deleted. */
int vigil_keep(const struct vigil *vigil, const struct item *item);
