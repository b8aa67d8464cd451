// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/world.h"

/* Event objects: what happened to an object, for people. The same event about the same object is
 * one Event that counts. */
struct event_text {
    const char *type;   /* "Normal", "Warning" */
    const char *reason; /* CamelCase */
    const char *message;
    const char *component;
};
struct write *event_write(struct world *world, const struct obj *about,
                          const struct event_text *text, time_ms now);
