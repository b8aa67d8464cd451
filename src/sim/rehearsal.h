// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/fleet.h"
#include "sim/lines.h"

/* Plays a Scenario: the server's controllers, virtual nodes, and what is to happen at which time.
 * A function of its input: the same scenario gives the same lines, names and times. */
struct rehearsal;

/* Where in the input something stands that went wrong. */
struct rehearsal_place {
    enum { PLACE_DOCUMENT, PLACE_OBJECT, PLACE_EVENT } list;
    size_t index; /* in rehearsal_options.documents, spec.objects or spec.events */
};

struct rehearsal_options {
    yyjson_val *spec; /* of the Scenario, filled; NULL: there is none */
    /* Objects of the other documents, created first; a Node is one of the machines. */
    yyjson_val *const *documents;
    size_t n_documents;
    const struct configuration *configuration; /* where `spec` says nothing of it; or NULL */
    lines_fn *on_line;
    /* Something in the input could not be done; the rest goes on. `hint` may be NULL. */
    void (*on_trouble)(void *arg, const struct rehearsal_place *place, const char *text,
                       const char *hint);
    void *arg;
};

struct rehearsal *rehearsal_new(const struct rehearsal_options *options);
void rehearsal_free(struct rehearsal *rehearsal);

/* The next thing that happens; false: it is over. */
bool rehearsal_step(struct rehearsal *rehearsal);
void rehearsal_run(struct rehearsal *rehearsal); /* to the end */
/* Nothing can happen any more, however long one waits. */
bool rehearsal_is_final(const struct rehearsal *rehearsal);
void rehearsal_crash(struct rehearsal *rehearsal); /* of the control plane, now */

time_ms rehearsal_ms(const struct rehearsal *rehearsal); /* since the beginning */
struct sim *rehearsal_sim(const struct rehearsal *rehearsal);
/* {"type":"End","ms":...,"objects":[...]} */
void rehearsal_end_json(const struct rehearsal *rehearsal, struct str *out);

struct rehearsal_stats {
    uint64_t steps, changes, starts;
};
struct rehearsal_stats rehearsal_stats(const struct rehearsal *rehearsal);
