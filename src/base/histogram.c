// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"
#include <assert.h>
#include <inttypes.h>

void histogram_init(struct histogram *histogram, const double *bounds, size_t n_bounds)
{
    assert(n_bounds <= HISTOGRAM_BOUNDS_MAX);
    *histogram = (struct histogram){.bounds = bounds, .n_bounds = n_bounds};
}

void histogram_add(struct histogram *histogram, double value)
{
    size_t i = 0;
    while (i < histogram->n_bounds && value > histogram->bounds[i])
        i++;
    histogram->counts[i]++;
    histogram->sum += value;
}

void histogram_print(const struct histogram *histogram, const char *name, const char *labels,
                     struct str *out)
{
    const char *open = *labels ? "{" : "", *close = *labels ? "}" : "", *comma = *labels ? "," : "";
    uint64_t so_far = 0;
    for (size_t i = 0; i < histogram->n_bounds; i++) {
        so_far += histogram->counts[i];
        str_addf(out, "%s_bucket{%s%sle=\"%.15g\"} %" PRIu64 "\n", name, labels, comma,
                 histogram->bounds[i], so_far);
    }
    so_far += histogram->counts[histogram->n_bounds];
    str_addf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, so_far);
    str_addf(out, "%s_sum%s%s%s %.15g\n", name, open, labels, close, histogram->sum);
    str_addf(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, so_far);
}
