// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/heap.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The queue before the throttle. Order: priority of the pod, longest chain of dependents, then pods
 * take turns, then first come. Taking turns: of the pods that have a waiting container of the best
 * (priority, chain), the one that had its turn longest ago is next; a pod that comes new, or again
 * after it had nothing in the line, is behind those that wait. O(log n) each. */
struct line;

struct line_pod {     /* lives in the caller's pod */
    int64_t priority; /* higher first; a change counts once it has left the line */
    void *slot;       /* the line's own; NULL while nothing of it waits */
};
struct line_item { /* lives in the caller's container */
    struct line_pod *pod;
    uint32_t chain; /* longer first; may change while it is not in the line */
    uint64_t seq;   /* set by line_push */
    bool is_queued;
    struct heap_node node; /* the line's own */
};

struct line *line_new(void);
void line_free(struct line *line); /* everything must have left */
void line_push(struct line *line, struct line_item *item);
void line_remove(struct line *line, struct line_item *item); /* no-op when not in it */
struct line_item *line_peek(struct line *line);              /* who is next; NULL when empty */
struct line_item *line_pop(struct line *line);               /* it starts: its pod had its turn */
size_t line_count(const struct line *line);
