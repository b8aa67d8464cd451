// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/keyindex.h"
#include "model/patch.h"

/* What the patches share. A patch is first copied into the target's document, where it may be
 * changed and its values moved; its depth is checked, which bounds every recursion over it.
 *
 * Members are replaced by writing over their value and removed by marking it; one sweep at the end
 * takes the marked ones out. So a patch costs n log n however many members it names. */

int patch_import(yyjson_mut_doc *doc, yyjson_val *patch, yyjson_mut_val **ret_copy,
                 struct err *err);
/* The same, but its strings stay those of the patch. */
int patch_borrow(yyjson_mut_doc *doc, yyjson_val *patch, yyjson_mut_val **ret_copy,
                 struct err *err);
/* -E2BIG when the result is too deep. For patches that move values to other depths: what is merged
 * stays where the patch has it, and is no deeper than the deeper of the two. */
int patch_finish(yyjson_mut_doc *doc, struct err *err);

/* An object that many keys will be looked up in. */
struct finder {
    yyjson_mut_val *object;
    struct keyindex index;
    bool indexed;
};
void finder_init(struct finder *finder, yyjson_mut_val *object, size_t lookups);
yyjson_mut_val *finder_get(const struct finder *finder, struct sv key); /* or NULL */
void finder_done(struct finder *finder);
#define scoped_finder __attribute__((cleanup(finder_done))) struct finder

void patch_overwrite(yyjson_mut_val *to, const yyjson_mut_val *from);
void patch_append(yyjson_mut_doc *doc, yyjson_mut_val *object, struct sv key, yyjson_mut_val *val);
yyjson_mut_val *patch_move(yyjson_mut_doc *doc, const yyjson_mut_val *val); /* fit to be linked */
void patch_mark(yyjson_mut_val *val);
void patch_sweep(yyjson_mut_val *container);
/* Members that are null, at all depths, but not below lists: what RFC 7386 does to new objects. */
void patch_drop_nulls(yyjson_mut_val *val);
/* Numbers by value: 1 equals 1.0. */
bool patch_equal(yyjson_mut_val *a, yyjson_mut_val *b);

/* Where in the tables a value stands: an object of a type, a map, or nothing that is known. */
struct spot {
    const struct type *type;
    const struct field *map;
};
const struct field *spot_field(struct spot spot, struct sv key);
struct spot spot_inside(struct spot spot, const struct field *field); /* of a member */
struct spot spot_item(const struct field *field);
/* Is the list merged by key (true), or as a set of scalars, and not replaced as a whole? */
bool spot_merges_objects(const struct field *field);
bool spot_merges_scalars(const struct field *field);

/* Items of a list on their way to a new order. Keys may repeat (ports of two protocols do): then
 * the first of one list stands for the first of the other, the second for the second. */
struct patch_item {
    yyjson_mut_val *val;
    struct sv key; /* without a pointer: it has none */
    size_t nth;    /* how many before it have the same key */
    bool is_new;   /* was not in the list before the patch */
};
struct patch_items {
    VEC(struct patch_item) list;
};
/* `merge_key` is NULL for lists of scalars. Texts that are made for this are kept in doc. */
struct sv patch_item_key(yyjson_mut_doc *doc, yyjson_mut_val *item, const char *merge_key);
void patch_items_of(yyjson_mut_doc *doc, yyjson_mut_val *array, const char *merge_key,
                    struct patch_items *items);
void patch_items_index(const struct patch_items *items, struct keyindex *index);
/* The one with the same key and number, or NULL. */
struct keyref *patch_items_find(const struct keyindex *index, struct patch_item item);
/* Writes them back: what `order` names in its order, the rest where it was relative to the named
 * ones that were there before; new ones come as early as possible, as in Kubernetes. */
void patch_items_arrange(struct patch_items *items, const struct patch_items *order,
                         yyjson_mut_val *array);
void patch_items_done(struct patch_items *items);
#define scoped_items __attribute__((cleanup(patch_items_done))) struct patch_items
