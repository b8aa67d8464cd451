// SPDX-License-Identifier: Apache-2.0
#include "cli/localnodes.h"
#include "base/mem.h"
#include "base/vec.h"
#include <errno.h>

struct localnodes {
    VEC(struct localnode *) list;
    struct host_guest guest;
    struct usage_source usage;
    struct log_source logs;
    size_t unready;
    void (*ready)(void *arg);
    void *ready_arg;
    void (*done)(void *arg);
    void *done_arg;
};

static const struct host_guest *guest_of(const struct localnodes *nodes, size_t i)
{
    return localnode_guest(nodes->list.items[i]);
}

/* ---- what they measure and keep: whoever knows answers ---- */

static void usage_pod(void *arg, const char *uid, usage_fn *each, void *each_arg)
{
    struct localnodes *nodes = arg;
    for (size_t i = 0; i < nodes->list.len; i++) {
        const struct usage_source *source = guest_of(nodes, i)->usage(guest_of(nodes, i)->arg);
        source->pod(source->arg, uid, each, each_arg);
    }
}

static void usage_node(void *arg, const char *name, usage_fn *each, void *each_arg)
{
    struct localnodes *nodes = arg;
    for (size_t i = 0; i < nodes->list.len; i++) {
        const struct usage_source *source = guest_of(nodes, i)->usage(guest_of(nodes, i)->arg);
        source->node(source->arg, name, each, each_arg);
    }
}

/* Given by the port. NOLINTNEXTLINE(readability-function-size) */
static int logs_open(void *arg, const struct log_ask *ask, log_take_fn *take, void *take_arg,
                     void **ret_reader, struct err *err)
{
    struct localnodes *nodes = arg;
    int r = -ENOENT;
    for (size_t i = 0; r == -ENOENT && i < nodes->list.len; i++) {
        const struct log_source *source = guest_of(nodes, i)->logs(guest_of(nodes, i)->arg);
        bool is_other =
            *ask->node != '\0' && !str_eq(localnode_name(nodes->list.items[i]), ask->node);
        if (!is_other)
            r = source->open(source->arg, ask, take, take_arg, ret_reader, err);
    }
    return r == -ENOENT ? err_set(err, -ENOENT, "there is no log of it on this machine") : r;
}

/* A reader is one and the same thing on all of them. */
static const struct log_source *first_logs(const struct localnodes *nodes)
{
    return guest_of(nodes, 0)->logs(guest_of(nodes, 0)->arg);
}

/* ---- the guest ---- */

static int all_open(void *arg, const char *data, struct err *err)
{
    struct localnodes *nodes = arg;
    int r = 0;
    for (size_t i = 0; r == 0 && i < nodes->list.len; i++)
        r = guest_of(nodes, i)->open(guest_of(nodes, i)->arg, data, err);
    if (r < 0)
        return r;
    nodes->logs = *first_logs(nodes);
    nodes->logs.open = logs_open;
    nodes->logs.arg = nodes;
    return 0;
}

static const struct controller *all_controller(void *arg, size_t index)
{
    struct localnodes *nodes = arg;
    if (index >= nodes->list.len)
        return NULL;
    return guest_of(nodes, index)->controller(guest_of(nodes, index)->arg, 0);
}

static void on_one_done(void *arg)
{
    struct localnodes *nodes = arg;
    for (size_t i = 0; i < nodes->list.len; i++) {
        if (!localnode_is_quiet(nodes->list.items[i]))
            return;
    }
    nodes->done(nodes->done_arg);
}

static void all_stop(void *arg, void (*done)(void *done_arg), void *done_arg)
{
    struct localnodes *nodes = arg;
    nodes->done = done;
    nodes->done_arg = done_arg;
    for (size_t i = 0; i < nodes->list.len; i++)
        guest_of(nodes, i)->stop(guest_of(nodes, i)->arg, on_one_done, nodes);
}

static void all_close(void *arg)
{
    struct localnodes *nodes = arg;
    for (size_t i = 0; i < nodes->list.len; i++)
        guest_of(nodes, i)->close(guest_of(nodes, i)->arg);
}

static void all_metrics(void *arg, struct str *out)
{
    struct localnodes *nodes = arg;
    guest_of(nodes, 0)->metrics(guest_of(nodes, 0)->arg, out); /* names of metrics come once */
}

static const struct usage_source *all_usage(void *arg)
{
    struct localnodes *nodes = arg;
    return &nodes->usage;
}

static const struct log_source *all_logs(void *arg)
{
    struct localnodes *nodes = arg;
    return &nodes->logs;
}

struct localnodes *localnodes_new(void)
{
    struct localnodes *nodes = mem_zalloc(sizeof(*nodes));
    nodes->usage = (struct usage_source){usage_pod, usage_node, nodes};
    nodes->guest = (struct host_guest){.open = all_open,
                                       .controller = all_controller,
                                       .stop = all_stop,
                                       .close = all_close,
                                       .metrics = all_metrics,
                                       .usage = all_usage,
                                       .logs = all_logs,
                                       .arg = nodes};
    return nodes;
}

void localnodes_free(struct localnodes *nodes)
{
    for (size_t i = 0; i < nodes->list.len; i++)
        localnode_free(nodes->list.items[i]);
    vec_done(&nodes->list);
    mem_free(nodes);
}

void localnodes_add(struct localnodes *nodes, struct localnode *node)
{
    vec_push(&nodes->list, node);
}

const struct host_guest *localnodes_guest(const struct localnodes *nodes)
{
    return nodes->list.len > 0 ? &nodes->guest : NULL;
}

static void on_one_ready(void *arg)
{
    struct localnodes *nodes = arg;
    if (--nodes->unready == 0)
        nodes->ready(nodes->ready_arg);
}

void localnodes_when_ready(struct localnodes *nodes, void (*fn)(void *arg), void *arg)
{
    nodes->ready = fn;
    nodes->ready_arg = arg;
    nodes->unready = nodes->list.len + 1; /* one for the end of this loop */
    for (size_t i = 0; i < nodes->list.len; i++)
        localnode_when_ready(nodes->list.items[i], on_one_ready, nodes);
    on_one_ready(nodes);
}
