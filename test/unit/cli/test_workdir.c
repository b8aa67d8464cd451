// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/mem.h"
#include "cli/workdir.h"
#include "clitest.h"

static const struct {
    const char *before, *after;
} ROWS[] = {
    {"{\"spec\":{\"initContainers\":[{\"name\":\"i\"}],\"containers\":[{\"name\":\"a\"},{\"name\":"
     "\"b\",\"workingDir\":\"/x\"}]}}",
     "{\"spec\":{\"initContainers\":[{\"name\":\"i\",\"workingDir\":\"/here\"}],\"containers\":[{"
     "\"name\":\"a\",\"workingDir\":\"/here\"},{\"name\":\"b\",\"workingDir\":\"/x\"}]}}"},
    {"{\"spec\":{\"template\":{\"spec\":{\"containers\":[{}]}}}}",
     "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"workingDir\":\"/here\"}]}}}}"},
    {"{\"spec\":{\"replicatedJobs\":[{\"template\":{\"spec\":{\"template\":{\"spec\":{"
     "\"containers\":[{}]}}}}}]}}",
     "{\"spec\":{\"replicatedJobs\":[{\"template\":{\"spec\":{\"template\":{\"spec\":{"
     "\"containers\":[{\"workingDir\":\"/here\"}]}}}}}]}}"},
    {"{\"data\":{\"containers\":\"text\"},\"spec\":{\"containers\":[3]}}",
     "{\"data\":{\"containers\":\"text\"},\"spec\":{\"containers\":[3]}}"},
};

static void test_containers_get_a_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json_mut *doc = NULL;
        scoped_str got = {0};
        assert_int_equal(json_parse_mut(sv_of(ROWS[i].before), &doc, NULL), 0);
        workdir_fill(doc, "/here");
        json_write(yyjson_mut_doc_get_root(doc), &got);
        assert_string_equal(str_text(&got), ROWS[i].after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_containers_get_a_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
