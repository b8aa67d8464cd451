// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include <stdint.h>

/* How many of what was observed were at most so large, as Prometheus has it. */
#define HISTOGRAM_BOUNDS_MAX 20

struct histogram {
    const double *bounds; /* ascending; they stay the caller's */
    size_t n_bounds;
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* not summed up; the last: larger than all */
    double sum;
};
void histogram_init(struct histogram *histogram, const double *bounds, size_t n_bounds);
void histogram_add(struct histogram *histogram, double value);
/* The lines NAME_bucket, NAME_sum and NAME_count; labels are 'a="b",c="d"' or "". HELP and TYPE are
 * the caller's, since a name may have many histograms. */
void histogram_print(const struct histogram *histogram, const char *name, const char *labels,
                     struct str *out);
