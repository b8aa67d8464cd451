// SPDX-License-Identifier: Apache-2.0
/* Which node is below which, worked out again as a whole when a quota or a parent changed: that is
 * rare, and everybody who waits may be helped by it. */
#include "core/admit/admit_internal.h"
#include <assert.h>
#include <stdlib.h>

static struct tree *tree_of(struct node *root)
{
    if (root->is_queue)
        return &container_of(root, struct queue, node)->own_tree;
    return &container_of(root, struct cohort, node)->tree;
}

static void reset_node(struct node *node)
{
    node->parent = NULL;
    node->root = node;
    node->height = 0;
    for (size_t i = 0; i < node->cells.len; i++) {
        struct cell *cell = node->cells.items[i];
        cell->parent = NULL;
        cell->subtree = 0;
        cell->asking = 0;
        cell->is_freed = false;
        vec_clear(&cell->askers);
        if (!node->is_queue)
            cell->usage = 0;
    }
    struct tree *tree = tree_of(node);
    vec_clear(&tree->queues);
    vec_clear(&tree->reservers);
    assert(tree->less.len == 0 && tree->more.len == 0);
}

/* How far it is from its root; -1: it never gets there. */
static long depth_of(const struct node *node, size_t most)
{
    long depth = 0;
    for (; node->parent; node = node->parent) {
        if ((size_t)++depth > most)
            return -1;
    }
    return depth;
}

/* Queues by name first: a cohort that only they name must exist before cohorts are linked. */
static void link_nodes(struct admit *admit)
{
    for (size_t i = 0; i < admit->queue_list.len; i++) {
        struct queue *queue = admit->queue_list.items[i];
        if (queue->is_known && queue->cohort)
            (void)cohort_of(admit, queue->cohort);
    }
    for (size_t i = 0; i < admit->cohort_list.len; i++) { /* it grows meanwhile */
        struct cohort *cohort = admit->cohort_list.items[i];
        if (cohort->parent)
            (void)cohort_of(admit, cohort->parent);
    }
    for (size_t i = 0; i < admit->queue_list.len; i++)
        reset_node(&admit->queue_list.items[i]->node);
    for (size_t i = 0; i < admit->cohort_list.len; i++)
        reset_node(&admit->cohort_list.items[i]->node);
    for (size_t i = 0; i < admit->cohort_list.len; i++) {
        struct cohort *cohort = admit->cohort_list.items[i];
        cohort->node.parent = cohort->parent ? &cohort_of(admit, cohort->parent)->node : NULL;
    }
    for (size_t i = 0; i < admit->queue_list.len; i++) {
        struct queue *queue = admit->queue_list.items[i];
        if (queue->is_known && queue->cohort)
            queue->node.parent = &cohort_of(admit, queue->cohort)->node;
    }
}

/* A ring of cohorts, and what hangs below it, gets no quota from above. */
static void cut_rings(struct admit *admit)
{
    size_t most = admit->cohort_list.len;
    for (size_t i = 0; i < admit->cohort_list.len; i++) {
        struct cohort *cohort = admit->cohort_list.items[i];
        cohort->is_in_cycle = depth_of(&cohort->node, most) < 0;
    }
    for (size_t i = 0; i < admit->cohort_list.len; i++) {
        if (admit->cohort_list.items[i]->is_in_cycle)
            admit->cohort_list.items[i]->node.parent = NULL;
    }
}

static void raise_heights(struct node *node)
{
    uint32_t height = 0;
    for (struct node *at = node; at; at = at->parent, height++) {
        if (at->height < height)
            at->height = height;
        node->root = at;
    }
}

typedef VEC(struct node *) node_vec;

static int by_depth(const void *a, const void *b)
{
    const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
    return x->depth < y->depth ? -1 : x->depth > y->depth;
}

/* Roots first. */
static void sort_nodes(struct admit *admit, node_vec *out)
{
    for (size_t i = 0; i < admit->cohort_list.len; i++)
        vec_push(out, &admit->cohort_list.items[i]->node);
    for (size_t i = 0; i < admit->queue_list.len; i++)
        vec_push(out, &admit->queue_list.items[i]->node);
    for (size_t i = 0; i < out->len; i++)
        out->items[i]->depth = depth_of(out->items[i], out->len);
    if (out->len > 0)
        qsort(out->items, out->len, sizeof(struct node *), by_depth);
}

static void derive(struct admit *admit)
{
    node_vec nodes = {0};
    sort_nodes(admit, &nodes);
    for (size_t i = nodes.len; i-- > 0;)
        quota_derive(nodes.items[i]);
    for (size_t i = 0; i < nodes.len; i++)
        quota_derive_potential(nodes.items[i]);
    vec_done(&nodes);
}

static const char *missing_flavor(const struct queue *queue)
{
    for (size_t i = 0; i < queue->n_groups; i++) {
        for (size_t j = 0; j < queue->groups[i].n_flavors; j++) {
            if (!queue->groups[i].flavors[j]->exists)
                return queue->groups[i].flavors[j]->name;
        }
    }
    return NULL;
}

static bool hangs_in_ring(const struct queue *queue)
{
    for (const struct node *at = queue->node.parent; at; at = at->parent) {
        if (container_of(at, struct cohort, node)->is_in_cycle)
            return true;
    }
    return false;
}

/* Whoever were let in would wait for an answer that nobody gives. */
static void check_activity(struct admit *admit, struct queue *queue)
{
    for (size_t i = 0; i < queue->consents.len && !queue->inactive; i++) {
        const struct consent *consent = &queue->consents.items[i];
        if (!consent->is_missing && !consent->is_inactive)
            continue;
        scoped_free char *text = consent->is_missing
                                     ? mem_printf("there is no AdmissionCheck %s", consent->name)
                                     : mem_printf("AdmissionCheck %s is not active", consent->name);
        queue->inactive = consent->is_missing ? "AdmissionCheckNotFound" : "AdmissionCheckInactive";
        queue->inactive_message = intern(admit, text);
    }
}

void queue_activity(struct admit *admit, struct queue *queue)
{
    const char *before = queue->inactive_message;
    queue->inactive = NULL;
    queue->inactive_message = "Can admit new workloads";
    const char *flavor = missing_flavor(queue);
    if (!queue->is_known) {
        queue->inactive = "NotFound";
        queue->inactive_message = "there is no such ClusterQueue";
    } else if (queue->rules.stop != STOP_NONE) {
        queue->inactive = "Stopped";
        queue->inactive_message = "it is stopped (stopPolicy)";
    } else if (hangs_in_ring(queue)) {
        queue->inactive = "CohortCycle";
        queue->inactive_message = "its cohort is its own ancestor";
    } else if (flavor) {
        scoped_free char *text = mem_printf("there is no ResourceFlavor %s", flavor);
        queue->inactive = "FlavorNotFound";
        queue->inactive_message = intern(admit, text);
    } else {
        check_activity(admit, queue);
    }
    if (queue->inactive_message != before)
        queue_changed(admit, queue);
}

void tree_unpark(struct admit *admit)
{
    if (admit->is_tree_dirty)
        return;
    park_wake_all(admit);
    admit->is_tree_dirty = admit->is_dirty = true;
}

void tree_rebuild(struct admit *admit)
{
    park_wake_all(admit);
    scope_recount(admit, false);
    vec_clear(&admit->stirred);
    vec_clear(&admit->freed);
    link_nodes(admit);
    cut_rings(admit);
    for (size_t i = 0; i < admit->cohort_list.len; i++)
        raise_heights(&admit->cohort_list.items[i]->node);
    for (size_t i = 0; i < admit->queue_list.len; i++)
        raise_heights(&admit->queue_list.items[i]->node);
    derive(admit);
    for (size_t i = 0; i < admit->queue_list.len; i++) {
        struct queue *queue = admit->queue_list.items[i];
        queue->tree = tree_of(queue->node.root);
        queue->reserver = 0;
        vec_clear(&queue->reserve);
        vec_push(&queue->tree->queues, queue);
        const char *before = queue->inactive;
        queue_activity(admit, queue);
        queue->needs_settling = queue->needs_settling || queue->inactive != before;
    }
    scope_recount(admit, true);
    admit->is_claims_dirty = admit->are_all_claims_dirty = true;
    admit->is_tree_dirty = false;
}
