// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/pods/runner_internal.h"

/* Groups of pods that start and restart together, as far as this node runs them: gang.c. */
enum gang_role {
    GANG_NONE,   /* no business of ours: it is alone, or brings its own agent */
    GANG_MEMBER, /* the node is its agent */
    GANG_LOST,   /* its JobSet is gone */
};
/* The JobSet with this UID, or NULL. */
struct obj *gang_jobset(const struct runner *runner, const char *uid);
/* Its members restart in place, and the barrier is lifted for them now. */
bool gang_is_running(const struct obj *jobset);
enum gang_role gang_role(struct runner *runner, const struct rpod *pod);
/* A member is in the engine, as new or as it was left. */
void gang_enter(struct runner *runner, struct rpod *pod);
void gang_leave(struct rpod *pod); /* no-op for others */
void gang_on_down(struct rpod *pod);
void gang_on_jobset(struct runner *runner, const struct obj *jobset);
/* A new version of a member's pod. True: it can wait until its group has come to rest. */
bool gang_on_pod(struct rpod *pod, const struct obj *obj);
/* Its status is not written now: gang.c brings its key back. */
bool gang_defers(struct rpod *pod);
void gang_reconcile(struct runner *runner, const char *key);
/* Of a member that fell: "container c ended with exit code 3"; nothing when nobody knows. */
void cause_add(const struct rpod *pod, struct str *out);
/* MUSTER_EPOCH. */
void gang_env(const struct rpod *pod, struct arena *arena, struct launch *launch);
