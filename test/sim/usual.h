// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/sim.h"

/* What simulations of controllers usually do to the world. */

/* Disk, crashes, conflicts, delays; one seed in eight is calm. */
struct sim_faults usual_faults(uint64_t seed);
/* In the namespace "default" if the kind has one. `body` is JSON with ' for its quotes, or NULL; a
 * mistake in it ends the program. */
struct write *usual_write(enum write_op op, const struct kind *kind, const char *name,
                          const char *body);
