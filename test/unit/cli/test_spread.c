// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/describe.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static yyjson_doc *parse(const char *text)
{
    scoped_free char *json = mem_strdup(text);
    yyjson_doc *doc = NULL;
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    assert_int_equal(json_parse(sv_of(json), &doc, NULL), 0);
    return doc;
}

#define BAR10 "██████████"

static void test_bars(void **state)
{
    (void)state;
    scoped_json *vpod = parse(
        "{'status':{'pending':2,'placements':[{'podName':'p-10','vreplicas':1},{'podName':'p-2',"
        "'vreplicas':2},{'podName':'p-0','vreplicas':1},{'podName':'p-3','vreplicas':1}]}}");
    scoped_json *pods =
        parse("{'items':[{'metadata':{'name':'p-0'},'spec':{'nodeName':'b0'}},{'metadata':{'name':"
              "'p-2'},'spec':{'nodeName':'a0'}},{'metadata':{'name':'p-10'},'spec':{'nodeName':"
              "'a0'}},{'metadata':{'name':'p-3'},'spec':{}}]}");
    scoped_json *nodes = parse(
        "{'items':[{'metadata':{'name':'a0','labels':{'topology.kubernetes.io/zone':'a'}},'spec':{"
        "'unschedulable':true}},{'metadata':{'name':'b0','labels':{'topology.kubernetes.io/zone':"
        "'b'}},'spec':{}}]}");
    scoped_str out = {0};
    describe_spread(yyjson_doc_get_root(vpod), yyjson_doc_get_root(pods),
                    yyjson_doc_get_root(nodes), &out);
    static const char WANT[] = "Spread:\n"
                               "  <no zone>               " BAR10 " 1\n"
                               "    <no node>             " BAR10 " 1\n"
                               "      p-3                 " BAR10 " 1\n"
                               "  a                       " BAR10 BAR10 BAR10 " 3\n"
                               "    a0                    " BAR10 BAR10 BAR10 " 3 cordoned\n"
                               "      p-2                 " BAR10 BAR10 " 2\n"
                               "      p-10                " BAR10 " 1\n"
                               "  b                       " BAR10 " 1\n"
                               "    b0                    " BAR10 " 1\n"
                               "      p-0                 " BAR10 " 1\n"
                               "  2 without a place\n";
    assert_string_equal(str_text(&out), WANT);
}

static void test_nothing(void **state)
{
    (void)state;
    scoped_json *vpod = parse("{'status':{}}");
    scoped_str out = {0};
    describe_spread(yyjson_doc_get_root(vpod), NULL, NULL, &out);
    assert_string_equal(str_text(&out), "Spread:  <none>\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bars), cmocka_unit_test(test_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
