// SPDX-License-Identifier: Apache-2.0
#include "core/place/place_internal.h"
#include <inttypes.h>

const char *place_reason(enum place_reason reason)
{
    static const char *const TEXTS[PLACE_REASON_COUNT] = {
        [PLACE_TAKES] = "takes more",
        [PLACE_BEYOND] = "beyond the number of replicas",
        [PLACE_MISSING] = "does not exist",
        [PLACE_UNBOUND] = "is on no known node",
        [PLACE_CORDONED] = "its node is cordoned",
        [PLACE_UNREACHABLE] = "its node is unreachable",
        [PLACE_LEAVING] = "is leaving",
        [PLACE_FULL] = "full",
        [PLACE_TOO_SPREAD] = "one pod too many",
        [PLACE_UNEVEN] = "uneven",
        [PLACE_NO_POLICY] = "there is no scheduler policy",
    };
    return reason < PLACE_REASON_COUNT ? TEXTS[reason] : "";
}

void place_refusal_text(const struct place_refusal *refusal, struct str *out)
{
    int64_t have = refusal->have, limit = refusal->limit;
    str_add(out, place_reason(refusal->reason));
    if (refusal->reason == PLACE_FULL)
        str_addf(out, ", %" PRId64 " of %" PRId64 " vreplicas", have, limit);
    else if (refusal->reason == PLACE_TOO_SPREAD)
        str_addf(out, ", on %" PRId64 " of at most %" PRId64 " pods", have, limit);
    else if (refusal->reason == PLACE_UNEVEN)
        str_addf(out, ", one more makes %" PRId64 ", at most %" PRId64 " is even", have, limit);
}

struct spread {
    int64_t pods, pods_max; /* on which the vpod is, and may be */
    int64_t least;          /* that an eligible pod has */
};

/* By the rule of run.c, looked at once from outside. */
static struct spread spread_of(const struct place *place, const struct vpod *vpod)
{
    struct spread spread = {.pods = (int64_t)vpod->placed.at.len, .least = INT64_MAX};
    spread.pods_max = run_pods_max(place, vpod);
    int64_t own_open = 0;
    for (size_t i = 0; i < vpod->placed.at.len; i++) {
        const struct place_at *at = &vpod->placed.at.items[i];
        const struct pod *pod = pod_get(place, at->ordinal);
        if (!pod->is_schedulable)
            continue;
        own_open += pod->is_open;
        if (at->vreplicas < spread.least)
            spread.least = at->vreplicas;
    }
    if (spread.pods < spread.pods_max && place->n_open > own_open)
        spread.least = 0;
    return spread;
}

static struct place_refusal refusal_of(const struct place *place, const struct vpod *vpod,
                                       const struct spread *spread, int32_t ordinal)
{
    const struct place_policy *policy = &place->policy;
    struct place_refusal refusal = {.ordinal = ordinal, .reason = pod_reason(place, ordinal)};
    if (refusal.reason != PLACE_TAKES)
        return refusal;
    int64_t used = pod_get(place, ordinal)->used, own = list_get(&vpod->placed, ordinal);
    bool is_even = policy->is_even && !policy->fills_up;
    if (!policy->has_scheduler && !policy->fills_up)
        refusal.reason = PLACE_NO_POLICY;
    else if (used >= place->capacity)
        refusal = (struct place_refusal){ordinal, PLACE_FULL, used, place->capacity};
    else if (own == 0 && spread->pods >= spread->pods_max)
        refusal = (struct place_refusal){ordinal, PLACE_TOO_SPREAD, spread->pods, spread->pods_max};
    else if (is_even && own >= spread->least + policy->max_skew)
        refusal = (struct place_refusal){ordinal, PLACE_UNEVEN, own + 1,
                                         spread->least + policy->max_skew};
    return refusal;
}

void place_explain(const struct place *place, const char *name, struct place_refusals *ret_list)
{
    const struct vpod *vpod = map_get(place->vpods, name);
    vec_clear(&ret_list->of);
    if (vpod == NULL)
        return;
    struct spread spread = spread_of(place, vpod);
    for (int32_t i = 0; i < place->replicas; i++)
        vec_push(&ret_list->of, refusal_of(place, vpod, &spread, i));
}
