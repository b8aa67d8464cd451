// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/manifest_internal.h"
#include <yaml.h>

/* What libyaml stumbled over, in words for whoever wrote the file, and what to do about it. */
int yaml_mistake(const struct source *source, const yaml_parser_t *parser, struct err *err);
