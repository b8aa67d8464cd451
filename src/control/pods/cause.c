// SPDX-License-Identifier: Apache-2.0
/* Why a member fell, in a line for people. Its announcement of the next epoch takes this along, for
 * the status of its pod is written much later. */
#include "control/pods/gang.h"

static const char *const ENDS[] = {
    [WHY_TIMEOUT] = "was not ready in time",
    [WHY_STARTUP_PROBE] = "failed its startup probe",
    [WHY_LIVENESS_PROBE] = "failed its liveness probe",
    [WHY_NOT_RUN] = "could not be started",
    [WHY_OOM] = "used more memory than its limit",
    [WHY_EXIT] = NULL,
};

/* Those that were ended along with it say nothing; of the others the last one was too many. */
static bool find_fallen(const struct rpod *pod, struct start_view *ret_view, uint32_t *ret_index)
{
    bool is_found = false;
    for (uint32_t i = 0; i < pod->n; i++) {
        struct start_view view;
        start_view(pod->engine, i, &view);
        const struct start_end *end = &view.last;
        bool is_own = end->generation == view.generation && end->why != WHY_RESTARTING_ALL;
        if (end->generation == 0 || !is_own ||
            (is_found && end->ended_at < ret_view->last.ended_at))
            continue;
        *ret_view = view;
        *ret_index = i;
        is_found = true;
    }
    return is_found;
}

void cause_add(const struct rpod *pod, struct str *out)
{
    struct start_view view = {0};
    uint32_t i = 0;
    if (!find_fallen(pod, &view, &i))
        return;
    const char *message = pod->containers[i].message, *how = ENDS[view.last.why];
    int code = view.last.exit_code;
    if (how != NULL)
        str_addf(out, "container %s %s", view.name, how);
    else
        str_addf(out, "container %s ended with exit code %d", view.name, code);
    if (how == NULL && code > 128 && code < 193)
        str_addf(out, " (signal %d)", code - 128);
    if (message != NULL)
        str_addf(out, ": %s", message);
}
