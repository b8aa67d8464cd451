// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include <stdbool.h>

/* Label selectors "a=b,c!=d,e in (x,y),f notin (z),g,!h" and field selectors "a.b=c,d!=e". */
struct label_selector;
int label_selector_parse(struct sv text, struct label_selector **ret_selector, struct err *err);
/* metav1.LabelSelector: matchLabels and matchExpressions. */
int label_selector_of(yyjson_val *object, struct label_selector **ret_selector, struct err *err);
bool label_selector_matches(const struct label_selector *selector, yyjson_val *labels);
void label_selector_free(struct label_selector *selector);

struct field_selector;
/* `allowed`: NULL-terminated rows as in struct kind; metadata.name and metadata.namespace are
 * always allowed. */
int field_selector_parse(struct sv text, const char *const *allowed,
                         struct field_selector **ret_selector, struct err *err);
bool field_selector_matches(const struct field_selector *selector, yyjson_val *root);
/* The value that the label must have, NULL when it is not pinned: lets a watch be indexed by name.
 */
const char *field_selector_exact(const struct field_selector *selector, const char *label);
void field_selector_free(struct field_selector *selector);
