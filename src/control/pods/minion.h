// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/json.h"

/* MinionConfig v1beta1, the file that the throttling study proposed for a machine's settings, as a
 * NodeConfig, so that there is one way from there on. Its numbers are texts, and one of its keys is
 * misspelled: both are taken, the latter with a line in `warnings`. It is for all nodes ("default")
 * unless it has an `id`, as objects of its time had. Errors name the place in the file. */
int minion_read(struct sv json, const char *file, yyjson_mut_doc **ret_node_config,
                struct str *warnings, struct err *err);
