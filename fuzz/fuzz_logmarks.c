// SPDX-License-Identifier: Apache-2.0
/* Whatever is in a marks file, what is loaded of it is in order, stays so when it is thinned, and
 * comes back the same when it is written; a state that is accepted is one that can be. */
#include "base/mem.h"
#include "fuzz.h"
#include "node/logs_internal.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_order(const struct log_marks *marks)
{
    for (size_t i = 1; i < marks->list.len; i++)
        assert(marks->list.items[i - 1].offset < marks->list.items[i].offset);
}

static void check_marks(struct log_marks *marks)
{
    check_order(marks);
    struct log_mark last = marks->list.len > 0 ? *vec_last(&marks->list) : (struct log_mark){0};
    (void)log_marks_since(marks, last.at, last.offset);
    log_marks_thin(marks, 0, last.at);
    check_order(marks);
    assert(marks->list.len <= LOG_MARKS_MAX);
    if (last.offset > 0) /* the newest is never dropped */
        assert(log_marks_time(marks, last.offset, -1) == last.at);
}

static void check_written(const struct log_state *state, const struct log_marks *marks)
{
    char path[] = "/tmp/fuzz-logmarks-XXXXXX";
    struct log_state state_again;
    struct log_marks marks_again = {0};
    size_t count = 0;
    int fd = mkstemp(path);
    assert(fd >= 0);
    int r = log_marks_rewrite(path, state, marks);
    assert(r == 0);
    r = log_state_load(path, &state_again, &count);
    assert(r == 0 && count == marks->list.len && state_again.cut == state->cut);
    log_marks_load(path, &marks_again);
    assert(marks_again.list.len == marks->list.len);
    vec_done(&marks_again.list);
    close(fd);
    (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32];
    struct log_state state;
    struct log_marks marks = {0};
    size_t count = 0;
    int fd = memfd_create("marks", MFD_CLOEXEC);
    assert(fd >= 0);
    ssize_t n = write(fd, data, size);
    assert(n == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (log_state_load(path, &state, &count) == 0)
        assert(state.base >= 0 && state.cut >= state.base && state.stage <= STAGE_COLLAPSE);
    else
        assert(state.base == 0 && state.cut == 0 && count == 0);
    log_marks_load(path, &marks);
    check_marks(&marks);
    check_written(&state, &marks);
    vec_done(&marks.list);
    close(fd);
    return 0;
}
