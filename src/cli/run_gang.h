// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/inputs.h"

/* `run -n N -- COMMAND`: a group without a file. Makes the JobSet that the options and the command
 * ask for, as if it had been read from a file; prints it instead with --dry-run. */
bool run_gang_is_asked(const struct cli *cli);
int run_gang_make(struct cli *cli, int argc, char **argv, struct manifests *manifests);
int run_gang_print(struct cli *cli, const struct manifests *manifests);
