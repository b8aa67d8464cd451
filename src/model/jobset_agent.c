// SPDX-License-Identifier: Apache-2.0
/* Who keeps the barrier of a pod: an agent that its manifest names, or the node. */
#include "model/jobset.h"

static bool asks_barrier(yyjson_val *container)
{
    const char *path = json_str_at(container, "startupProbe.httpGet.path");
    return str_eq(path, JOBSET_BARRIER_PATH) || str_eq(path, JOBSET_BARRIER_PATH_LATER);
}

static bool knows_exit_code(yyjson_val *container)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(container, "env"), i, n, item)
    {
        const char *name = json_str_at(item, "name");
        if (str_eq(name, JOBSET_ENV_EXIT_CODE) || str_eq(name, JOBSET_ENV_EXIT_CODE_LATER))
            return true;
    }
    return false;
}

/* "muster-agent" or ".../muster-agent": the parent of the worker. */
static bool runs_agent(yyjson_val *container)
{
    const char *program =
        yyjson_get_str(yyjson_arr_get_first(yyjson_obj_get(container, "command")));
    return program != NULL &&
           (str_eq(program, "muster-agent") || str_ends(program, "/muster-agent"));
}

bool jobset_pod_has_agent(yyjson_val *pod_spec)
{
    static const char *const LISTS[] = {"initContainers", "containers"};
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++) {
        size_t i, n;
        yyjson_val *item;
        yyjson_arr_foreach(yyjson_obj_get(pod_spec, LISTS[k]), i, n, item)
        {
            if (asks_barrier(item) || knows_exit_code(item) || runs_agent(item))
                return true;
        }
    }
    return false;
}
