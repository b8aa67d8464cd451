// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"
#include <stdbool.h>
#include <stddef.h>

/* Keys that wait for their turn. A key is in it once however often it is added; a key that is being
 * worked on (writes in flight) is held back until it is finished; a key that failed comes back
 * after a growing pause. Pure: time is an argument.
 *
 *   idle --add--> ready --take--> busy --finish--> idle, or ready when added meanwhile
 *   idle --add_at--> waiting --time--> ready */
struct workqueue;
struct workqueue *workqueue_new(void);
void workqueue_free(struct workqueue *queue);

void workqueue_add(struct workqueue *queue, const char *key);
/* Not before `at`; an earlier wish for the same key stands, a later one is replaced. TIME_NEVER is
 * no wish. */
void workqueue_add_at(struct workqueue *queue, const char *key, time_ms at);
/* The next key that is due, now busy; NULL when there is none. The text lives until finish. */
const char *workqueue_take(struct workqueue *queue, time_ms now);
/* Done with a busy key. Failed: again after min(base * 2^n, max), n failures in a row so far. */
void workqueue_finish(struct workqueue *queue, const char *key, bool failed, time_ms now);
bool workqueue_is_busy(const struct workqueue *queue, const char *key); /* for tests */
time_ms workqueue_next_due(const struct workqueue *queue, time_ms now); /* TIME_NEVER: none */
/* Names the keys that only keep things as they are; before the first one is added. */
void workqueue_set_upkeep(struct workqueue *queue, bool (*is_upkeep)(const char *key));
size_t workqueue_pressing(const struct workqueue *queue); /* all others, busy ones too */

#define WORKQUEUE_BACKOFF_BASE_MS 50
#define WORKQUEUE_BACKOFF_MAX_MS 60000
