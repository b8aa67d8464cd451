// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/inputs.h"

/* `muster up --node-config`: a NodeConfig, or the MinionConfig of the throttling study, which
 * becomes one. It is put in front of the manifests, so that it holds before the first pod starts.
 * 0, or an exit code; the reason has been printed. */
int nodeconfig_load(struct cli *cli, const char *file, struct manifests *manifests);
