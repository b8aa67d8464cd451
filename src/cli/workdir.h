// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <yyjson.h>

/* Gives each container in an object that has no workingDir this one, wherever in it pods are
 * described: a Pod, a Job, a JobSet. */
void workdir_fill(yyjson_mut_doc *doc, const char *dir);
