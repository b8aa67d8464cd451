// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "core/start/graph.h"
#include "model/schema.h"

/* Annotations by which a pod says what Kubernetes has no field for. They stand in the metadata of
 * a Pod or of a template; `object` is either. */
#define NOTE_NOTIFY "muster.dev/notify"         /* "true", or containers: "web,database" */
#define NOTE_DEPENDS_ON "muster.dev/depends-on" /* {"web":["database","setup:completed"]} */
#define NOTE_WATCHDOG "muster.dev/watchdog"     /* "30s": how often WATCHDOG=1 must come */
#define NOTE_RUNTIME "muster.dev/runtime"       /* "process": images are ignored */

/* How the containers of a pod behave in a rehearsal: a value for all, or for some: "web=5s,db=1m".
 */
#define NOTE_SIM "sim.muster.dev/"
#define NOTE_SIM_START NOTE_SIM "start"   /* a duration, or "never" */
#define NOTE_SIM_CPU NOTE_SIM "start-cpu" /* a duration */
#define NOTE_SIM_RUN NOTE_SIM "run"       /* a duration, or "never" */
#define NOTE_SIM_EXIT NOTE_SIM "exit"     /* "3@90s" */

/* Of a type's `check` signature. */
void podnotes_check(struct check *c, yyjson_mut_val *object, yyjson_mut_val *old);

/* Of a Pod: the epoch that it has announced as a member of a group only grows. */
void podnotes_check_epochs(struct check *c, yyjson_mut_val *pod, yyjson_mut_val *old);
/* Does this version announce anything that the one before did not? Then it may not be beyond the
 * epoch that comes next. */
bool podnotes_announces(yyjson_mut_val *pod, yyjson_mut_val *old);
void podnotes_check_limit(struct check *c, yyjson_mut_val *pod, yyjson_mut_val *old, int64_t next);
/* The same question about two versions that are stored or about to be. */
bool podnotes_announced(yyjson_val *pod, yyjson_val *old);

/* Does this container say on a socket that it is ready? */
bool podnotes_notifies(yyjson_val *object, const char *container);

/* Of "name:condition": the condition, "ready" when there is none, NULL when it is not known. */
const char *podnotes_condition(const char *text);

/* Who a container waits for: its dependsOn and the annotation together, no name twice. */
struct podnotes_need {
    const char *name;
    enum dep_condition condition;
};
struct podnotes {
    struct arena arena;
    yyjson_doc *depends; /* the annotation, or NULL */
    VEC(struct podnotes_need) needs;
};
void podnotes_open(struct podnotes *notes, yyjson_val *object);
void podnotes_close(struct podnotes *notes);
/* Valid until the next call. */
const struct podnotes_need *podnotes_needs(struct podnotes *notes, yyjson_val *container,
                                           size_t *ret_n);
