// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "base/timetext.h"

/* An object as text for people: names first, then what is wanted and what is, keys as words. */
void describe_object(yyjson_val *object, time_ms now, struct str *out);
/* Of a pod: its containers as a table, how far each has come and what it waits for. */
void describe_containers(yyjson_val *pod, time_ms now, struct str *out);
/* Of a vpod: where its vreplicas are, as bars. `pods`, `nodes`: lists, or NULL. */
void describe_spread(yyjson_val *vpod, yyjson_val *pods, yyjson_val *nodes, struct str *out);
/* Where in its life it is, since when, and what comes next; its lines as `muster why` has them. */
void describe_life(const char *lines, struct str *out);
/* The events of a list, oldest first; NULL or an empty one says so. */
void describe_events(yyjson_val *list, time_ms now, struct str *out);
