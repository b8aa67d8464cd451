// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/pods/launch.h"
#include "node/spawn_wire.h"

/* The volumes of pods as files of the node: PODS/UID/volumes/NAME. Nothing is remembered in memory:
 * a supervisor that was started anew goes on with what is there. */
struct volumes;
/* `pods`: the folder; it is made when it is missing. */
int volumes_new(const char *pods, struct volumes **ret_volumes, struct err *err);
void volumes_free(struct volumes *volumes); /* the files stay; NULL is fine */

/* Makes what the container mounts and is not there yet, and brings its files up to date. The list
 * has launch->n_mounts entries and lives in the arena. A volume in memory that may not be mounted
 * is a folder, with a warning in the log. */
int volumes_make(struct volumes *volumes, const char *uid, const struct launch *launch,
                 struct arena *arena, const struct spawn_mount **ret_mounts, struct err *err);
/* Brings files of ConfigMaps up to date, all files of a volume in one step; mounts by subPath keep
 * what they have. Returns how many volumes changed. */
int volumes_refresh(struct volumes *volumes, const char *uid, const struct launch *launch,
                    struct err *err);
/* Removes all of the pod's volumes, about `budget` files a call: 0 when nothing is left, 1 when it
 * must be called again. Folders of hostPath volumes are not touched. */
int volumes_remove(struct volumes *volumes, const char *uid, size_t budget, struct err *err);

/* ---- volume_files.c ---- */
/* Makes the folder `dir` have exactly these files, in one step. 1: it was changed. */
int volume_files_write(const char *dir, const struct launch_mount *mount, int64_t fs_group,
                       struct err *err);
