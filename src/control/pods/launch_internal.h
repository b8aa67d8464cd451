// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/quantity.h"
#include "control/pods/launch.h"

/* One launch_make() under way. */
struct env_var {
    const char *name, *value;
    bool is_declared; /* known to $(NAME); what the node brings along is not */
};
struct env {
    VEC(struct env_var) vars;
    struct map *index; /* name to position + 1 */
};
struct launching {
    struct arena *arena;
    const struct cache *cache;
    const struct obj *pod;
    yyjson_val *spec, *container;
    const char *where; /* "spec.containers[1]", for errors */
    const struct launch_node *node;
    struct env env;
    struct launch out;
};

/* ---- env.c ---- */
int env_make(struct launching *l, struct err *err);
void env_done(struct env *env);
/* $(NAME) by the container's variables, $$ for one dollar; an unknown name stays as it is written,
 * and the first of them is returned when asked for. */
const char *env_expand(const struct launching *l, const char *text, const char **ret_unknown);

/* ---- fields.c ---- */
/* `ref`: a fieldRef; `where`: its path. */
int fields_value(const struct launching *l, yyjson_val *ref, const char *where,
                 const char **ret_value, struct err *err);
/* The same for volumes, which may also have all labels or annotations. */
int fields_file(const struct launching *l, yyjson_val *ref, const char *where,
                const char **ret_value, struct err *err);
int fields_resource(const struct launching *l, yyjson_val *ref, const char *where,
                    const char **ret_value, struct err *err);
/* resources.WHICH.NAME of a container; false when there is none. */
bool fields_amount(yyjson_val *container, const char *which, const char *name,
                   quantity *ret_amount);

/* ---- mounts.c ---- */
int mounts_make(struct launching *l, struct err *err);
/* A ConfigMap of the pod's namespace; NULL and -ENOENT, or NULL and 0 when it is optional. */
int mounts_config(const struct launching *l, yyjson_val *ref, const char *where,
                  yyjson_val **ret_root, struct err *err);
