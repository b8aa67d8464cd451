// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"
#include "model/kind.h"

/* What a command line points at, and where that is on the server. */
struct target {
    const struct kind *kind;
    const char *name; /* NULL: all of the kind */
};

struct targets {
    VEC(struct target) list;
    bool several_kinds;
    char *words; /* owns the names */
};

/* "KIND[,KIND...] [NAME...]", "KIND/NAME..." and the category "all". 0, or an exit code after the
 * error was printed. */
int targets_parse(struct cli *cli, int argc, char **argv, struct targets *ret_targets);
void targets_done(struct targets *targets);

/* A kind by what a person typed; prints the nearest right one when there is none. */
const struct kind *target_kind(struct cli *cli, const char *word);

/* One object on the server. */
struct item {
    const struct kind *kind;
    char *ns; /* NULL: not namespaced */
    char *name;
    char *uid; /* NULL: not known */
};
struct items {
    VEC(struct item) list;
};
void items_add(struct items *items, const struct kind *kind, const char *ns, const char *name);
void items_done(struct items *items);
/* The objects behind targets: named ones as they are (not asked for), others by listing with
 * --selector and, when the verb has it, --field-selector and --all-namespaces. */
int items_find(struct cli *cli, const struct targets *targets, struct items *items);

/* "/api/v1/namespaces/default/pods"; ns NULL: all namespaces. */
void target_collection(const struct kind *kind, const char *ns, struct str *out);
void target_object(const struct kind *kind, const char *ns, const char *name, struct str *out);
/* The namespace of the command line for this kind: NULL with -A and for cluster-wide kinds. */
const char *target_namespace(const struct cli *cli, const struct kind *kind);
/* Appends "?key=value" or "&key=value", escaped. */
void target_query(struct str *target, const char *key, const char *value);
/* "pod", "job.batch": how an object's kind is written before a slash. */
void target_label(const struct kind *kind, struct str *out);
/* The same for sentences about several: "pods", "jobs.batch". */
void target_resource(const struct kind *kind, struct str *out);
