// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/vec.h"
#include "sim/rehearsal.h"

/* What is to happen, in order. Made from a Scenario that was checked; points into it. */
enum act_type { ACT_CREATE, ACT_PATCH, ACT_DELETE, ACT_NODE, ACT_POD, ACT_RESTART };

struct act {
    enum act_type type;
    time_ms at; /* since the beginning */
    struct rehearsal_place place;
    size_t order; /* in the input */
    unsigned tries;
    bool is_status_next; /* of ACT_PATCH: the object itself is done */
    const struct kind *kind;
    const char *ns, *name; /* of a node or an object; "namespace/name" of a pod */
    yyjson_val *body;      /* of ACT_CREATE and ACT_PATCH */
    int64_t grace_s;
    enum node_state state;
    const char *container; /* or NULL */
    int exit_code;
};

struct script {
    VEC(struct act) acts;
};

/* Is this document of a file one of the machines, and so nothing to create? */
bool script_is_machine(yyjson_val *document);
void script_read(struct script *script, const struct rehearsal_options *options);
void script_done(struct script *script);

bool script_writes(const struct act *act);
struct write *script_write(const struct act *act);
/* A patch that names the status as well is two writes: true when the second is to be sent. */
bool script_has_more(struct act *act);
/* The pod that is meant; NULL: none, and the hint says which there are. */
const struct obj *script_pod(const struct act *act, const struct cache *cache, struct str *hint);
