// SPDX-License-Identifier: Apache-2.0
/* Limits in the files of v1, and the arithmetic of shares. */
#include "node/cgroup_internal.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#define PERIOD_US 100000
#define QUOTA_US_MIN 1000
#define SHARES_MIN 2
#define SHARES_MAX 262144
#define WEIGHT_MAX 10000
/* A pod that asks for no CPU counts as if it asked for this much: little, but enough that it can
 * still be scaled down while it starts. */
#define UNASKED_MILLI 50

/* Shares go over five decades, weights over four. The exponent is the parabola through the two ends
 * (2 shares, weight 1; 262144 shares, weight 10000) and the defaults (1024 shares, weight 100):
 *     612 * log10(weight) = l * l + 125 * l - 126     with l = log2(shares)
 * A straight line through the ends would turn the default of one side into 39 on the other. */
static int64_t weight_of_shares(double shares)
{
    double l = log2(shares);
    return llround(pow(10.0, (l * l + 125.0 * l - 126.0) / 612.0));
}

int64_t cgroup_weight_of_milli(int64_t cpu_request_milli)
{
    int64_t milli = cpu_request_milli > 0 ? cpu_request_milli : UNASKED_MILLI;
    double shares = (double)milli * 1.024;
    if (shares < SHARES_MIN)
        shares = SHARES_MIN;
    return shares > SHARES_MAX ? WEIGHT_MAX : weight_of_shares(shares);
}

int64_t cgroup_shares_of_weight(int64_t weight)
{
    double w = weight < 1 ? 1.0 : weight > WEIGHT_MAX ? WEIGHT_MAX : (double)weight;
    double l = (-125.0 + sqrt(125.0 * 125.0 + 4.0 * (612.0 * log10(w) + 126.0))) / 2.0;
    return llround(exp2(l));
}

int cgroup_v1_cpu(const char *dir, const struct cgroup_limits *limits, struct err *err)
{
    int r = 0;
    if (limits->cpu_weight > 0)
        r = cgroup_file_write(dir, "cpu.shares", "%" PRId64,
                              cgroup_shares_of_weight(limits->cpu_weight));
    if (r < 0)
        return cgroup_fail(err, r, "CPU shares", dir);
    if (limits->cpu_max_milli <= 0 || !cgroup_file_is_there(dir, "cpu.cfs_quota_us"))
        return 0;
    int64_t quota = limits->cpu_max_milli * (PERIOD_US / 1000);
    r = cgroup_file_write(dir, "cpu.cfs_period_us", "%d", PERIOD_US);
    if (r == 0)
        r = cgroup_file_write(dir, "cpu.cfs_quota_us", "%" PRId64,
                              quota < QUOTA_US_MIN ? QUOTA_US_MIN : quota);
    return r < 0 ? cgroup_fail(err, r, "CPU limit", dir) : 0;
}

/* With swap may not be less than without, at no moment: when the limit grows the sum goes first,
 * when it shrinks it goes last. */
int cgroup_v1_memory(const char *dir, int64_t bytes, struct err *err)
{
    bool has_sum = cgroup_file_is_there(dir, "memory.memsw.limit_in_bytes");
    int r = cgroup_file_write(dir, "memory.limit_in_bytes", "%" PRId64, bytes);
    if (r == -EINVAL && has_sum) {
        r = cgroup_file_write(dir, "memory.memsw.limit_in_bytes", "%" PRId64, bytes);
        if (r == 0)
            r = cgroup_file_write(dir, "memory.limit_in_bytes", "%" PRId64, bytes);
    } else if (r == 0 && has_sum) {
        r = cgroup_file_write(dir, "memory.memsw.limit_in_bytes", "%" PRId64, bytes);
    }
    return r < 0 ? cgroup_fail(err, r, "memory limit", dir) : 0;
}
