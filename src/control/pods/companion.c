// SPDX-License-Identifier: Apache-2.0
#include "control/pods/companion.h"
#include "base/hash.h"
#include "model/jobset.h"
#include <string.h>

#define PROGRAM "muster-agent"

bool companion_is(yyjson_val *container)
{
    const char *program = yyjson_get_str(yyjson_arr_get_first(json_at(container, "command")));
    return program != NULL && (strcmp(program, PROGRAM) == 0 || str_ends(program, "/" PROGRAM));
}

/* The first byte after 127 is never 0 and none is 255: no address of a network, no broadcast, and
 * not 127.0.0.1, where everybody else listens. */
const char *companion_address(struct arena *arena, const struct obj *pod)
{
    uint64_t hash = hash_text(HASH_START, pod->meta.uid);
    unsigned a = (unsigned)(hash % 254) + 1, b = (unsigned)(hash / 254 % 255);
    unsigned c = (unsigned)(hash / 254 / 255 % 254) + 1;
    return arena_printf(arena, "127.%u.%u.%u", a, b, c);
}

const char *companion_jobset(const struct obj *pod)
{
    yyjson_val *annotations = json_at(pod->root, "metadata.annotations");
    yyjson_val *labels = json_at(pod->root, "metadata.labels");
    const char *name = yyjson_get_str(yyjson_obj_get(annotations, JOBSET_LABEL_NAME));
    return name != NULL ? name : yyjson_get_str(yyjson_obj_get(labels, JOBSET_LABEL_NAME));
}
