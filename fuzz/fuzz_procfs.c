// SPDX-License-Identifier: Apache-2.0
/* Whatever a file of the kernel holds, what is read from it is a number that is not negative, or
 * nothing; a group's path lies within the text. */
#include "fuzz.h"
#include "node/procfs.h"
#include <assert.h>

static void check_group(struct sv text, bool is_v2)
{
    struct procfs_group group;
    if (!procfs_cpu_group(text, is_v2, &group))
        return;
    assert(group.path.len > 0 && *group.path.ptr == '/');
    assert(group.path.ptr + group.path.len <= text.ptr + text.len);
    assert((group.controllers.len == 0) == is_v2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv text = {(const char *)data, size};
    double a = -1, b = -1;
    if (procfs_cpu(text, &a, &b))
        assert(a >= 0 && b >= a);
    else
        assert(a == -1 && b == -1);
    bool (*const readers[])(struct sv, double *) = {procfs_stall_ms, procfs_disk_ms, procfs_load1,
                                                    procfs_quota};
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        double value = -1;
        if (readers[i](text, &value))
            assert(value >= 0);
        else
            assert(value == -1);
    }
    check_group(text, false);
    check_group(text, true);
    return 0;
}
