// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/pack.h"
#include "model/kind.h"

/* One version of one object, never changed once made: its serialised bytes, spliced into lists
 * and watch events, and the parsed view that everything else reads. Counted references. */
struct obj {
    size_t refs;
    const struct kind *kind;
    uint64_t revision; /* metadata.resourceVersion */
    struct buf *json;
    yyjson_doc *doc;
    yyjson_val *root;
    struct pack_span spans[PACK_MEMBERS_MAX]; /* of the members of root in json */
    /* No field is unknown to the tables, those of metadata not counted. False: one may be. */
    bool is_known;
    struct meta meta; /* points into doc */
};

/* Serialises the document, whose metadata.resourceVersion must be `revision`. */
struct obj *obj_new(const struct kind *kind, yyjson_mut_doc *doc, uint64_t revision);
/* The same for the version after `old`, from which it takes over what is kept. */
struct obj *obj_next(const struct obj *old, yyjson_mut_doc *doc, const struct pack_kept *kept,
                     uint64_t revision);
/* From bytes that were stored; NULL when they do not parse. */
struct obj *obj_load(const struct kind *kind, struct sv json, uint64_t revision);
struct obj *obj_ref(struct obj *obj);
void obj_unref(struct obj *obj); /* NULL is fine */
void obj_unref_scoped(struct obj **obj);
/* Bytes without a view: a third of the memory, for versions that nobody looks at. Only whoever
 * holds every reference may do that, and must thaw it before anybody else sees it again. */
void obj_freeze(struct obj *obj);
void obj_thaw(struct obj *obj); /* nothing to do for one that has its view */
#define scoped_obj __attribute__((cleanup(obj_unref_scoped))) struct obj

const char *obj_namespace(const struct obj *obj); /* "" for cluster-scoped */
bool obj_has_finalizer(const struct obj *obj, const char *finalizer);
void obj_drop_finalizer(yyjson_mut_val *root, const char *finalizer);
/* The reference to the owner that controls it, of which there is one at most; or NULL. */
yyjson_val *obj_controller(const struct obj *obj);
/* Adds to metadata.ownerReferences of `root`. An owner that controls is not gone before it. */
void obj_add_owner(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct obj *owner,
                   bool controls);
/* A mutable copy of the whole document. */
yyjson_mut_doc *obj_edit(const struct obj *obj);
/* The same for a moment in which the object is sure to stay: the strings are the object's. */
yyjson_mut_doc *obj_borrow(const struct obj *obj);
