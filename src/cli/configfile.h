// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"
#include "model/configuration.h"

/* Reads --config; what is ignored in it is told on standard error. */
int configfile_read(struct cli *cli, const char *file, struct configuration *ret, struct err *err);
