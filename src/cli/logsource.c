// SPDX-License-Identifier: Apache-2.0
#include "cli/logsource.h"

/* Given by the port. NOLINTNEXTLINE(readability-function-size) */
static int source_open(void *arg, const struct log_ask *ask, log_take_fn *take, void *take_arg,
                       void **ret_reader, struct err *err)
{
    struct log_reader *reader = NULL;
    struct log_query query = {
        .name = {ask->ns, ask->pod, ask->uid, ask->container, ask->generation},
        .follow = ask->follow,
        .previous = ask->previous,
        .timestamps = ask->timestamps,
        .tail_lines = ask->tail_lines,
        .since = ask->since,
        .limit_bytes = ask->limit_bytes,
    };
    int r = log_reader_new(arg, &query, take, take_arg, &reader, err);
    if (r == 0)
        *ret_reader = reader;
    return r;
}

static void source_resume(void *reader)
{
    log_reader_resume(reader);
}

static void source_close(void *reader)
{
    log_reader_free(reader);
}

struct log_source logsource_of(struct logs *logs)
{
    return (struct log_source){source_open, source_resume, source_close, logs};
}
