// SPDX-License-Identifier: Apache-2.0
#include "model/schema.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define X10 "xxxxxxxxxx"
#define X63 X10 X10 X10 X10 X10 X10 "xxx"
#define X253 X63 "." X63 "." X63 "." X10 X10 X10 X10 X10 X10 "x"

struct row {
    enum fformat format;
    const char *text;
    bool good;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *why = format_problem(rows[i].format, rows[i].text, strlen(rows[i].text));
        if ((why == NULL) != rows[i].good)
            fail_msg("format %d, '%s': %s", (int)rows[i].format, rows[i].text,
                     why == NULL ? "accepted" : why);
    }
}

static void test_dns(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {FMT_NONE, "\x01 anything", true},    {FMT_DNS_LABEL, "a", true},
        {FMT_DNS_LABEL, "0-a", true},         {FMT_DNS_LABEL, X63, true},
        {FMT_DNS_LABEL, X63 "x", false},      {FMT_DNS_LABEL, "", false},
        {FMT_DNS_LABEL, "A", false},          {FMT_DNS_LABEL, "-a", false},
        {FMT_DNS_LABEL, "a-", false},         {FMT_DNS_LABEL, "a.b", false},
        {FMT_DNS_LABEL, "a_b", false},        {FMT_DNS_LABEL, "\xc3\xa4", false},
        {FMT_DNS_SUBDOMAIN, "a.b-c.0", true}, {FMT_DNS_SUBDOMAIN, X253, true},
        {FMT_DNS_SUBDOMAIN, X253 "x", false}, {FMT_DNS_SUBDOMAIN, "", false},
        {FMT_DNS_SUBDOMAIN, ".", false},      {FMT_DNS_SUBDOMAIN, "a.", false},
        {FMT_DNS_SUBDOMAIN, ".a", false},     {FMT_DNS_SUBDOMAIN, "a..b", false},
        {FMT_DNS_SUBDOMAIN, "a.-b", false},
    };
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_labels(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {FMT_QUALIFIED, "app", true},         {FMT_QUALIFIED, "kubernetes.io/App_name.x", true},
        {FMT_QUALIFIED, X253 "/" X63, true},  {FMT_QUALIFIED, X253 "x/a", false},
        {FMT_QUALIFIED, "a/" X63 "x", false}, {FMT_QUALIFIED, "", false},
        {FMT_QUALIFIED, "/a", false},         {FMT_QUALIFIED, "a/", false},
        {FMT_QUALIFIED, "a/b/c", false},      {FMT_QUALIFIED, "A/b", false},
        {FMT_QUALIFIED, "-a", false},         {FMT_QUALIFIED, "a b", false},
        {FMT_LABEL_VALUE, "", true},          {FMT_LABEL_VALUE, "A_b.c-1", true},
        {FMT_LABEL_VALUE, X63, true},         {FMT_LABEL_VALUE, X63 "x", false},
        {FMT_LABEL_VALUE, "_a", false},       {FMT_LABEL_VALUE, "a.", false},
        {FMT_LABEL_VALUE, "a/b", false},
    };
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_other(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {FMT_DNS_NAME, "a", true},
        {FMT_DNS_NAME, "a-0", true},
        {FMT_DNS_NAME, X63, true},
        {FMT_DNS_NAME, X63 "x", false},
        {FMT_DNS_NAME, "", false},
        {FMT_DNS_NAME, "0-a", false},
        {FMT_DNS_NAME, "a-", false},
        {FMT_DNS_NAME, "a.b", false},
        {FMT_DNS_NAME, "A", false},
        {FMT_ENV_NAME, "HOME", true},
        {FMT_ENV_NAME, "my var-1.x", true},
        {FMT_ENV_NAME, "", false},
        {FMT_ENV_NAME, "A=B", false},
        {FMT_ENV_NAME, "A\n", false},
        {FMT_ENV_NAME, "\xc3\xa4", false},
        {FMT_CONFIG_KEY, "a.B_c-1", true},
        {FMT_CONFIG_KEY, ".hidden", true},
        {FMT_CONFIG_KEY, "", false},
        {FMT_CONFIG_KEY, ".", false},
        {FMT_CONFIG_KEY, "..", false},
        {FMT_CONFIG_KEY, "..x", false},
        {FMT_CONFIG_KEY, "a/b", false},
        {FMT_CONFIG_KEY, X253 "x", false},
        {FMT_PORT_NAME, "http", true},
        {FMT_PORT_NAME, "8080-a", true},
        {FMT_PORT_NAME, "abcdefghijklmno", true},
        {FMT_PORT_NAME, "abcdefghijklmnop", false},
        {FMT_PORT_NAME, "", false},
        {FMT_PORT_NAME, "8080", false},
        {FMT_PORT_NAME, "a--b", false},
        {FMT_PORT_NAME, "-a", false},
        {FMT_PORT_NAME, "a-", false},
        {FMT_PORT_NAME, "Http", false},
        {FMT_ABSOLUTE_PATH, "/", true},
        {FMT_ABSOLUTE_PATH, "/a b", true},
        {FMT_ABSOLUTE_PATH, "", false},
        {FMT_ABSOLUTE_PATH, "a/b", false},
        {FMT_IP, "10.0.0.1", true},
        {FMT_IP, "::1", true},
        {FMT_IP, "2001:db8::ffff", true},
        {FMT_IP, "", false},
        {FMT_IP, "10.0.0", false},
        {FMT_IP, "10.0.0.256", false},
        {FMT_IP, "10.0.0.1 ", false},
        {FMT_IP, "1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:1111:2222", false},
        {FMT_UUID, "123e4567-e89b-12d3-a456-426614174000", true},
        {FMT_UUID, "123E4567-E89B-12D3-A456-426614174000", true},
        {FMT_UUID, "123e4567-e89b-12d3-a456-42661417400", false},
        {FMT_UUID, "123e4567-e89b-12d3-a456-4266141740000", false},
        {FMT_UUID, "123e4567+e89b-12d3-a456-426614174000", false},
        {FMT_UUID, "g23e4567-e89b-12d3-a456-426614174000", false},
    };
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_nul(void **state)
{
    (void)state;
    for (int format = FMT_NONE + 1; format <= FMT_UUID; format++)
        assert_non_null(format_problem((enum fformat)format, "/1\0a", 4));
    assert_non_null(format_problem(FMT_IP, "::1\0", 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dns),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_other),
        cmocka_unit_test(test_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
