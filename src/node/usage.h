// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/usage.h"
#include "node/cgroup.h"

/* What the containers of this node and the node itself use. Nothing is read until somebody asks,
 * and then at most once a second for each container: the answer is the average since the question
 * before, or since the start when it is the first. */
struct usage;
struct usage_options {
    struct cgroup_tree *tree; /* stays the caller's */
    const char *node;
    const char *proc; /* "/proc", or a folder of a test */
    bool is_share;    /* of a machine with several nodes: it uses what its containers do */
};
struct usage *usage_new(const struct usage_options *options);
void usage_free(struct usage *usage);
struct usage_source usage_port(struct usage *usage);

struct usage_unit {
    const char *uid; /* of the pod */
    const char *container;
    const char *leaf; /* its control group; of a container at most one is known, the latest */
    int pid;          /* its first process: all that can be seen without control groups */
    time_ms started;  /* wall */
};
void usage_begin(struct usage *usage, const struct usage_unit *unit);
/* Another leaf of the container may have begun meanwhile; that one stays. */
void usage_end(struct usage *usage, const char *uid, const char *container, const char *leaf);

/* The arithmetic: two samples. Times are monotonic. */
struct usage_sample {
    time_ms at;
    int64_t cpu_ns; /* so far */
    int64_t memory_bytes;
};
struct usage_track {
    struct usage_sample older, newer;
    bool is_read; /* `newer` is more than the start */
};
void usage_track_start(struct usage_track *track, const struct usage_sample *start);
bool usage_track_is_due(const struct usage_track *track, time_ms now);
void usage_track_feed(struct usage_track *track, const struct usage_sample *sample);
/* The average over the window between the samples. */
int64_t usage_track_nano(const struct usage_track *track);
time_ms usage_track_window(const struct usage_track *track); /* at least 1 */
