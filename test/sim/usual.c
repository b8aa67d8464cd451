// SPDX-License-Identifier: Apache-2.0
#include "usual.h"
#include "base/mem.h"
#include <stdio.h>
#include <stdlib.h>

struct sim_faults usual_faults(uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed);
    bool is_calm = rng_chance(&rng, 1, 8);
    return (struct sim_faults){
        .commit_refused = is_calm ? 0 : (unsigned)rng_below(&rng, 1000),
        .crash_before = is_calm ? 0 : (unsigned)rng_below(&rng, 200),
        .crash_after = is_calm ? 0 : (unsigned)rng_below(&rng, 200),
        .conflict = (unsigned)rng_below(&rng, 3000),
        .restart = is_calm ? 0 : (unsigned)rng_below(&rng, 500),
        .commit_ms = rng_between(&rng, 0, 60),
        .lag_ms = rng_between(&rng, 0, 400),
        .submit_ms = rng_between(&rng, 0, 200),
    };
}

struct write *usual_write(enum write_op op, const struct kind *kind, const char *name,
                          const char *body)
{
    struct write *write = write_new(op, kind, kind->namespaced ? "default" : "", name);
    if (body == NULL)
        return write;
    scoped_free char *json = mem_strdup(body);
    struct err err = {0};
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    int r = op == WRITE_PATCH ? json_parse(sv_of(json), &write->patch, &err)
                              : json_parse_mut(sv_of(json), &write->doc, &err);
    if (r < 0) {
        (void)fprintf(stderr, "%s: %s\n", json, err.text);
        abort();
    }
    return write;
}
