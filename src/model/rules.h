// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "model/schema.h"

/* What several kinds have to check and a field table cannot say. */

/* The allowed values of a field, in its table: .values = VALUES("A", "B"). */
#define VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})

bool rules_has(yyjson_mut_val *obj, const char *field); /* there, and not null */

/* Exactly one of the named fields must be there; `what` words it: "a volume source". Returns the
 * first one that is, or NULL. */
const char *rules_one_of(struct check *c, yyjson_mut_val *val, const char *const *names,
                         const char *what);
/* The same when none is fine as well. */
const char *rules_at_most_one(struct check *c, yyjson_mut_val *val, const char *const *names,
                              const char *what);

/* val.field is a map of labels: its values must be well-formed. Keys are the table's. */
void rules_label_values(struct check *c, yyjson_mut_val *val, const char *field);

/* key, operator, values: which operators need values and which may have none. Of a type's
 * `check` signature. */
void rules_requirement(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old);

/* Does `labels` satisfy the matchLabels of a selector? matchExpressions are not looked at. */
bool rules_labels_match(yyjson_mut_val *match_labels, yyjson_mut_val *labels);

/* Equal as JSON, where null, absent and empty are the same: typed clients leave out what is empty
 * when they write an object back. */
bool rules_same(yyjson_mut_val *a, yyjson_mut_val *b);
/* Typed clients write an object back in words of their own: amounts in their shortest form ("1" for
 * 1 and for 1000m), and without what is zero where Kubernetes' types have no pointer. Both are as
 * good as what was there. Is this field of a pod an amount, or a map of amounts? Is its zero left
 * out? */
bool rules_are_amounts(const char *parent, const char *key);
bool rules_zero_is_left_out(const char *key);
/* Reports val.field when it differs from what it was. */
void rules_frozen(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old, const char *field);
/* Names the first place where two values differ in more than their words, for instance
 * "containers[0].command", and returns true; false when they differ at most in `allowed`. There,
 * list indexes are left empty: "containers[].image". NULL-terminated. */
bool rules_changed(yyjson_mut_val *val, yyjson_mut_val *old, const char *const *allowed,
                   struct str *out_path);

/* Names that are declared somewhere and meant elsewhere: volumes, containers. They point into the
 * document. Zero-initialise to start. */
struct rules_names {
    struct map *index;
    VEC(const char *) list;
};
void rules_add_name(struct rules_names *names, yyjson_mut_val *name);
void rules_names_of(struct rules_names *names, yyjson_mut_val *list, const char *field);
bool rules_knows(const struct rules_names *names, const char *name); /* NULL is no name */
/* Reports a value that is none of the names, with the nearest as the hint. */
void rules_known(struct check *c, const char *field, yyjson_mut_val *value,
                 const struct rules_names *names);
void rules_names_done(struct rules_names *names);
#define scoped_names __attribute__((cleanup(rules_names_done))) struct rules_names
