// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/rng.h"
#include "store/scale.h"
#include "store/store.h"

/* What one write does to one object: decided here, without side effects, against the newest
 * version. embedded.c numbers, stores and announces what was decided. */
enum verdict {
    VERDICT_REFUSED, /* result->status says why */
    VERDICT_KEEP,    /* nothing to write: no change */
    VERDICT_PUT,     /* doc is the new version */
    VERDICT_REMOVE,  /* doc is the last version */
};

struct decision {
    enum verdict verdict;
    /* Without its resourceVersion; the caller frees. Strings may be those of the old version. */
    yyjson_mut_doc *doc;
    struct pack_kept kept; /* members of doc that are identical to those of the old version */
    bool is_known;         /* see struct obj */
    bool created;
};

struct write_env {
    time_ms now;
    struct rng *rng;
    uint64_t revision; /* that this write will have, if it is stored */
    struct obj *old;   /* the newest version, or NULL */
    /* The newest version of anything else: the namespace, a generated name, a pod's JobSet. */
    struct obj *(*head)(void *arg, const struct kind *kind, const char *ns, const char *name);
    void *arg;
};

void write_decide(const struct write_env *env, struct write *write, struct write_result *result,
                  struct decision *decision);

/* The two halves that write.c dispatches to. They may change write->doc. */
void create_decide(const struct write_env *env, struct write *write, struct write_result *result,
                   struct decision *decision);
void delete_decide(const struct write_env *env, struct write *write, struct write_result *result,
                   struct decision *decision);

/* Unknown fields and defaults of decision->doc, and what of it is kept of `old`, which may be NULL.
 * False: result->status says why. */
bool write_complete(const struct write *write, const struct obj *old, struct write_result *result,
                    struct decision *decision);
/* Validation. False: result->status says why. */
bool write_check(const struct write_env *env, const struct write *write, yyjson_mut_doc *doc,
                 yyjson_mut_val *old, struct write_result *result);
/* Does the document say that it is of this kind and version, as far as it says anything? */
bool write_is_of_kind(const struct kind *kind, yyjson_mut_val *root, struct status *status);
/* Is there anything left that must happen before the object may go? */
bool write_may_go(const struct kind *kind, yyjson_mut_val *root);

/* Puts a Scale's spec.replicas into the object's document. */
bool scale_apply(const struct kind *kind, yyjson_mut_doc *object, yyjson_mut_val *scale,
                 struct status *status);
