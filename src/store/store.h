// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/status.h"
#include "store/cache.h"
#include "store/feed.h"

/* The store port: what controllers, API and node see of the objects. Reads come from `cache` and
 * `feed` and are never behind a write that was acknowledged; writes are asked for with
 * store_submit() and answered once they are durable. Implementations: embedded.h over SQLite, and
 * over the simulator's disk; a real kube-apiserver behind it is planned. */

enum write_op { WRITE_CREATE, WRITE_UPDATE, WRITE_PATCH, WRITE_DELETE };
enum write_sub { SUB_NONE, SUB_STATUS, SUB_SCALE, SUB_BINDING, SUB_FINALIZE };
enum patch_type { PATCH_MERGE, PATCH_JSON, PATCH_STRATEGIC };
enum propagation {
    PROPAGATE_DEFAULT,
    PROPAGATE_BACKGROUND,
    PROPAGATE_FOREGROUND,
    PROPAGATE_ORPHAN
};
enum validation { VALIDATE_IGNORE, VALIDATE_WARN, VALIDATE_STRICT };

/* How dependents are to be treated is kept on a deleted object as one of these finalizers. */
#define FINALIZER_ORPHAN "orphan"
#define FINALIZER_FOREGROUND "foregroundDeletion"

/* Namespaces that are always there and cannot be deleted; NULL-terminated. */
extern const char *const STORE_NAMESPACES[];

struct write_result {
    struct status status; /* ok, or why not */
    struct obj *obj;      /* the object as it is now (its last version when removed), borrowed */
    bool created;         /* it was not there before */
    bool removed;         /* it is gone */
    bool unchanged;       /* nothing was written: it was so already */
    struct str warnings;  /* one a line */
};

typedef void write_done_fn(void *arg, struct write_result *result);
/* Asked last, with the object before and after (either may be NULL): the rights of the caller that
 * depend on what changes. Refuses by setting *status. */
typedef void write_admit_fn(void *arg, const struct obj *old, const struct obj *new_,
                            struct status *status);

struct write {
    enum write_op op;
    enum write_sub sub;
    const struct kind *kind;
    char *ns;
    char *name;
    yyjson_mut_doc *doc; /* CREATE, UPDATE: the object (or the Scale, the Binding) */
    yyjson_doc *patch;
    enum patch_type patch_type;
    const struct kind *as; /* of a patch: the version in whose words it is; NULL: the kind's own */
    char *if_uid;          /* preconditions, or NULL */
    char *if_version;
    enum propagation propagation;
    int64_t grace_s; /* of DELETE; -1: the object's own */
    bool dry_run;
    enum validation validation;
    char *repeated; /* fields that the body had twice, a line each: as unknown ones; or NULL */
    write_admit_fn *admit;
    void *admit_arg;
    write_done_fn *done;
    void *arg;
};

struct write *write_new(enum write_op op, const struct kind *kind, const char *ns,
                        const char *name);
void write_free(struct write *write);

struct store {
    const struct store_ops *ops;
    struct cache *cache;
    struct feed *feed;
};
struct store_ops {
    /* Takes the write. `done` is called exactly once: when what it tells is durable. A refusal or
     * "unchanged" that is so already is told at once. */
    void (*submit)(struct store *store, struct write *write);
};

static inline void store_submit(struct store *store, struct write *write)
{
    store->ops->submit(store, write);
}
