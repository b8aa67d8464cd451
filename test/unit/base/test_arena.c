// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/mem.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t size = 0; size < 3000; size += 7) {
        unsigned char *ptr = arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)ptr % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(ptr[i], 0);
        memset(ptr, 0xAA, size);
    }
    arena_reset(&arena);
    unsigned char *again = arena_alloc(&arena, 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(again[i], 0);
    arena_done(&arena);
}

static void test_texts(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    assert_string_equal(arena_strdup(&arena, "abc"), "abc");
    assert_null(arena_strdup(&arena, NULL));
    assert_string_equal(arena_strndup(&arena, "abcdef", 3), "abc");
    assert_string_equal(arena_strndup(&arena, NULL, 0), "");
    assert_string_equal(arena_printf(&arena, "%s-%d", "job", 7), "job-7");
    /* Around the length up to which it is made once. */
    for (int len = SHORT_TEXT_BYTES - 2; len <= SHORT_TEXT_BYTES + 1; len++) {
        scoped_free char *text = mem_printf("%*d", len, 7);
        assert_int_equal(strlen(text), len);
        assert_string_equal(arena_printf(&arena, "%*d", len, 7), text);
        assert_string_equal(text + len - 2, " 7");
    }
    arena_done(&arena);
}

static void turn(struct arena *arena, const size_t *sizes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memset(arena_alloc(arena, sizes[i]), 1, sizes[i]);
    arena_reset(arena);
}

static void test_blocks_are_kept(void **state)
{
    (void)state;
    static const size_t small_then_large[] = {16000, 16000, 1000000};
    static const size_t large_then_small[] = {1000000, 16000, 16000};
    struct arena arena;
    arena_init(&arena);
    turn(&arena, small_then_large, 3);
    struct arena_block *first = arena.first;
    for (int i = 0; i < 1000; i++) { /* a leak of a block each turn would be a gigabyte */
        turn(&arena, large_then_small, 3);
        turn(&arena, small_then_large, 3);
    }
    assert_ptr_equal(first, arena.first);
    arena_done(&arena);
    assert_null(arena.first);
    assert_string_equal(arena_strdup(&arena, "usable again"), "usable again");
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_zeroed_and_aligned),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_blocks_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
