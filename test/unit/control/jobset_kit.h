// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"
#include "control/job_internal.h"
#include "control/jobset_internal.h"
#include "stage.h"

/* JobSets without faults; the test plays the Jobs, or the nodes that run the pods. JobSets are told
 * in one line: for each replicated job "name ready/succeeded/failed/active/suspended", then
 * "restarts/counted", then the conditions that are true. */
#define SECOND 1000
#define POD_SPEC "'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}"
#define JOB_TEMPLATE(more) "'template':{'spec':{" more POD_SPEC "}}"
#define ROLE(name, more, job) "{'name':'" name "'" more "," JOB_TEMPLATE(job) "}"

struct sim *kit_open(const struct controller *const *controllers);
void kit_create(struct sim *sim, const char *name, const char *spec);
struct obj *kit_set(struct sim *sim);
void kit_describe(struct sim *sim, struct str *out);
#define expect(sim, text) kit_expect(sim, text, __LINE__)
void kit_expect(struct sim *sim, const char *text, int line);
void kit_patch_set(struct sim *sim, const char *patch);
int kit_events(struct sim *sim, const char *reason);
bool kit_has_event(struct sim *sim, const char *reason, const char *message);
const char *kit_label(const struct obj *obj, const char *name); /* without the domain */
const char *kit_condition(struct sim *sim, const char *type, const char *field);

/* Names of the Jobs that are there, with their attempt: "s-a-0@0 s-b-0@0". */
void kit_jobs(struct sim *sim, struct str *out);
#define expect_jobs(sim, text) kit_expect_jobs(sim, text, __LINE__)
void kit_expect_jobs(struct sim *sim, const char *text, int line);
/* How a Job stands, as its controller would say. */
void kit_job_status(struct sim *sim, const char *name, const char *status);
void kit_job_active(struct sim *sim, const char *name, int active, int ready);
void kit_job_done(struct sim *sim, const char *name);
void kit_job_failed(struct sim *sim, const char *name, const char *reason, const char *message);
/* Foreground deletion waits for the garbage collector; this is what it does in the end. */
void kit_bury(struct sim *sim, const char *name_or_null);
