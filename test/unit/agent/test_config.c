// SPDX-License-Identifier: Apache-2.0
#include "agent/config.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MAX 16
#define NAMES "NAMESPACE=ns", "POD_NAME=p-0", "JOBSET_NAME=j"
#define SOCKET "MUSTER_SOCKET=/run/m.sock"

static const char *const *environment;

static const char *env(const char *name)
{
    for (size_t i = 0; environment[i] != NULL; i++) {
        size_t len = strlen(name);
        if (strncmp(environment[i], name, len) == 0 && environment[i][len] == '=')
            return environment[i] + len + 1;
    }
    return NULL;
}

static int read_config(struct config *config, const char *const *vars, const char *const *words,
                       struct err *err)
{
    static char *argv[WORDS_MAX + 2];
    int argc = 0;
    argv[argc++] = (char *)"muster-agent";
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)words[argc - 1];
    argv[argc] = NULL;
    environment = vars;
    struct config_source source = {argc, argv, env, "/nonexistent"};
    *err = (struct err){0};
    return config_read(config, &source, err);
}

#define LIST(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define NONE ((const char *const[]){NULL})

static void test_the_proposals_sidecar(void **state)
{
    (void)state;
    struct config c;
    struct err err;
    assert_int_equal(
        read_config(&c, LIST(NAMES, SOCKET, "RESTART_POD_IN_PLACE_EXIT_CODE=64"), NONE, &err), 0);
    assert_true(c.is_sidecar);
    assert_string_equal(c.ns, "ns");
    assert_string_equal(c.pod, "p-0");
    assert_string_equal(c.jobset, "j");
    assert_int_equal(c.exit_code, 64);
    assert_int_equal(c.probe_port, 8080);
    assert_string_equal(c.probe_path, "/barrier-is-lifted");
    assert_string_equal(c.where.socket, "/run/m.sock");
}

static void test_upstreams_sidecar(void **state)
{
    (void)state;
    struct config c;
    struct err err;
    assert_int_equal(
        read_config(&c,
                    LIST(NAMES, "KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBERNETES_SERVICE_PORT=443",
                         "IN_PLACE_RESTART_EXIT_CODE=7", "STARTUP_PROBE_PATH=/barrier-is-down",
                         "STARTUP_PROBE_PORT=8081"),
                    NONE, &err),
        0);
    assert_true(c.is_sidecar);
    assert_null(c.where.socket);
    assert_string_equal(c.where.host, "10.0.0.1");
    assert_string_equal(c.where.port, "443");
    assert_int_equal(c.exit_code, 7);
    assert_int_equal(c.probe_port, 8081);
    assert_string_equal(c.probe_path, "/barrier-is-down");
}

static void test_a_worker(void **state)
{
    (void)state;
    struct config c;
    struct err err;
    assert_int_equal(
        read_config(&c, LIST(NAMES, SOCKET),
                    LIST("--terminate-on", "42, 100-110", "--grace=5", "--", "run", "--help"),
                    &err),
        0);
    assert_false(c.is_sidecar);
    assert_string_equal(c.command[0], "run");
    assert_string_equal(c.command[1], "--help");
    assert_null(c.command[2]);
    assert_int_equal(c.grace_s, 5);
    assert_int_equal(c.restart_grace_s, 0);
    assert_true(config_terminates_on(&c, 42));
    assert_true(config_terminates_on(&c, 100));
    assert_true(config_terminates_on(&c, 110));
    assert_false(config_terminates_on(&c, 111));
    assert_false(config_terminates_on(&c, 0));
}

static void test_a_worker_in_one_line(void **state)
{
    (void)state;
    struct config c;
    struct err err;
    assert_int_equal(
        read_config(&c, LIST(NAMES, SOCKET, "WORKER_COMMAND=a b", "SHELL=/bin/zsh"), NONE, &err),
        0);
    assert_string_equal(c.command[0], "/bin/zsh");
    assert_string_equal(c.command[1], "-c");
    assert_string_equal(c.command[2], "a b");
    assert_null(c.command[3]);
}

static void test_servers(void **state)
{
    (void)state;
    static const struct {
        const char *url, *socket, *host, *port;
    } GOOD[] = {
        {"https://h:1234", NULL, "h", "1234"},   {"https://h/", NULL, "h", "443"},
        {"https://[::1]:5", NULL, "::1", "5"},   {"https://[fe80::1]", NULL, "fe80::1", "443"},
        {"unix:///run/x", "/run/x", NULL, NULL},
    };
    struct config c;
    struct err err;
    for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
        /* An option counts more than the environment, also than its socket. */
        assert_int_equal(read_config(&c, LIST(NAMES, SOCKET), LIST("--server", GOOD[i].url), &err),
                         0);
        if (GOOD[i].socket != NULL) {
            assert_string_equal(c.where.socket, GOOD[i].socket);
            continue;
        }
        assert_null(c.where.socket);
        assert_string_equal(c.where.host, GOOD[i].host);
        assert_string_equal(c.where.port, GOOD[i].port);
    }
    static const char *const BAD[] = {"",           "h",           "http://h:1",      "https://",
                                      "https://:1", "https://h:0", "https://h:99999", "https://h:x",
                                      "unix://x"};
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
        assert_int_equal(read_config(&c, LIST(NAMES), LIST("--server", BAD[i]), &err), -EINVAL);
}

static void test_what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *env[8];
        const char *words[5];
        const char *text, *hint;
    } CASES[] = {
        {{"POD_NAME=p", "JOBSET_NAME=j", SOCKET},
         {NULL},
         "NAMESPACE is not set",
         "fieldRef metadata.namespace"},
        {{"NAMESPACE=n", "JOBSET_NAME=j", SOCKET},
         {NULL},
         "POD_NAME is not set",
         "fieldRef metadata.name"},
        {{"NAMESPACE=n", "POD_NAME=p", SOCKET}, {NULL}, "JOBSET_NAME is not set", "--jobset"},
        {{"NAMESPACE=n", "POD_NAME=a/b", "JOBSET_NAME=j", SOCKET},
         {NULL},
         "POD_NAME: 'a/b' cannot be the name",
         ""},
        {{NAMES}, {NULL}, "there is no server to talk to", "MUSTER_SOCKET"},
        {{NAMES, SOCKET}, {"--sokket=x"}, "no option '--sokket=x'", ""},
        {{NAMES, SOCKET}, {"--sokket", "x"}, "no option '--sokket'", "--socket"},
        {{NAMES, SOCKET}, {"python"}, "no option 'python'", "after '--'"},
        {{NAMES, SOCKET}, {"--grace"}, "--grace needs a value", ""},
        {{NAMES, SOCKET}, {"--"}, "no worker after", ""},
        {{NAMES, SOCKET, "RESTART_POD_IN_PLACE_EXIT_CODE=0"}, {NULL}, "from 1 to 255, not '0'", ""},
        {{NAMES, SOCKET, "RESTART_POD_IN_PLACE_EXIT_CODE=256"}, {NULL}, "not '256'", ""},
        {{NAMES, SOCKET, "STARTUP_PROBE_PORT=http"}, {NULL}, "--probe-port", ""},
        {{NAMES, SOCKET}, {"--probe-path", "x"}, "does not begin with '/'", ""},
        {{NAMES, SOCKET}, {"--terminate-on", "5-3"}, "no list of exit codes", ""},
        {{NAMES, SOCKET}, {"--terminate-on", "0"}, "no list of exit codes", ""},
        {{NAMES, SOCKET, "WORKER_COMMAND=x", "STARTUP_PROBE_PORT=1"},
         {NULL},
         "both WORKER_COMMAND",
         "remove one"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct config c;
        struct err err;
        assert_int_equal(read_config(&c, CASES[i].env, CASES[i].words, &err), -EINVAL);
        if (strstr(err.text, CASES[i].text) == NULL || strstr(err.hint, CASES[i].hint) == NULL)
            fail_msg("case %zu says '%s' and '%s'", i, err.text, err.hint);
    }
}

static void test_help_needs_nothing(void **state)
{
    (void)state;
    struct config c;
    struct err err;
    assert_int_equal(read_config(&c, NONE, LIST("--help"), &err), 0);
    assert_int_equal(c.what, CONFIG_HELP);
    assert_int_equal(read_config(&c, NONE, LIST("--version"), &err), 0);
    assert_int_equal(c.what, CONFIG_VERSION);
}

/* The text is written by hand; what counts is the table. */
static void test_help_names_all(void **state)
{
    (void)state;
    const char *const *names = NULL;
    const char *option = NULL;
    int n = 0;
    for (; (option = config_option(n, &names)) != NULL; n++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "  --%s ", option);
        if (strstr(CONFIG_HELP_TEXT, text) == NULL)
            fail_msg("help does not have%s", text);
        if (names[0] == NULL || strstr(CONFIG_HELP_TEXT, names[0]) == NULL)
            fail_msg("help does not have a variable of --%s", option);
    }
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_proposals_sidecar),
        cmocka_unit_test(test_upstreams_sidecar),
        cmocka_unit_test(test_a_worker),
        cmocka_unit_test(test_a_worker_in_one_line),
        cmocka_unit_test(test_servers),
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_help_needs_nothing),
        cmocka_unit_test(test_help_names_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
