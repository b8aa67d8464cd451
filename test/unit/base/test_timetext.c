// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/rng.h"
#include "base/timetext.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define S ((time_ms)1000)
#define M (60 * S)
#define H (60 * M)
#define D (24 * H)
#define Y (365 * D)

static void test_duration_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        time_ms ms;
    } rows[] = {
        {"0", 0},
        {"-0", 0},
        {"+0", 0},
        {"0s", 0},
        {"300s", 300 * S},
        {"1h30m", 90 * M},
        {"1.5h", 90 * M},
        {"+5s", 5 * S},
        {"-5s", -5 * S},
        {"-1h5ms", -(H + 5)},
        {".5s", 500},
        {"1.s", S},
        {"250ms", 250},
        {"1m1m", 2 * M},
        {"2000us", 2},
        {"2000\xC2\xB5s", 2},
        {"2000\xCE\xBCs", 2},
        {"3000000ns", 3},
        {"1ns", 1}, /* a short time is not none */
        {"-1ns", -1},
        {"1.0001ms", 2},
        {"500us500us", 1},
        {"0.1s", 100},
        {"0.3333333333333333333h", 1200 * S},
        {"1.00000000000000000000000000001s", S + 1},
        {"2562047h47m16.854s", 9223372036854},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        time_ms ms = -77;
        int r = duration_parse(sv_of(rows[i].text), &ms, &err);
        if (r != 0 || ms != rows[i].ms)
            fail_msg("'%s': r=%d %s, got %lld", rows[i].text, r, err.text, (long long)ms);
    }
}

static void test_duration_parse_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        const char *says;
    } rows[] = {
        {"", -EINVAL, "lacks a number"},
        {"-", -EINVAL, "lacks a number"},
        {"s", -EINVAL, "lacks a number"},
        {".s", -EINVAL, "lacks a number"},
        {".", -EINVAL, "lacks a number"},
        {"--5s", -EINVAL, "lacks a number"},
        {"3", -EINVAL, "without a unit"},
        {"1h3", -EINVAL, "without a unit"},
        {"00", -EINVAL, "without a unit"},
        {"1.2.3s", -EINVAL, "without a unit"},
        {"1d", -EINVAL, "unknown unit"},
        {"5 s", -EINVAL, "unknown unit"},
        {"5s ", -EINVAL, "unknown unit"},
        {"5S", -EINVAL, "unknown unit"},
        {"1h-5m", -EINVAL, "unknown unit"},
        {"9223372036854775808ns", -ERANGE, "292 years"},
        {"99999999999999999999999h", -ERANGE, "292 years"},
        {"2562048h", -ERANGE, "292 years"},
        {"2562047h2562047h", -ERANGE, "292 years"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        time_ms ms = 42;
        int r = duration_parse(sv_of(rows[i].text), &ms, &err);
        if (r != rows[i].code || ms != 42 || !strstr(err.text, rows[i].says) ||
            !strstr(err.hint, "for example"))
            fail_msg("'%s': r=%d text='%s' hint='%s'", rows[i].text, r, err.text, err.hint);
        assert_int_equal(duration_parse(sv_of(rows[i].text), &ms, NULL), rows[i].code);
    }
}

struct format_row {
    time_ms ms;
    const char *text;
};

static void check_format(void (*format)(time_ms, struct str *), const struct format_row *rows,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped_str text = {0};
        format(rows[i].ms, &text);
        if (!str_eq(str_text(&text), rows[i].text))
            fail_msg("row %zu (%lld): got '%s', not '%s'", i, (long long)rows[i].ms,
                     str_text(&text), rows[i].text);
    }
}

static void test_duration_format(void **state)
{
    (void)state;
    static const struct format_row rows[] = {
        {0, "0s"},
        {1, "1ms"},
        {250, "250ms"},
        {-250, "-250ms"},
        {S, "1s"},
        {1500, "1.5s"},
        {1050, "1.05s"},
        {1001, "1.001s"},
        {M, "1m0s"},
        {H, "1h0m0s"},
        {90 * M, "1h30m0s"},
        {-(H + M + 1010), "-1h1m1.01s"},
        {100 * H, "100h0m0s"},
        {INT64_MAX, "2562047788015h12m55.807s"},
        {INT64_MIN, "-2562047788015h12m55.808s"},
    };
    check_format(duration_format, rows, ARRAY_LEN(rows));
}

static void test_duration_human(void **state)
{
    (void)state;
    static const struct format_row rows[] = {
        {-2 * S, "<invalid>"},
        {-1999, "0s"},
        {-1, "0s"},
        {0, "0s"},
        {999, "0s"},
        {S, "1s"},
        {119999, "119s"},
        {2 * M, "2m"},
        {2 * M + S, "2m1s"},
        {3 * M + 10 * S, "3m10s"},
        {10 * M - 1, "9m59s"},
        {10 * M, "10m"},
        {17 * M + 59 * S, "17m"},
        {3 * H - 1, "179m"},
        {3 * H, "3h"},
        {3 * H + 5 * M, "3h5m"},
        {8 * H - 1, "7h59m"},
        {8 * H, "8h"},
        {8 * H + 59 * M, "8h"},
        {48 * H - 1, "47h"},
        {48 * H, "2d"},
        {2 * D + 4 * H, "2d4h"},
        {8 * D - 1, "7d23h"},
        {8 * D, "8d"},
        {400 * D, "400d"},
        {2 * Y - 1, "729d"},
        {2 * Y, "2y"},
        {2 * Y + D, "2y1d"},
        {3 * Y + 12 * D, "3y12d"},
        {8 * Y - 1, "7y364d"},
        {8 * Y, "8y"},
        {8 * Y + 300 * D, "8y"},
        {INT64_MAX, "292471208y"},
        {INT64_MIN, "<invalid>"},
    };
    check_format(duration_human, rows, ARRAY_LEN(rows));
}

static void test_rfc3339_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        time_ms at;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01t00:00:00z", 0},
        {"1969-12-31T23:59:59.999Z", -1},
        {"2026-01-02T03:04:05Z", 1767323045000},
        {"2026-01-02T03:04:05.6Z", 1767323045600},
        {"2026-01-02T03:04:05.678Z", 1767323045678},
        {"2026-01-02T03:04:05.678999999Z", 1767323045678},
        {"2026-01-02T04:34:05+01:30", 1767323045000},
        {"2026-01-01T19:04:05-08:00", 1767323045000},
        {"2026-01-02T03:04:05-00:00", 1767323045000},
        {"2000-02-29T00:00:00Z", 951782400000},
        {"2024-02-29T23:59:59Z", 1709251199000},
        {"0000-01-01T00:00:00Z", -62167219200000},
        {"0001-01-01T00:00:00Z", -62135596800000},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        time_ms at = -77;
        int r = rfc3339_parse(sv_of(rows[i].text), &at, &err);
        if (r != 0 || at != rows[i].at)
            fail_msg("'%s': r=%d %s, got %lld", rows[i].text, r, err.text, (long long)at);
    }
}

static void test_rfc3339_parse_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "year must be 4 digits"},
        {"26-01-02T03:04:05Z", "year must be"},
        {"2026", "'-' must follow the year"},
        {"2026-1-02T03:04:05Z", "month must be 2 digits from 01 to 12"},
        {"2026-00-02T03:04:05Z", "month must be"},
        {"2026-13-02T03:04:05Z", "month must be"},
        {"2026-01-00T03:04:05Z", "day must be"},
        {"2026-01-32T03:04:05Z", "day must be"},
        {"2026-04-31T03:04:05Z", "month 2026-04 has 30 days"},
        {"2026-02-29T03:04:05Z", "month 2026-02 has 28 days"},
        {"1900-02-29T03:04:05Z", "month 1900-02 has 28 days"},
        {"2024-02-30T03:04:05Z", "month 2024-02 has 29 days"},
        {"2026-01-02", "'T' must follow the day"},
        {"2026-01-02 03:04:05Z", "'T' must follow the day"},
        {"2026-01-02T24:00:00Z", "hour must be"},
        {"2026-01-02T03:60:05Z", "minute must be"},
        {"2026-01-02T03:04:60Z", "second must be"},
        {"2026-01-02T03:04Z", "':' must follow the minute"},
        {"2026-01-02T03:04:05", "'Z' or an offset"},
        {"2026-01-02T03:04:05.Z", "1 to 9 digits"},
        {"2026-01-02T03:04:05.1234567890Z", "1 to 9 digits"},
        {"2026-01-02T03:04:05+1:00", "hour of the offset"},
        {"2026-01-02T03:04:05+24:00", "hour of the offset"},
        {"2026-01-02T03:04:05+0100", "':' must follow"},
        {"2026-01-02T03:04:05+01:60", "minute of the offset"},
        {"2026-01-02T03:04:05Z ", "follows the offset"},
        {"-026-01-02T03:04:05Z", "year must be"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        time_ms at = 42;
        int r = rfc3339_parse(sv_of(rows[i].text), &at, &err);
        if (r != -EINVAL || err.code != r || at != 42 || !strstr(err.text, rows[i].says) ||
            !strstr(err.hint, "for example"))
            fail_msg("'%s': r=%d text='%s' hint='%s'", rows[i].text, r, err.text, err.hint);
        assert_int_equal(rfc3339_parse(sv_of(rows[i].text), &at, NULL), -EINVAL);
    }
}

static void test_rfc3339_format(void **state)
{
    (void)state;
    static const struct format_row seconds[] = {
        {0, "1970-01-01T00:00:00Z"},
        {-1, "1969-12-31T23:59:59Z"},
        {1767323045678, "2026-01-02T03:04:05Z"},
        {951782400000, "2000-02-29T00:00:00Z"},
        {253402300799999, "9999-12-31T23:59:59Z"},
        {-62167219200000, "0000-01-01T00:00:00Z"},
        {INT64_MAX, "292278994-08-17T07:12:55Z"},
        {INT64_MIN, "-292275055-05-16T16:47:04Z"},
    };
    static const struct format_row ms[] = {
        {-1, "1969-12-31T23:59:59.999Z"},
        {1767323045078, "2026-01-02T03:04:05.078Z"},
    };
    static const struct format_row micro[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {1767323045678, "2026-01-02T03:04:05.678000Z"},
    };
    check_format(rfc3339_format, seconds, ARRAY_LEN(seconds));
    check_format(rfc3339_format_ms, ms, ARRAY_LEN(ms));
    check_format(rfc3339_format_micro, micro, ARRAY_LEN(micro));
}

static void test_each_day_comes_back(void **state)
{
    (void)state;
    for (time_ms at = -62167219200000; at < 253402300799999; at += 7 * D + 12345678) {
        scoped_str text = {0};
        time_ms again = 0;
        rfc3339_format_ms(at, &text);
        assert_int_equal(rfc3339_parse((struct sv){text.data, text.len}, &again, NULL), 0);
        assert_true(at == again);
    }
}

static void test_each_duration_comes_back(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 11);
    for (int i = 0; i < 20000; i++) {
        time_ms ms = rng_between(&rng, -9223372036854, 9223372036854) >> rng_below(&rng, 40);
        scoped_str text = {0};
        time_ms again = 0;
        duration_format(ms, &text);
        assert_int_equal(duration_parse((struct sv){text.data, text.len}, &again, NULL), 0);
        assert_true(ms == again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duration_parse),
        cmocka_unit_test(test_duration_parse_refuses),
        cmocka_unit_test(test_duration_format),
        cmocka_unit_test(test_duration_human),
        cmocka_unit_test(test_rfc3339_parse),
        cmocka_unit_test(test_rfc3339_parse_refuses),
        cmocka_unit_test(test_rfc3339_format),
        cmocka_unit_test(test_each_day_comes_back),
        cmocka_unit_test(test_each_duration_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
