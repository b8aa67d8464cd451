// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/clock.h"

/* The cores of a simulated machine: whoever works gets an equal share, a whole core at most. */
struct cores_job {
    struct heap_node node; /* by how much service ends it */
    void (*done)(void *arg);
    void *arg;
};

struct cores {
    struct sim_clock *clock;
    double count;   /* 0: as many as are wanted */
    double served;  /* service that each who was there all the time has got, in microseconds */
    double busy_ms; /* of all cores together */
    time_ms at;     /* until when these two are counted */
    struct heap jobs;
    struct sim_event next; /* the first job ends */
};

void cores_init(struct cores *cores, struct sim_clock *clock, double count);
void cores_done(struct cores *cores); /* whoever still works never ends */
void cores_job_init(struct cores_job *job, void (*done)(void *arg), void *arg);
void cores_add(struct cores *cores, struct cores_job *job, time_ms work_ms);
void cores_remove(struct cores *cores, struct cores_job *job); /* no-op when it does not work */
double cores_busy_ms(struct cores *cores);
