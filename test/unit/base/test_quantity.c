// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/quantity.h"
#include "base/rng.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define UNITS(n) ((quantity)(n)*1000000000)

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        quantity nano;
    } rows[] = {
        {"0", 0},
        {"-0", 0},
        {"000", 0},
        {"0Ei", 0},
        {"0e9999", 0},
        {"1", UNITS(1)},
        {"+1", UNITS(1)},
        {"-1", -UNITS(1)},
        {"007", UNITS(7)},
        {"1.", UNITS(1)},
        {".5", UNITS(1) / 2},
        {"1.G", UNITS(1000000000)},
        {"-.5m", -500000},
        {"1n", 1},
        {"1u", 1000},
        {"100m", 100000000},
        {"1.5k", UNITS(1500)},
        {"2M", UNITS(2000000)},
        {"3T", UNITS(3000000000000)},
        {"4P", UNITS(4000000000000000)},
        {"1E", UNITS(1000000000000000000)},
        {"1Ki", UNITS(1024)},
        {"1.5Gi", UNITS(1610612736)},
        {"-1.5Mi", -UNITS(1572864)},
        {"2Ti", UNITS((int64_t)2 << 40)},
        {"2Pi", UNITS((int64_t)2 << 50)},
        {"1Ei", UNITS((int64_t)1 << 60)},
        {"8Ei", UNITS((quantity)1 << 63)},
        {"0.5Ki", UNITS(512)},
        {"1e3", UNITS(1000)},
        {"1E3", UNITS(1000)},
        {"1e+3", UNITS(1000)},
        {"1E-3", 1000000},
        {"1.25e1", UNITS(25) / 2},
        {"5e0", UNITS(5)},
        /* finer than a billionth: away from zero */
        {"0.1n", 1},
        {"1.1n", 2},
        {"-1.1n", -2},
        {"1e-20", 1},
        {"1e-999999999999999999999", 1},
        {"0.00000000000000000000000000000000000000000000000000000000000000000001", 1},
        {"1.0000000000", UNITS(1)},
        {"1.0000000001", UNITS(1) + 1},
        {"0.0000000001Ki", 103}, /* 102.4 */
        {"0.000000001Ki", 1024}, /* exact */
        {"0.1Ki", (quantity)102400000000},
        /* 2^60 / 10^25 needs more than 128 bits on the way */
        {"0.1234567890123456789012345Ei", UNITS((quantity)142335986942043633) + 765524350},
        {"170141183460469231731687303715.884105727", ((((quantity)1 << 126) - 1) * 2 + 1)},
        {"-170141183460469231731687303715.884105727", -((((quantity)1 << 126) - 1) * 2 + 1)},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        quantity q = -77;
        int r = quantity_parse(sv_of(rows[i].text), &q, &err);
        if (r != 0 || q != rows[i].nano) {
            scoped_str got = {0};
            quantity_format(q, &got);
            fail_msg("'%s': r=%d %s, got %s", rows[i].text, r, err.text, str_text(&got));
        }
    }
}

static void test_parse_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        const char *says;
    } rows[] = {
        {"", -EINVAL, "begin with a number"},
        {"+", -EINVAL, "begin with a number"},
        {".", -EINVAL, "begin with a number"},
        {"-.", -EINVAL, "begin with a number"},
        {"Ki", -EINVAL, "begin with a number"},
        {"aoeu", -EINVAL, "begin with a number"},
        {" 1", -EINVAL, "begin with a number"},
        {"--1", -EINVAL, "begin with a number"},
        {"1 ", -EINVAL, "unknown suffix ' '"},
        {"1K", -EINVAL, "unknown suffix 'K'"},
        {"1GB", -EINVAL, "unknown suffix 'GB'"},
        {"1ki", -EINVAL, "unknown suffix 'ki'"},
        {"1i", -EINVAL, "unknown suffix 'i'"},
        {"0.1mi", -EINVAL, "unknown suffix 'mi'"},
        {"1.1.M", -EINVAL, "unknown suffix '.M'"},
        {"1+1.0M", -EINVAL, "unknown suffix '+1.0M'"},
        {"1e", -EINVAL, "unknown suffix 'e'"},
        {"1e+", -EINVAL, "unknown suffix 'e+'"},
        {"-3.01e-", -EINVAL, "unknown suffix 'e-'"},
        {"1e3Ki", -EINVAL, "unknown suffix 'e3Ki'"},
        {"1e1.5", -EINVAL, "unknown suffix 'e1.5'"},
        {"0x10", -EINVAL, "unknown suffix 'x10'"},
        {"170141183460469231731687303715.884105728", -ERANGE, "too large"},
        {"170141183460469231731687303715.8841057271", -ERANGE, "too large"},
        {"1e30", -ERANGE, "too large"},
        {"-1e9999999999999999999999", -ERANGE, "too large"},
        {"999999999999Ei", -ERANGE, "too large"},
        {"99999999999999999999999999999999999999999999999999999999999999", -ERANGE, "too large"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        quantity q = 42;
        int r = quantity_parse(sv_of(rows[i].text), &q, &err);
        if (r != rows[i].code || q != 42 || !strstr(err.text, rows[i].says) ||
            !strstr(err.hint, "for example"))
            fail_msg("'%s': r=%d text='%s' hint='%s'", rows[i].text, r, err.text, err.hint);
        assert_int_equal(quantity_parse(sv_of(rows[i].text), &q, NULL), rows[i].code);
    }
    char digits[129];
    memset(digits, '0', sizeof(digits));
    quantity q;
    assert_int_equal(quantity_parse((struct sv){digits, 128}, &q, NULL), 0);
    assert_int_equal(quantity_parse((struct sv){digits, 129}, &q, NULL), -EINVAL);
    memset(digits, '9', sizeof(digits));
    memcpy(digits + 126, "Ei", 2);
    assert_int_equal(quantity_parse((struct sv){digits, 128}, &q, NULL), -ERANGE);
}

static void test_format(void **state)
{
    (void)state;
    static const struct {
        const char *text, *decimal, *binary;
    } rows[] = {
        {"0", "0", "0"},
        {"1.5", "1500m", "1500m"},
        {"2", "2", "2"},
        {"-2", "-2", "-2"},
        {"0.1n", "1n", "1n"},
        {"1500n", "1500n", "1500n"},
        {"1000n", "1u", "1u"},
        {"1000", "1k", "1k"}, /* below 1024 Kubernetes writes decimal */
        {"1023", "1023", "1023"},
        {"1024", "1024", "1Ki"},
        {"-1024", "-1024", "-1Ki"},
        {"1500", "1500", "1500"},
        {"1024.5", "1024500m", "1024500m"},
        {"1.5Gi", "1610612736", "1536Mi"},
        {"64Gi", "68719476736", "64Gi"},
        {"1e6", "1M", "1000000"},
        {"100000000", "100M", "100000000"},
        {"2048Ei", "2361183241434822606848", "2048Ei"},
        {"5e21", "5000E", "4768371582031250Mi"},
        {"170141183460469231731687303715.884105727", "170141183460469231731687303715884105727n",
         "170141183460469231731687303715884105727n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        quantity q;
        scoped_str decimal = {0}, binary = {0};
        assert_int_equal(quantity_parse(sv_of(rows[i].text), &q, NULL), 0);
        quantity_format(q, &decimal);
        assert_string_equal(str_text(&decimal), rows[i].decimal);
        quantity_format_binary(q, &binary);
        assert_string_equal(str_text(&binary), rows[i].binary);
    }
}

static quantity random_quantity(struct rng *rng)
{
    quantity high = (quantity)rng_next(rng) >> rng_below(rng, 64);
    quantity q = (high << 32) + (quantity)rng_below(rng, UINT32_MAX);
    for (uint64_t zeros = rng_below(rng, 10); zeros > 0; zeros--)
        q *= 10;
    return rng_chance(rng, 1, 2) ? -q / 10 : q / 10;
}

static void test_what_is_written_can_be_read(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 3);
    for (int i = 0; i < 20000; i++) {
        quantity q = random_quantity(&rng), again = 0;
        scoped_str text = {0};
        (i % 2 ? quantity_format : quantity_format_binary)(q, &text);
        assert_int_equal(quantity_parse((struct sv){text.data, text.len}, &again, NULL), 0);
        assert_int_equal(quantity_cmp(q, again), 0);
    }
}

static void test_arithmetic(void **state)
{
    (void)state;
    const quantity max = (((quantity)1 << 126) - 1) * 2 + 1, min = -max - 1;
    quantity q = 5;
    assert_int_equal(quantity_add(UNITS(1), UNITS(2), &q), 0);
    assert_true(q == UNITS(3));
    assert_int_equal(quantity_add(max, 1, &q), -ERANGE);
    assert_int_equal(quantity_add(min, -1, &q), -ERANGE);
    assert_true(q == UNITS(3));
    assert_true(quantity_cmp(1, 2) < 0 && quantity_cmp(2, 1) > 0 && quantity_cmp(2, 2) == 0);
    scoped_str text = {0};
    quantity_format(min, &text);
    assert_string_equal(str_text(&text), "-170141183460469231731687303715884105728n");
}

static void test_whole_values_round_away_from_zero(void **state)
{
    (void)state;
    const quantity max = (((quantity)1 << 126) - 1) * 2 + 1;
    assert_int_equal(quantity_value(UNITS(3)), 3);
    assert_int_equal(quantity_value(UNITS(3) + 1), 4);
    assert_int_equal(quantity_value(-UNITS(3) - 1), -4);
    assert_int_equal(quantity_milli(1), 1);
    assert_int_equal(quantity_milli(UNITS(1)), 1000);
    assert_true(quantity_value(max) == INT64_MAX && quantity_milli(-max) == INT64_MIN);
    assert_true(quantity_value(quantity_of(INT64_MIN)) == INT64_MIN);
    assert_true(quantity_milli(quantity_of_milli(INT64_MAX)) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),      cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_format),     cmocka_unit_test(test_what_is_written_can_be_read),
        cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_whole_values_round_away_from_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
