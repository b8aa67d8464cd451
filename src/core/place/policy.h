// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include <stdbool.h>
#include <stdint.h>

/* What the lists of predicates and priorities come to. Every mistake in them is refused here, so
 * that nothing can go wrong when a vreplica is placed: a score orders pods and cannot fail. */

#define PLACE_WEIGHT_MAX 10

/* How much each spread counts against the others. 0: not asked for. */
struct place_weights {
    int64_t zone, node, pod, ordinal;
};

enum place_factor { PLACE_BY_ONE, PLACE_BY_ZONES, PLACE_BY_NODES };

struct place_policy {
    bool fills_up;                       /* MAXFILLUP: the rest is not looked at */
    bool has_scheduler, has_descheduler; /* without the first one nothing new is placed */
    bool is_even;                        /* EvenPodSpread as a predicate */
    int64_t max_skew;                    /* of that one */
    int64_t partitions;                  /* NoMaxResourceCount; 0: no limit */
    enum place_factor factor;            /* how many pods come and go together */
    struct place_weights placing, removing;
};

void place_policy_fill_up(struct place_policy *policy); /* MAXFILLUP */
/* {"predicates":[{"name","args"}],"priorities":[{"name","weight","args"}]}; keys in any case, args
 * an object or a text that holds one. `where` begins every message ("scheduler"). Adds to *policy,
 * which is untouched on failure. */
int place_policy_scheduler(struct place_policy *policy, yyjson_val *object, const char *where,
                           struct err *err);
int place_policy_descheduler(struct place_policy *policy, yyjson_val *object, const char *where,
                             struct err *err);
/* The same from the two lists by themselves, as a ConfigMap has them; predicates may be NULL for
 * a descheduler. */
int place_policy_scheduler_lists(struct place_policy *policy, yyjson_val *predicates,
                                 yyjson_val *priorities, const char *where, struct err *err);
int place_policy_descheduler_lists(struct place_policy *policy, yyjson_val *predicates,
                                   yyjson_val *priorities, const char *where, struct err *err);
