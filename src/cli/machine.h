// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"

/* Is this machine able to run a server: `muster up --check`. Tells a line for each thing that was
 * tried, with a remedy where one is needed, and leaves no file behind. CLI_OK also when something
 * could be better, CLI_FAILED when a server could not start. */
int machine_check(struct cli *cli);
