// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/heap.h"
#include "base/map.h"
#include "control/manager.h"
#include "core/job/indexes.h"
#include <bsd/sys/queue.h>

/* The StatefulSet controller in parts:
 *   statefulset_state.c     what is derived from pods, kept up to date with each change;
 *   statefulset_revision.c  the templates that pods are or were made of;
 *   statefulset_pods.c      creates and removes pods;
 *   statefulset_status.c    the set's status;
 *   statefulset.c           decides, and puts them together. */
#define SET_REVISION_LABEL "controller-revision-hash"
#define SET_NAME_LABEL "statefulset.kubernetes.io/pod-name"
#define SET_INDEX_LABEL "apps.kubernetes.io/pod-index"
#define SET_PAUSE_MIN_MS 1000
#define SET_PAUSE_MAX_MS 60000
#define SET_BATCH 500 /* writes of one sort in one look */

struct set_member { /* a pod of a set */
    TAILQ_ENTRY(set_member) siblings;
    struct set_state *set;
    char *uid, *revision;
    int64_t ordinal;
    bool is_leaving, is_ended, is_ready, is_available;
    time_ms ready_since;
    struct heap_node due; /* ready, and to be available then */
};

struct set_revision {
    char *name;
    int64_t number;
};

struct set_use { /* of a revision, by pods that stay */
    char *revision;
    int64_t pods;
};

struct set_state {
    char *uid;
    TAILQ_HEAD(, set_member) members;
    /* Ordinals of pods: of all, and of those that are on their way out, have ended, are anything
     * but well, are not of the wanted revision. */
    struct indexes all, leaving, ended, unwell, outdated;
    int64_t ready, available;
    VEC(struct set_use) uses;
    VEC(struct set_revision) revisions; /* stored ones */
    struct heap waiting;
    /* From the newest version of the set. */
    uint64_t revision_read;
    int64_t generation;
    int64_t min_ready_ms;
    char *wanted; /* name of the template's revision */
    /* Pods that end are made again after a pause that grows until one gets ready. */
    time_ms pause_ms, pause_until;
    /* What to tell people about, once it is seen to have happened. */
    VEC(char *) created, deleted;
};

struct sets {            /* the controller's state */
    struct map *states;  /* UID of the set to struct set_state */
    struct map *members; /* UID of the pod to struct set_member */
};

struct set_look { /* one reconciliation */
    struct control *control;
    struct set_state *state;
    struct obj *set;
    yyjson_val *spec;
    time_ms now;
    int64_t start, replicas, partition, max_unavailable;
    bool is_ordered, is_rolling;
    const char *current; /* revision that pods below the partition have */
};

/* ---- statefulset_state.c ---- */
struct sets *stsets_new(void);
void stsets_free(struct sets *sets);
struct set_state *stsets_state(struct sets *sets, const char *uid); /* NULL: none */
struct set_state *stsets_need(struct sets *sets, const char *uid);
void stsets_forget_if_empty(struct sets *sets, struct set_state *state);
const char *set_owner_uid(const struct obj *obj); /* of a pod or a revision; NULL: of no set */
void stsets_put_pod(struct sets *sets, const struct obj *pod, time_ms now);
void stsets_drop_pod(struct sets *sets, const char *uid);
/* Reads the set's newest version. */
void set_read(struct set_state *state, const struct obj *set, time_ms now);
void set_end_waits(struct set_state *state, time_ms now);
int64_t set_uses(const struct set_state *state, const char *revision);
int64_t indexes_last(const struct indexes *set, int64_t upto); /* the last <= upto; -1: none */

/* ---- statefulset_revision.c ---- */
char *revision_name(const struct obj *set);
void revision_put(struct set_state *state, const struct obj *revision);
void revision_drop(struct set_state *state, const char *name);
/* The template's revision is stored, and the newest; else asks for that and returns false. */
bool look_need_revision(struct set_look *look);
void look_prune_revisions(struct set_look *look);
/* The template that a pod of this ordinal is made of, and the name of its revision. */
yyjson_val *look_template(const struct set_look *look, int64_t ordinal, const char **ret_revision);

/* ---- statefulset_pods.c ---- */
void look_create_pod(struct set_look *look, int64_t ordinal);
void look_delete_pod(struct set_look *look, int64_t ordinal);
void look_tell_changes(struct set_look *look);
/* What nobody controls and looks like ours is: its set was deleted without it and made anew. */
void look_adopt(struct set_look *look, const struct obj *obj);

/* ---- statefulset_status.c ---- */
void look_write_set_status(struct set_look *look);
const char *look_current(const struct set_look *look); /* status.currentRevision, or wanted */
