// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/remote.h"
#include "clitest.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *server;
    bool ok;
} SERVERS[] = {
    {"unix:/run/x.sock", true},
    {"https://host:6443", true},
    {"https://host", true},
    {"https://[::1]:6443/", true},
    {"http://127.0.0.1:8080", true},
    {"http://localhost", true},
    {"http://[::1]:80", true},
    {"http://example.com", false}, /* a token must not cross a network in clear */
    {"unix:", false},
    {"tcp://host", false},
    {"host:80", false},
    {"", false},
    {"https://", false},
    {"https://:80", false},
    {"https://host:0", false},
    {"https://host:65536", false},
    {"https://host:http", false},
    {"https://host:", false},
    {"https://host/path", false},
    {"https://[::1", false},
    {"https://[::1]x", false},
};

static void test_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(SERVERS); i++) {
        struct err err = {0};
        struct remote remote = {0};
        struct address address = {.server = (char *)SERVERS[i].server};
        int r = remote_open(&address, &remote, &err);
        if ((r == 0) != SERVERS[i].ok)
            fail_msg("'%s': %d %s", SERVERS[i].server, r, err.text);
        if (r == 0)
            assert_string_equal(remote.label, SERVERS[i].server);
        else
            assert_null(remote.self);
        remote_close(&remote);
    }
}

static void test_bad_authority(void **state)
{
    (void)state;
    struct err err = {0};
    struct remote remote = {0};
    struct address address = {.server = (char *)"https://h", .ca_pem = (char *)"no certificate"};
    assert_int_equal(remote_open(&address, &remote, &err), -EINVAL);
    assert_string_equal(err.text, "the certificate authority holds no certificate");
}

#define CONTEXT "contexts:\n- name: c\n  context: {cluster: k, user: u, namespace: team}\n"
#define CLUSTER                                                                                    \
    "clusters:\n- name: k\n  cluster: {server: 'https://h:1', certificate-authority-data: "
#define USER "users:\n- name: u\n  user: {token: secret}\n"

static const struct {
    const char *text;
    const char *problem; /* part of the error; NULL: fine */
} CONFIGS[] = {
    {"current-context: c\n" CONTEXT CLUSTER "aGVsbG8K}\n" USER, NULL},
    {CONTEXT CLUSTER "aGVsbG8K}\n" USER, "it names no current-context"},
    {"current-context: d\n" CONTEXT CLUSTER "aGVsbG8K}\n" USER, "it has no context 'd'"},
    {"current-context: c\n" CONTEXT USER, "it has no cluster 'k'"},
    {"current-context: c\n" CONTEXT CLUSTER "'%%%'}\n" USER, "is not base64"},
    {"current-context: c\n" CONTEXT "clusters:\n- name: k\n", "has no server"},
    {"current-context: [\n", ":"},
    {"a: 1\n---\nb: 2\n", "exactly one document"},
};

static void write_file(char *path, const char *text)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static void test_kubeconfig(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CONFIGS); i++) {
        char path[] = "/tmp/test_remote_XXXXXX";
        struct err err = {0};
        struct address address = {0};
        write_file(path, CONFIGS[i].text);
        int r = kubeconfig_read(path, &address, &err);
        (void)unlink(path);
        if ((r == 0) != (CONFIGS[i].problem == NULL))
            fail_msg("config %zu: %d %s", i, r, err.text);
        if (CONFIGS[i].problem != NULL) {
            assert_non_null(strstr(err.text, CONFIGS[i].problem));
        } else {
            assert_string_equal(address.server, "https://h:1");
            assert_string_equal(address.ca_pem, "hello\n");
            assert_string_equal(address.token, "secret");
            assert_string_equal(address.namespace_, "team");
        }
        address_done(&address);
    }
}

/* Authority and token in files of their own, beside the kubeconfig. */
static void test_kubeconfig_files(void **state)
{
    (void)state;
    char path[] = "/tmp/test_remote_XXXXXX";
    char token[] = "/tmp/test_remote_XXXXXX";
    scoped_str text = {0};
    struct err err = {0};
    struct address address = {0};
    write_file(token, "from-a-file");
    str_addf(&text,
             "current-context: c\n" CONTEXT "clusters:\n- name: k\n  cluster: {server: 'https://h',"
             " certificate-authority: %s}\nusers:\n- name: u\n  user: {tokenFile: %s}\n",
             strrchr(token, '/') + 1, token);
    write_file(path, str_text(&text));
    int r = kubeconfig_read(path, &address, &err);
    (void)unlink(path);
    (void)unlink(token);
    if (r < 0)
        fail_msg("%s", err.text);
    assert_string_equal(address.token, "from-a-file");
    assert_string_equal(address.ca_pem, "from-a-file");
    address_done(&address);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_servers),
        cmocka_unit_test(test_bad_authority),
        cmocka_unit_test(test_kubeconfig),
        cmocka_unit_test(test_kubeconfig_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
