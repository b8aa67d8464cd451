// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "cli/cli.h"
#include "model/manifest.h"

/* Local nodes beside the machine's own, each a share of it: which there are, from a file. */
struct nodes_item {
    char *name;
    VEC(char *) labels;   /* "key=value", NULL at the end */
    int64_t cpu_milli;    /* 0: all of the machine's */
    int64_t memory_bytes; /* 0: all */
    int64_t pods_max;     /* 0: as many as a node has */
};
struct nodes_file {
    VEC(struct nodes_item) list;
};

/* Either {nodes: [{name, count, labels, capacity}]}, or Node objects, in which case other objects
 * in the file are passed over. Errors read "file:line:column: path: what". */
int nodes_file_read(struct cli *cli, const char *file, struct nodes_file *ret, struct err *err);
void nodes_file_done(struct nodes_file *nodes);
bool nodes_file_has(const struct manifest *manifest); /* is a Node among its objects? */
