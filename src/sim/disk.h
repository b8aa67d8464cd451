// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/rng.h"
#include "sim/clock.h"
#include "store/disk.h"

/* A disk that is slow, full, or loses its power when the seed says so. It outlives every crash of
 * the control plane. For each object that ever was it remembers the last revision, also of those
 * that are gone, so that a test can ask whether something was ever stored. */
struct sim_disk;

struct sim_disk_options {
    struct sim_clock *clock;
    struct rng *rng;
    time_ms delay_max_ms;
    /* Of every ten thousand commits. */
    unsigned refused, crash_before, crash_after;
    /* The power went. Nobody is told about the batch; see sim_disk_power_off(). */
    void (*on_crash)(void *arg);
    void *arg;
};

struct sim_disk *sim_disk_new(const struct sim_disk_options *options);
void sim_disk_free(struct sim_disk *disk); /* nothing may be under way */
struct disk *sim_disk_port(struct sim_disk *disk);

/* From here on every commit fails, the one under way first: the store lets go of its writes, whose
 * callers are dead as well. sim_disk_power_on() ends this. */
void sim_disk_power_off(struct sim_disk *disk);
void sim_disk_power_on(struct sim_disk *disk);
void sim_disk_heal(struct sim_disk *disk);

/* The row of an object, with `json` NULL when it is gone; NULL: it never was there. */
const struct disk_row *sim_disk_row(const struct sim_disk *disk, const struct kind *kind,
                                    const char *ns, const char *name);
size_t sim_disk_count(const struct sim_disk *disk); /* of objects that are there */
