// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/start/start.h"
#include "store/cache.h"

/* What a node's NodeConfig says, in the units of those who use it. */
struct node_settings {
    struct start_settings start;
    double starting_weight; /* share of the CPU while a pod starts, part of its usual one */
    int64_t log_bytes;
    int log_files;
    bool ignore_images; /* a container with an image may run as a plain process */
};

void node_settings_default(struct node_settings *settings, double cores);
/* Overrides what the NodeConfig `root` says and leaves the rest; NULL says nothing. What cannot be
 * read is left as well: the server has checked it before it was stored. */
void node_settings_add(struct node_settings *settings, yyjson_val *root);
/* What the NodeConfig called "default" says, then what the one with the node's name does. */
void node_settings_find(const struct cache *cache, const char *node,
                        struct node_settings *settings);
