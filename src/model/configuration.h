// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/manifest.h"
#include "model/schema.h"

/* The configuration file of the control plane (`muster up --config`), and the block of the same
 * form in a Scenario. Kueue's own Configuration is understood too, with Kueue's defaults. */

enum block_scope { BLOCK_CLUSTER, BLOCK_COHORT, BLOCK_QUEUE, BLOCK_FLAVOR };

struct wait_for_ready {
    bool enable;
    time_ms timeout_ms;
    time_ms recovery_ms; /* 0: none */
    bool blocks;
    enum block_scope scope;
    bool orders_by_creation;
    int64_t limit_count; /* -1: none */
    time_ms limit_ms;    /* 0: none */
    time_ms base_ms, max_ms;
    time_ms reset_after_ms; /* 0: never */
};

struct configuration {
    struct wait_for_ready ready;
    yyjson_doc *doc;       /* the whole of it, with defaults; or NULL */
    yyjson_val *placement; /* in doc, its shape is checked; NULL: not set */
};

/* A file: one document that says apiVersion and kind, alone or among objects. Errors read
 * "file:line:column: path: what". What was ignored is told in `warnings`, a line each. */
int configuration_read(const char *file, struct sv text, struct configuration *ret,
                       struct str *warnings, struct err *err);
/* The same of a document of a parsed file. */
bool configuration_is(yyjson_mut_val *root);
int configuration_take(const struct manifest *manifest, size_t index, struct configuration *ret,
                       struct str *warnings, struct err *err);
/* A block within another document: no apiVersion, no kind; its errors begin with the path. */
int configuration_of(yyjson_val *block, struct configuration *ret, struct err *err);
void configuration_default(struct configuration *ret);
void configuration_done(struct configuration *configuration);

/* For a field of another kind's table that is such a block: {"configuration", F_OBJECT, ONE,
 * .of = &TYPE_CONFIGURATION_BLOCK}. */
extern const struct type TYPE_CONFIGURATION_BLOCK;
extern const struct type TYPE_CONFIGURATION; /* a whole file */

/* One file in three forms; each has its own answer for what the file does not say. */
struct configuration_dialect {
    const char *api; /* NULL ends the table */
    const struct type *type;
    bool enable;            /* when not said */
    time_ms timeout_ms;     /* when not said */
    bool recovery_as_start; /* recoveryTimeout is the timeout when not said */
    bool blocks;            /* when not said and enabled */
};
extern const struct configuration_dialect CONFIGURATION_DIALECTS[];
