// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/rng.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_known_sequence(void **state)
{
    (void)state;
    /* The first outputs of the reference xoshiro256** from the state 1, 2, 3, 4. */
    static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240u};
    struct rng rng = {{1, 2, 3, 4}};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_true(rng_next(&rng) == expected[i]);
}

static void test_seed(void **state)
{
    (void)state;
    struct rng a, b, c;
    rng_seed(&a, 0);
    rng_seed(&b, 0);
    rng_seed(&c, 1);
    assert_true(a.s[0] == 0xE220A8397B1DCDAFu); /* the reference SplitMix64 from 0 */
    for (int i = 0; i < 100; i++) {
        uint64_t value = rng_next(&a);
        assert_true(value == rng_next(&b));
        assert_true(value != rng_next(&c));
    }
}

static void test_ranges(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 5);
    int seen[6] = {0};
    for (int i = 0; i < 60000; i++)
        seen[rng_below(&rng, 6)]++;
    for (int i = 0; i < 6; i++)
        assert_in_range(seen[i], 9500, 10500);
    bool low = false, high = false;
    for (int i = 0; i < 1000; i++) {
        int64_t value = rng_between(&rng, -2, 2);
        assert_true(value >= -2 && value <= 2);
        low |= value == -2;
        high |= value == 2;
        (void)rng_between(&rng, INT64_MIN, INT64_MAX);
        assert_int_equal(rng_between(&rng, 9, 9), 9);
        assert_int_equal(rng_below(&rng, 1), 0);
        assert_true(rng_chance(&rng, 1, 1));
        assert_false(rng_chance(&rng, 0, 5));
    }
    assert_true(low && high);
}

static void test_uuid(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 9);
    char uuid[37], other[37];
    for (int round = 0; round < 100; round++) {
        uint64_t serial = (uint64_t)round << 24 | 7;
        rng_uuid(&rng, serial, uuid);
        rng_uuid(&rng, serial, other);
        assert_string_not_equal(uuid, other);
        rng_uuid(&rng, serial + 1, other);
        assert_true(strcmp(uuid, other) < 0);
        assert_int_equal(strlen(uuid), 36);
        for (int i = 0; i < 36; i++) {
            bool dash = i == 8 || i == 13 || i == 18 || i == 23;
            assert_non_null(strchr(dash ? "-" : "0123456789abcdef", uuid[i]));
        }
        assert_int_equal(uuid[14], '8');
        assert_non_null(strchr("89ab", uuid[19]));
    }
}

static void test_suffix(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 9);
    char out[6] = "xxxxx";
    rng_suffix(&rng, out, 0);
    assert_string_equal(out, "");
    for (int i = 0; i < 1000; i++) {
        rng_suffix(&rng, out, 5);
        assert_int_equal(strspn(out, "bcdfghjklmnpqrstvwxz2456789"), 5);
        assert_int_equal(out[5], '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_sequence), cmocka_unit_test(test_seed),
        cmocka_unit_test(test_ranges),         cmocka_unit_test(test_uuid),
        cmocka_unit_test(test_suffix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
