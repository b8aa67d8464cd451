// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/podview.h"
#include "cli/target.h"
#include "control/pods/settings.h"

/* Why is it not ready, not done? An answer is a sentence, what would help, and details that are
 * answers again. It is kept as the JSON that is printed; the text is made from the same. */
struct why {
    struct cli *cli;
    time_ms now;
    yyjson_mut_doc *doc;
    /* Asked for when first needed; NULL also when the server does not say. */
    yyjson_doc *configs;    /* NodeConfigs */
    yyjson_doc *neighbours; /* pods of `node` */
    char *node;
    bool has_asked_configs;
};

/* Fills in an answer about `object`. 0 or an exit code. */
typedef int why_fn(struct why *why, yyjson_val *object, yyjson_mut_val *answer);
/* What comes next in its life: a sentence without its end. */
typedef void next_fn(struct why *why, yyjson_val *object, struct str *out);
why_fn why_pod, why_job, why_jobset, why_workload, why_node, why_nodeconfig, why_clusterqueue,
    why_localqueue, why_flavor, why_statefulset, why_vpod, why_configmap, why_namespace, why_plain;
next_fn next_pod, next_job, next_jobset, next_workload, next_node, next_nodeconfig,
    next_clusterqueue, next_localqueue, next_flavor, next_statefulset, next_vpod, next_configmap,
    next_namespace, next_plain;

/* Where in its life an object is, since when, and what comes next. 0 or an exit code. */
int why_life(struct why *why, const struct kind *kind, yyjson_val *object, yyjson_mut_val *answer);
void why_done(struct why *why);
/* When a queue holds the owner of a Workload, whose name begins with `prefix`: what that says.
 * false: none does, and nothing was said. */
bool why_queued(struct why *why, yyjson_val *owner, const char *prefix, yyjson_mut_val *answer);

/* ---- making answers ---- */

void why_text(struct why *why, yyjson_mut_val *answer, const struct str *text);
void why_say(struct why *why, yyjson_mut_val *answer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void why_help(struct why *why, yyjson_mut_val *answer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
yyjson_mut_val *why_detail(struct why *why, yyjson_mut_val *answer); /* a new one, empty */
void why_put(struct why *why, yyjson_mut_val *answer, const char *key, const char *text);
/* Since when it is so; nothing when it is told already, or `at` is 0. */
void why_since(struct why *why, yyjson_mut_val *answer, time_ms at);
void why_print(const struct why *why, yyjson_mut_val *answer, struct str *out); /* as text */

/* "12s", "3m10s": since `at`, until `at`; of times that are not known 0. */
void why_age(const struct why *why, time_ms at, struct str *out);
void why_left(const struct why *why, time_ms at, struct str *out);
bool why_is_true(yyjson_val *object, const char *type);
void why_set_well(struct why *why, yyjson_mut_val *answer, bool is_well);
/* "kind/name", to be freed. */
char *why_label(const struct kind *kind, yyjson_val *object);
/* The document behind an address, or NULL: what cannot be had makes an answer shorter, not wrong.
 */
yyjson_doc *why_ask(struct why *why, const char *url);
/* A list of objects; `selector` is "labelSelector" or "fieldSelector" with its value, or NULL. */
yyjson_doc *why_list(struct why *why, const struct kind *kind, const char *ns, const char *selector,
                     const char *value);
yyjson_val *why_items(yyjson_doc *list);

/* ---- parts of the answer about a pod ---- */

/* In a few words what one container does: "is starting since 12s". */
void why_container(struct why *why, const struct podview *view, uint32_t i, struct str *out);
/* The rest of it: details and what would help. */
void why_container_more(struct why *why, const struct podview *view, uint32_t i,
                        yyjson_mut_val *answer);
/* "ended with exit code 3", of a `terminated` state. */
void why_end(yyjson_val *terminated, struct str *out);
/* "db (ready), which waits for net (started)"; returns the container at the end of the chain. */
uint32_t why_chain(const struct podview *view, uint32_t i, struct str *out);

/* "cap 2/2" of what a container that is pending says. */
const char *why_gate(const struct podview_one *one);
/* Who is ahead, and which setting would help. */
void why_throttle(struct why *why, const struct podview *view, uint32_t i, yyjson_mut_val *answer);
/* What the NodeConfigs say for a node. */
void why_settings(struct why *why, const char *node, struct node_settings *ret_settings);

/* ---- the same for several kinds ---- */

/* spec.managedBy names somebody else than `ours`; the second says so. */
bool why_is_foreign(yyjson_val *object, const char *ours);
bool why_manager(struct why *why, yyjson_val *object, const char *ours, const char *label,
                 yyjson_mut_val *answer);

/* false: it is not being deleted, and nothing was said. */
bool why_deletion(struct why *why, yyjson_val *object, const char *label, yyjson_mut_val *answer);
