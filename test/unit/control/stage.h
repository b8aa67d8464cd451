// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/controllers.h"
#include "sim/sim.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Controllers on the simulator, without a random client: the test says what happens. */
#define STAGE_START 1767225600000 /* 2026-01-01 */

struct sim *stage_open(uint64_t seed, const struct controller *const *controllers,
                       const struct sim_faults *faults_or_null);
/* `body` is JSON with ' instead of ", or NULL. */
struct write *stage_write(enum write_op op, const struct kind *kind, const char *ns,
                          const char *name, const char *body);
/* Submits as a client and lets half a second pass; fails the test unless it was fine. */
void stage_do(struct sim *sim, struct write *write);
void stage_run(struct sim *sim, time_ms span);
/* How many Events with this reason there are. */
int stage_events(struct sim *sim, const char *reason);
struct obj *stage_get(struct sim *sim, const struct kind *kind, const char *ns, const char *name);
const char *stage_job_of(const struct obj *pod); /* or NULL */
/* The next n pods of the Job, NULL: of any, that are in this phase get this status. */
void stage_pods_become(struct sim *sim, const char *job, int n, const char *phase,
                       const char *status);
/* Up to n pods that were told to go do so; there is no node to see to it. */
void stage_reap(struct sim *sim, int n);
/* Fails unless the condition is so: "True/Admitted", "none" when it is not there. */
void stage_expect(const struct obj *obj, const char *type, const char *want, int line);
