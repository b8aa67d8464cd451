// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/world.h"

/* Runs controllers in a world: hands them changes as keys, one key at a time, and never a key
 * whose writes are still on their way. */
struct manager;
struct control; /* one running controller */

struct controller {
    const char *name;
    /* Names the keys that a change concerns, with control_add(). At the start it is called with
     * an ADDED change for every object there is. */
    void (*map)(struct control *control, const struct change *change);
    /* Reads the cache and asks for writes; called again until there is nothing left to do. */
    void (*reconcile)(struct control *control, const char *key);
    /* For a controller that also hears of things outside the store (a node of its processes):
     * between the two it may call control_add() at any time. Both may be NULL. */
    void (*begin)(struct control *control);
    void (*end)(struct control *control);
    /* The world's configuration is another one. As with begin(): it may call control_add(). */
    void (*configure)(struct control *control);
    /* A key whose work only keeps things as they are: renews a lease, forgets old events, looks
     * whether somebody is silent. Whoever waits for all to come to rest (manager_is_pressed) does
     * not wait for those. NULL: no key is such. */
    bool (*is_upkeep)(const char *key);
    /* Its lines for /metrics; may be NULL. */
    void (*metrics)(struct control *control, struct str *out);
    /* Why the object is as it is, as a JSON object; false: it has nothing to say. May be NULL. */
    bool (*explain)(struct control *control, const struct obj *obj, struct str *out_json);
    void *arg; /* the controller's own, control_arg() */
};

struct manager *manager_new(struct world *world, const struct controller *const *controllers);
/* Stops at once, as a crash would: writes on their way finish, nobody hears of them. */
void manager_free(struct manager *manager);
/* Works off what is due, at most `budget` keys. Called by the host when it was asked to wake. */
void manager_run(struct manager *manager, size_t budget);
void manager_configure(struct manager *manager);
void manager_metrics(struct manager *manager, struct str *out);
bool manager_explain(struct manager *manager, const struct obj *obj, struct str *out_json);
/* Something is to be done now or later that is no upkeep. */
bool manager_is_pressed(const struct manager *manager);

/* For controllers. */
struct world *control_world(struct control *control);
void *control_arg(struct control *control);
/* What a controller derives from the objects it is told of, kept for as long as the manager lives:
 * made by its begin(), thrown away by its end(). */
void *control_state(struct control *control);
void control_set_state(struct control *control, void *state);
time_ms control_now(struct control *control);
time_ms control_steady(struct control *control);
void control_add(struct control *control, const char *key);
void control_add_at(struct control *control, const char *key, time_ms at);
void control_add_after(struct control *control, const char *key, time_ms pause_ms);
/* After control_add() from outside map() and reconcile(): somebody must look at the queue. */
void control_wake(struct control *control);
/* Part of the reconciliation under way: the key is held until this write is known. A conflict or
 * a failure brings the key back after a pause; "not found" of a deletion is as good as done. */
void control_write(struct control *control, struct write *write);
/* The same, and the first refusal of the reconciliation is told: a Warning about that object. */
void control_write_about(struct control *control, struct write *write, struct obj *about,
                         const char *reason);
/* The status of the object as `doc` has it, which is taken over. */
void control_write_status(struct control *control, const struct obj *obj, yyjson_mut_doc *doc);
/* The same by a strategic merge patch, whose text must be well-formed. */
void control_patch_status(struct control *control, const struct obj *obj, const char *patch);
/* The same, and each refusal is told to `refused`, which comes after the reconciliation and not at
 * all once the manager is gone. */
typedef void control_refused_fn(void *arg, const struct status *status);
void control_write_told(struct control *control, struct write *write, control_refused_fn *refused,
                        void *arg);
/* Records an Event about an object; the same one again only counts up. `type`: "Normal" or
 * "Warning". */
void control_event(struct control *control, const struct obj *about, const char *type,
                   const char *reason, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same in the words of a condition, of which anybody may have written no more than a type.
 * `reason`: instead of the condition's, or NULL. */
void control_event_of(struct control *control, const struct obj *about, const char *type,
                      const char *reason, yyjson_val *condition);

struct manager_stats {
    const char *controller;
    uint64_t reconciles, writes, failures;
};
size_t manager_stats(const struct manager *manager, struct manager_stats *out, size_t max);
