// SPDX-License-Identifier: Apache-2.0
/* Files of nodes: what they come to, and where mistakes are told to be. */
#include "base/mem.h"
#include "cli/nodesfile.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* "name cpu/memory/pods label ...; ...", or the error without the file's name. */
static void read_text(const char *text, struct str *out)
{
    struct cli cli = {.out = stdout, .err = stderr};
    struct nodes_file nodes = {0};
    struct err err = {0};
    char path[] = "/tmp/test-nodes-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    int r = nodes_file_read(&cli, path, &nodes, &err);
    (void)unlink(path);
    if (r < 0) {
        str_add(out, str_starts(err.text, path) ? err.text + strlen(path) : err.text);
        return;
    }
    for (size_t i = 0; i < nodes.list.len; i++) {
        const struct nodes_item *item = &nodes.list.items[i];
        str_addf(out, "%s%s %" PRId64 "/%" PRId64 "/%" PRId64, i > 0 ? "; " : "", item->name,
                 item->cpu_milli, item->memory_bytes, item->pods_max);
        for (size_t k = 0; item->labels.items[k] != NULL; k++)
            str_addf(out, " %s", item->labels.items[k]);
    }
    nodes_file_done(&nodes);
}

static const struct {
    const char *text, *want;
} ROWS[] = {
    {"nodes: [{name: a}]", "a 0/0/0"},
    {"nodes:\n- {name: a, count: 2, labels: {zone: x}, capacity: {cpu: 500m, memory: 1Ki, pods: "
     "7}}\n- name: b\n",
     "a-0 500/1024/7 zone=x; a-1 500/1024/7 zone=x; b 0/0/0"},
    {"apiVersion: v1\nkind: Node\nmetadata: {name: node, labels: {zone: z}}\nstatus: {capacity: "
     "{cpu: "
     "2}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
     "node 2000/0/0 zone=z"},
    {"nodes:\n- {name: a}\n- {name: a}\n", ":3:3: there are two nodes called a"},
    {"nodes:\n- {nmae: a}\n", ":2:10: nodes[0].nmae: unknown field ..."},
    {"nodes:\n- {name: A_b}\n", ":2:10: nodes[0].name: Invalid value: ..."},
    {"nodes: []\n", ":1:8: nodes: ..."},
    {"nodes:\n- {name: a, labels: {a b: c}}\n", ":2:27: nodes[0].labels: ..."},
    {"nodes:\n- {name: a, labels: {zone: a b}}\n", ":2:28: nodes[0].labels[zone]: ..."},
    {"nodes:\n- {name: a, capacity: {cpu: lots}}\n", ":2:29: nodes[0].capacity.cpu: ..."},
    {"", ": there is no node in it"},
};

static void test_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_str is = {0};
        read_text(ROWS[i].text, &is);
        size_t len = strlen(ROWS[i].want);
        bool open = str_ends(ROWS[i].want, "...");
        bool fits = open ? strncmp(str_text(&is), ROWS[i].want, len - 3) == 0
                         : str_eq(str_text(&is), ROWS[i].want);
        if (!fits)
            fail_msg("row %zu: \"%s\" instead of \"%s\"", i, str_text(&is), ROWS[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
