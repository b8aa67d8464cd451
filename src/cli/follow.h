// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"

/* List, then watch from there, for as long as the caller wants. A stream that the server ends is
 * taken up again where it stopped; a revision that the server has forgotten (410) means a new
 * list. */
struct follow {
    const char *target; /* the collection, with selectors in its query */
    const char *accept; /* NULL: JSON */
    time_ms deadline;   /* of cli_monotonic(); TIME_NEVER */
    /* Both: 0 goes on, anything else ends the follow. `list` may be a Table. */
    int (*on_list)(void *arg, yyjson_val *list);
    int (*on_event)(void *arg, const char *type, yyjson_val *object);
    void *arg;
};

/* 0: a callback ended it. -ETIMEDOUT: the deadline. -ECANCELED: the connection was told to end.
 * Positive: an exit code, error printed. */
int follow_run(struct cli *cli, const struct follow *follow);
