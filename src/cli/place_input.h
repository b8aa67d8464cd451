// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "core/place/place.h"

/* What `muster place` reads: a pool with everything that is on it. */
struct place_input {
    struct place *place;
    VEC(char *) vpods; /* in the order of the file */
    int64_t pending;   /* PLACE_COMPUTED when left out */
    bool may_shrink;
    struct str warnings; /* lines */
};
/* Errors begin with the path of what is wrong ("vpods[0].placements[1]: ..."). *ret_input is
 * untouched on failure. */
int place_input_read(yyjson_val *root, struct place_input *ret_input, struct err *err);
void place_input_done(struct place_input *input);
