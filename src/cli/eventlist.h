// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "base/timetext.h"
#include "base/vec.h"

/* Events of the server, sorted by when they last happened. */
struct eventlist {
    VEC(yyjson_val *) list; /* into the caller's document */
};
void eventlist_sort(yyjson_val *items, struct eventlist *ret_list);
void eventlist_done(struct eventlist *list);

time_ms event_time(yyjson_val *event);
/* "3m", "3m (x4 over 10m)" */
void event_age(yyjson_val *event, time_ms now, struct str *out);
/* "pod/web-0" */
void event_object(yyjson_val *event, struct str *out);
/* Who said it. */
const char *event_source(yyjson_val *event);
