// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/object.h"

/* What changed, in order of revision: a bounded window of past changes for those who resume, and
 * the watches of those who listen. Watches are indexed by kind, namespace and name, so a change
 * costs as much as there are watches that may want it. */
enum change_type { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED };

struct change {
    enum change_type type;
    uint64_t revision;
    struct obj *obj; /* the new version; of a deletion: the last, with the revision of its end */
    struct obj *old; /* the version before, or NULL */
    struct buf *as_json; /* made by whoever first sends it, then shared by all watchers */
};

struct feed;
struct feed *feed_new(size_t window_changes);
void feed_free(struct feed *feed); /* all watches must be gone */

/* Takes references to both; tells the watches. */
void feed_publish(struct feed *feed, enum change_type type, struct obj *obj, struct obj *old);
/* A revision from which every later change is still known. Nothing before `revision` is. */
void feed_start_at(struct feed *feed, uint64_t revision);
uint64_t feed_oldest(const struct feed *feed);   /* resuming needs a revision >= this one */
uint64_t feed_revision(const struct feed *feed); /* of the latest change published */
/* Has an object of the kind changed since? Also when that is no longer known. */
bool feed_has_changed(const struct feed *feed, const struct kind *kind, uint64_t after_revision);

struct watch;
typedef void watch_fn(void *arg, struct change *change);
struct watch_filter { /* NULL (of the texts: also "") lets everything through */
    const struct kind *kind;
    const char *ns;
    const char *name;
};
/* The callback may open and close any watch; a watch hears what is published after it was
 * opened. */
struct watch *feed_watch(struct feed *feed, struct watch_filter filter, watch_fn *fn, void *arg);
void feed_unwatch(struct watch *watch);
size_t feed_watches(const struct feed *feed);
/* Calls back for each known change after `revision` that the watch's filter lets through.
 * -ESTALE when the window no longer reaches back that far. */
int feed_replay(struct watch *watch, uint64_t after_revision);
