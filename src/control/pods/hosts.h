// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/pods/launch.h"

/* Pods of a JobSet with network.enableDNSHostnames find each other by name, whatever its strategy
 * and whoever is their agent: the node keeps one file of names for each JobSet that has a pod here,
 * and tells each container where it is. */
struct rpod;
struct runner;

/* The JobSet whose names the pod is told, or NULL. */
const struct obj *hosts_set(const struct launch_node *node, const struct cache *cache,
                            const struct obj *pod);
/* The file is there from the first pod that enters until the last has left. */
void hosts_enter(struct rpod *pod);
void hosts_leave(struct rpod *pod);
/* Its size may have changed. */
void hosts_on_jobset(struct runner *runner, const struct obj *set);
