// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"

/* Are the options of `muster up` such that a server can be started with them? 0, or an exit code
 * when the mistake has been told. */
int upcheck_options(struct cli *cli);
