// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/run_model.h"

/* What each kind of group says of itself. A further kind is one more row of GROUP_KINDS. */
struct run_kind {
    const struct kind *kind;
    bool (*owns)(const struct run_group *group, yyjson_val *pod);
    void (*expect)(struct run_group *group, yyjson_val *object);
    enum run_outcome (*judge)(yyjson_val *object, const char **ret_why);
};

const struct run_kind *run_kind_of(const struct kind *kind); /* NULL: it is none that is followed */
bool run_kind_is_endless(const struct run_group *group);     /* never ends by itself */
