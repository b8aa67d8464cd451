// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/run_server.h"
#include "clitest.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct {
    const char *log, *warning;
} LOGS[] = {
    {"", NULL},
    {"2026-01-02T03:04:05.678Z warn spawner.version is=1\n", NULL},
    {"2026-01-02T03:04:05.678Z warn spawner.version is=1\n"
     "2026-01-02T03:04:05.678Z warn node.cgroups warning=\"no right to '/sys'\"\nmore \"x\"\n",
     "no right to '/sys'"},
    {"2026-01-02T03:04:05.678Z warn node.cgroups warning=\"cut o", "cut o"},
};

static void write_log(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_the_lack_of_control_groups_is_found_in_the_log(void **state)
{
    char dir[] = "/tmp/muster-test-run-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    struct run_server server = {.dir = mem_strdup(dir), .pidfd = -1, .out_fd = -1};
    scoped_free char *path = mem_printf("%s/server.log", dir);
    assert_null(run_server_warning(&server)); /* no log */
    for (size_t i = 0; i < ARRAY_LEN(LOGS); i++) {
        write_log(path, LOGS[i].log);
        scoped_free char *warning = run_server_warning(&server);
        if (LOGS[i].warning == NULL)
            assert_null(warning);
        else
            assert_string_equal(warning, LOGS[i].warning);
    }
    run_server_done(&server);
    assert_int_equal(access(dir, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_lack_of_control_groups_is_found_in_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
