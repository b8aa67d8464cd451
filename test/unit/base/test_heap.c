// SPDX-License-Identifier: Apache-2.0
#include "base/heap.h"
#include "base/mem.h"
#include "base/rng.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct timer {
    int name;
    struct heap_node node;
};

static struct timer *pop(struct heap *heap)
{
    struct heap_node *node = heap_pop(heap);
    return node ? container_of(node, struct timer, node) : NULL;
}

static void test_order(void **state)
{
    (void)state;
    static const int64_t keys[] = {5, 1, 3, 1, INT64_MAX, INT64_MIN, 3};
    static const int order[] = {5, 1, 3, 2, 6, 0, 4}; /* equal keys as they were pushed */
    struct timer timers[ARRAY_LEN(keys)];
    struct heap heap = {0};
    assert_null(heap_peek(&heap));
    assert_null(heap_pop(&heap));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        timers[i].name = (int)i;
        heap_node_init(&timers[i].node);
        heap_push(&heap, &timers[i].node, keys[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        assert_ptr_equal(heap_peek(&heap), &timers[order[i]].node);
        assert_int_equal(pop(&heap)->name, order[i]);
        assert_false(heap_contains(&timers[order[i]].node));
    }
    assert_null(pop(&heap));
    heap_done(&heap);
}

static void test_remove(void **state)
{
    (void)state;
    struct timer timer;
    struct heap heap = {0};
    heap_node_init(&timer.node);
    heap_remove(&heap, &timer.node);
    heap_push(&heap, &timer.node, 1);
    assert_true(heap_contains(&timer.node));
    heap_remove(&heap, &timer.node);
    heap_remove(&heap, &timer.node);
    assert_false(heap_contains(&timer.node));
    heap_push(&heap, &timer.node, 2);
    heap_done(&heap);
    assert_false(heap_contains(&timer.node));
}

static void check(const struct heap *heap)
{
    for (size_t i = 0; i < heap->len; i++) {
        assert_int_equal(heap->nodes[i]->index, i);
        if (i > 0)
            assert_true(heap->nodes[(i - 1) / 2]->key <= heap->nodes[i]->key);
    }
}

static void test_random_pushes_and_removals(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    struct timer timers[200];
    struct heap heap = {0};
    for (size_t i = 0; i < ARRAY_LEN(timers); i++)
        heap_node_init(&timers[i].node);
    for (int i = 0; i < 20000; i++) {
        struct heap_node *node = &timers[rng_below(&rng, ARRAY_LEN(timers))].node;
        if (heap_contains(node))
            heap_remove(&heap, node);
        else
            heap_push(&heap, node, rng_between(&rng, 0, 50));
        check(&heap);
    }
    int64_t last = INT64_MIN;
    uint64_t last_seq = 0;
    for (struct heap_node *node; (node = heap_pop(&heap));) {
        assert_true(node->key > last || (node->key == last && node->seq > last_seq));
        last = node->key;
        last_seq = node->seq;
    }
    heap_done(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_random_pushes_and_removals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
