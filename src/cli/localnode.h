// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "api/host.h"

/* The node of this machine, as the guest of a host: runner, process runtime, samples. */
struct localnode;
struct localnode_options {
    struct loop *loop;
    const char *name;          /* of the Node object; NULL: the machine's */
    const char *const *labels; /* "key=value", NULL-terminated, or NULL */
    /* A share of the machine: 0 is all of it. A node that is one of several has a name. */
    bool is_share;
    int64_t cpu_milli, memory_bytes, pods_max;
    int64_t nofile_soft; /* descriptors that pods get; -1: as many as we have */
    bool no_cgroups;
    /* The Node object will never be taken as it is: there is nothing to wait for. */
    void (*on_refused)(void *arg);
    void *arg;
};
struct localnode *localnode_new(const struct localnode_options *options);
void localnode_free(struct localnode *node); /* after the host */
const struct host_guest *localnode_guest(const struct localnode *node);
const char *localnode_name(const struct localnode *node);
bool localnode_is_quiet(const struct localnode *node); /* stop() is done */
/* Calls back once pods can be bound to it. */
void localnode_when_ready(struct localnode *node, void (*fn)(void *arg), void *arg);
