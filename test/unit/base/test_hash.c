// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_known_values(void **state)
{
    (void)state;
    assert_true(hash_bytes(HASH_START, "", 0) == 0xcbf29ce484222325u);
    assert_true(hash_bytes(HASH_START, "a", 1) == 0xaf63dc4c8601ec8cu);
    assert_true(hash_bytes(HASH_START, "foobar", 6) == 0x85944171f73967e8u);
}

static void test_texts_have_ends(void **state)
{
    (void)state;
    uint64_t one = hash_text(hash_text(HASH_START, "ab"), "c");
    uint64_t other = hash_text(hash_text(HASH_START, "a"), "bc");
    assert_true(one != other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_texts_have_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
