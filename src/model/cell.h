// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "base/timetext.h"

/* Short hands for functions that make one cell of a table (struct column). Each appends one JSON
 * value. */
#define AGE_COLUMN                                                                                 \
    {                                                                                              \
        "Age", "date", "", "Time since the object was created.", 0, "metadata.creationTimestamp"   \
    }
#define NAME_COLUMN                                                                                \
    {                                                                                              \
        "Name", "string", "name", "Name of the object.", 0, "metadata.name"                        \
    }

void cell_text(struct str *out_json, const char *text); /* NULL is "" */
void cell_textf(struct str *out_json, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The text at `path`, or `otherwise` when it is missing or empty. */
void cell_at(struct str *out_json, yyjson_val *root, const char *path, const char *otherwise);
/* How long ago, as kubectl writes ages; "<unknown>" for no time at all (0). */
void cell_add_age(struct str *out, time_ms at, time_ms now);
time_ms cell_time(yyjson_val *root, const char *path); /* 0 when missing or wrong */
/* The one of this type in the object's status.conditions; the second: if it has this status. NULL:
 * there is none. */
yyjson_val *cell_condition(yyjson_val *root, const char *type);
yyjson_val *cell_condition_as(yyjson_val *root, const char *type, const char *status);
/* Is the condition of this type there with this status? */
bool cell_condition_is(yyjson_val *conditions, const char *type, const char *status);
/* The reference to the owner that controls the object; NULL: none does. */
yyjson_val *cell_controller(yyjson_val *root);
/* metav1.LabelSelector as text, "a=b,c in (x,y)", in order of the keys; "<none>" when empty. */
void cell_selector(struct str *out_json, yyjson_val *selector);
