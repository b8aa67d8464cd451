// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/sha1.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The examples of FIPS 180, and lengths around the end of a block (from sha1sum). */
static void test_known(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hex;
    } CASES[] = {
        {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
        {"default/train-w-0", "0e75ca7865d7f31ca5974cb3f7485fa6ea7d7293"},
    };
    char hex[SHA1_HEX];
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        sha1_hex(CASES[i].text, strlen(CASES[i].text), hex);
        assert_string_equal(hex, CASES[i].hex);
    }
}

static void test_million(void **state)
{
    (void)state;
    char hex[SHA1_HEX];
    scoped_free char *text = mem_alloc(1000000);
    memset(text, 'a', 1000000);
    sha1_hex(text, 1000000, hex);
    assert_string_equal(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    sha1_hex(text, 55, hex);
    assert_string_equal(hex, "c1c8bbdc22796e28c0e15163d20899b65621d65a");
    sha1_hex(text, 64, hex);
    assert_string_equal(hex, "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_million),
    };
    return cmocka_run_group_tests_name("sha1", tests, NULL, NULL);
}
