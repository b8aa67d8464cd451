// SPDX-License-Identifier: Apache-2.0
#include "agent/config.h"
#include "base/mem.h"
#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_CODE_DEFAULT 1 /* upstream's */
#define PORT_DEFAULT 8080
#define PATH_DEFAULT "/barrier-is-lifted"
#define GRACE_DEFAULT_S 30
#define SECONDS_MAX 86400

enum option {
    OPT_SOCKET,
    OPT_SERVER,
    OPT_CA,
    OPT_TOKEN_FILE,
    OPT_NAMESPACE,
    OPT_POD,
    OPT_POD_UID,
    OPT_JOBSET,
    OPT_EXIT_CODE,
    OPT_PROBE_PATH,
    OPT_PROBE_PORT,
    OPT_GRACE,
    OPT_RESTART_GRACE,
    OPT_TERMINATE_ON,
    OPT_COUNT,
};

/* The first variable that is set counts. */
static const struct {
    const char *name;
    const char *env[CONFIG_ENV_MAX];
} OPTIONS[OPT_COUNT] = {
    [OPT_SOCKET] = {"socket", {"MUSTER_SOCKET"}},
    [OPT_SERVER] = {"server", {"MUSTER_SERVER"}},
    [OPT_CA] = {"ca", {"MUSTER_CA"}},
    [OPT_TOKEN_FILE] = {"token-file", {"MUSTER_TOKEN_FILE"}},
    [OPT_NAMESPACE] = {"namespace", {"NAMESPACE", "MUSTER_NAMESPACE"}},
    [OPT_POD] = {"pod", {"POD_NAME", "MUSTER_POD"}},
    [OPT_POD_UID] = {"pod-uid", {"POD_UID", "MUSTER_POD_UID"}},
    [OPT_JOBSET] = {"jobset", {"JOBSET_NAME", "MUSTER_JOBSET"}},
    [OPT_EXIT_CODE] = {"exit-code",
                       {"RESTART_POD_IN_PLACE_EXIT_CODE", "IN_PLACE_RESTART_EXIT_CODE"}},
    [OPT_PROBE_PATH] = {"probe-path", {"STARTUP_PROBE_PATH"}},
    [OPT_PROBE_PORT] = {"probe-port", {"STARTUP_PROBE_PORT"}},
    [OPT_GRACE] = {"grace", {"MUSTER_GRACE"}},
    [OPT_RESTART_GRACE] = {"restart-grace", {"MUSTER_RESTART_GRACE"}},
    [OPT_TERMINATE_ON] = {"terminate-on", {"MUSTER_TERMINATE_ON"}},
};

const char CONFIG_HELP_TEXT[] =
    "muster-agent: the companion of one member of a JobSet that restarts in place.\n"
    "\n"
    "usage: muster-agent [OPTION...] -- WORKER [ARG...]   as the worker's parent\n"
    "       muster-agent [OPTION...]                      as a sidecar beside it\n"
    "\n"
    "As parent it starts the worker once all members are at the barrier, tells of its death\n"
    "the moment it happens, and starts it again with all others. As sidecar it answers the\n"
    "startup probe that holds the worker's container back, and ends with --exit-code when the\n"
    "pod has to restart.\n"
    "\n"
    "Who it is:\n"
    "  --namespace NAME       of pod and JobSet (NAMESPACE, else the service account's)\n"
    "  --pod NAME             the pod it runs in (POD_NAME)\n"
    "  --jobset NAME          the JobSet it belongs to (JOBSET_NAME)\n"
    "  --pod-uid UID          of that pod: speaks for no other of this name (POD_UID)\n"
    "Where the server is:\n"
    "  --socket PATH          its unix socket (MUSTER_SOCKET)\n"
    "  --server URL           https://HOST:PORT or unix://PATH (MUSTER_SERVER, else\n"
    "                         KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT)\n"
    "  --ca FILE              authority of its certificate (MUSTER_CA, else the service\n"
    "                         account's)\n"
    "  --token-file FILE      bearer token (MUSTER_TOKEN_FILE, else MUSTER_TOKEN, else the\n"
    "                         service account's)\n"
    "As parent:\n"
    "  --terminate-on CODES   exit codes of the worker that no restart can help, such as\n"
    "                         42,100-110: the agent ends with that code (MUSTER_TERMINATE_ON)\n"
    "  --restart-grace S      seconds from SIGTERM to SIGKILL when all restart; 0: SIGKILL at\n"
    "                         once (MUSTER_RESTART_GRACE; default 0)\n"
    "  --grace S              the same when the agent itself is told to end (MUSTER_GRACE;\n"
    "                         default 30)\n"
    "As sidecar:\n"
    "  --exit-code N          asks for the restart of the pod\n"
    "                         (RESTART_POD_IN_PLACE_EXIT_CODE, IN_PLACE_RESTART_EXIT_CODE;\n"
    "                         default 1)\n"
    "  --probe-port N         of the startup probe (STARTUP_PROBE_PORT; default 8080)\n"
    "  --probe-path PATH      (STARTUP_PROBE_PATH; default /barrier-is-lifted)\n"
    "Both:\n"
    "  --quiet                tell only what goes wrong\n"
    "  --help, --version\n"
    "\n"
    "The worker has MUSTER_EPOCH, which counts from 1, in its environment. WORKER_COMMAND is\n"
    "the worker as one line for $SHELL, where no arguments can be given.\n"
    "\n"
    "examples:\n"
    "  muster-agent -- python3 train.py --resume\n"
    "      in a pod of a JobSet with restartStrategy: InPlaceRestart\n"
    "  muster-agent --terminate-on 42 -- ./train\n"
    "      exit code 42 fails the pod instead of restarting everybody\n"
    "  muster-agent --socket ~/.local/state/muster/muster.sock --namespace default \\\n"
    "      --jobset train --pod train-workers-0-0-abcde -- ./train\n"
    "      by hand\n"
    "\n"
    "exit codes: the worker's, 128+N when it was ended by signal N; 143 when the JobSet ended\n"
    "before it; 2 wrong usage.\n";

const char *config_option(int index, const char *const **ret_env)
{
    if (index >= OPT_COUNT)
        return NULL;
    *ret_env = OPTIONS[index].env;
    return OPTIONS[index].name;
}

static const char *env_of(const struct config_source *source, const char *name)
{
    const char *value = source->env(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

/* ---- the command line ---- */

/* "--name value" and "--name=value". 1: taken; 0: not an option of ours. */
static int take_option(const struct config_source *source, int *at, const char *values[],
                       struct err *err)
{
    const char *word = source->argv[*at] + 2;
    for (int i = 0; i < OPT_COUNT; i++) {
        size_t len = strlen(OPTIONS[i].name);
        if (strncmp(word, OPTIONS[i].name, len) != 0 || (word[len] != '\0' && word[len] != '='))
            continue;
        if (word[len] == '=')
            values[i] = word + len + 1;
        else if (*at + 1 < source->argc)
            values[i] = source->argv[++*at];
        else
            return err_set(err, -EINVAL, "--%s needs a value", OPTIONS[i].name);
        return 1;
    }
    return 0;
}

static int unknown_option(const char *word, struct err *err)
{
    const char *names[OPT_COUNT];
    for (int i = 0; i < OPT_COUNT; i++)
        names[i] = OPTIONS[i].name;
    (void)err_set(err, -EINVAL, "there is no option '%s'", word);
    const char *near =
        word[0] == '-' && word[1] == '-' ? str_nearest(word + 2, names, OPT_COUNT) : NULL;
    if (near != NULL)
        return err_hint(err, "did you mean --%s? See muster-agent --help", near);
    return err_hint(err, "see muster-agent --help; the worker's own words come after '--'");
}

static int read_words(struct config *config, const struct config_source *source,
                      const char *values[], struct err *err)
{
    for (int i = 1; i < source->argc; i++) {
        const char *word = source->argv[i];
        if (strcmp(word, "--") == 0) {
            config->command = &source->argv[i + 1];
            if (*config->command == NULL)
                return err_set(err, -EINVAL, "no worker after '--'");
            return 0;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            config->what = CONFIG_HELP;
            return 0;
        }
        if (strcmp(word, "--version") == 0) {
            config->what = CONFIG_VERSION;
            return 0;
        }
        if (strcmp(word, "--quiet") == 0) {
            config->is_quiet = true;
            continue;
        }
        int r = strncmp(word, "--", 2) == 0 ? take_option(source, &i, values, err) : 0;
        if (r <= 0)
            return r < 0 ? r : unknown_option(word, err);
    }
    return 0;
}

static void read_env(const struct config_source *source, const char *values[])
{
    for (int i = 0; i < OPT_COUNT; i++) {
        for (size_t k = 0; k < ARRAY_LEN(OPTIONS[i].env) && values[i] == NULL; k++) {
            if (OPTIONS[i].env[k] != NULL)
                values[i] = env_of(source, OPTIONS[i].env[k]);
        }
    }
}

/* ---- numbers ---- */

static bool parse_number(const char *text, int min, int max, int *ret_number)
{
    int number = 0;
    if (*text == '\0')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (*text - '0');
        if (number > max)
            return false;
    }
    if (*text != '\0' || number < min)
        return false;
    *ret_number = number;
    return true;
}

struct range {
    enum option option;
    int min, max, fallback;
};

static int take_number(const char *values[], struct range range, int *ret_number, struct err *err)
{
    *ret_number = range.fallback;
    const char *text = values[range.option];
    if (text == NULL || parse_number(text, range.min, range.max, ret_number))
        return 0;
    const char *env = OPTIONS[range.option].env[0];
    return err_set(err, -EINVAL, "--%s (%s) must be a number from %d to %d, not '%s'",
                   OPTIONS[range.option].name, env, range.min, range.max, text);
}

/* "42,100-110" */
static int take_codes(struct config *config, const char *text, struct err *err)
{
    struct sv rest = sv_of(text);
    while (rest.len > 0) {
        struct sv part = sv_trim(sv_cut(&rest, ','));
        struct sv first = sv_cut(&part, '-');
        char from[8], to[8];
        struct sv last = part.len > 0 ? part : first;
        int low = 0, high = 0;
        bool fits = first.len < sizeof(from) && last.len < sizeof(to);
        if (fits) {
            (void)snprintf(from, sizeof(from), "%.*s", (int)first.len, first.ptr);
            (void)snprintf(to, sizeof(to), "%.*s", (int)last.len, last.ptr);
        }
        if (!fits || !parse_number(from, 1, 255, &low) || !parse_number(to, low, 255, &high))
            return err_set(err, -EINVAL,
                           "--terminate-on: '%s' is no list of exit codes such as 42,100-110",
                           text);
        if (config->n_terminate_on + 2 > CODES_MAX)
            return err_set(err, -EINVAL, "--terminate-on: more than %d codes or ranges",
                           CODES_MAX / 2);
        config->terminate_on[config->n_terminate_on++] = low;
        config->terminate_on[config->n_terminate_on++] = high;
    }
    return 0;
}

bool config_terminates_on(const struct config *config, int code)
{
    for (int i = 0; i + 1 < config->n_terminate_on; i += 2) {
        if (code >= config->terminate_on[i] && code <= config->terminate_on[i + 1])
            return true;
    }
    return false;
}

static int read_numbers(struct config *config, const char *values[], struct err *err)
{
    const struct {
        struct range range;
        int *to;
    } NUMBERS[] = {
        {{OPT_EXIT_CODE, 1, 255, EXIT_CODE_DEFAULT}, &config->exit_code},
        {{OPT_PROBE_PORT, 1, 65535, PORT_DEFAULT}, &config->probe_port},
        {{OPT_GRACE, 0, SECONDS_MAX, GRACE_DEFAULT_S}, &config->grace_s},
        {{OPT_RESTART_GRACE, 0, SECONDS_MAX, 0}, &config->restart_grace_s},
    };
    for (size_t i = 0; i < ARRAY_LEN(NUMBERS); i++) {
        int r = take_number(values, NUMBERS[i].range, NUMBERS[i].to, err);
        if (r < 0)
            return r;
    }
    const char *codes = values[OPT_TERMINATE_ON];
    return codes != NULL ? take_codes(config, codes, err) : 0;
}

/* ---- who ---- */

/* Names go into addresses and selectors as they are. */
static bool is_name(const char *text)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.");
    return len > 0 && len < 254 && text[len] == '\0';
}

static const char *namespace_of_account(struct config *config, const char *secrets)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/namespace", secrets);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t len = read(fd, config->ns_text, sizeof(config->ns_text) - 1);
    (void)close(fd); /* only read from */
    if (len <= 0)
        return NULL;
    config->ns_text[len] = '\0';
    config->ns_text[strcspn(config->ns_text, "\r\n ")] = '\0';
    return config->ns_text;
}

static int read_identity(struct config *config, const struct config_source *source,
                         const char *values[], struct err *err)
{
    if (values[OPT_NAMESPACE] == NULL)
        values[OPT_NAMESPACE] = namespace_of_account(config, source->secrets);
    const struct {
        enum option option;
        const char **to;
        const char *field;
    } NAMES[] = {
        {OPT_NAMESPACE, &config->ns, "metadata.namespace"},
        {OPT_POD, &config->pod, "metadata.name"},
        {OPT_JOBSET, &config->jobset, "metadata.annotations['jobset.sigs.k8s.io/jobset-name']"},
    };
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        const char *value = values[NAMES[i].option];
        const char *variable = OPTIONS[NAMES[i].option].env[0];
        if (value == NULL) {
            (void)err_set(err, -EINVAL, "%s is not set", variable);
            return err_hint(err, "give the container env %s from fieldRef %s, or use --%s",
                            variable, NAMES[i].field, OPTIONS[NAMES[i].option].name);
        }
        if (!is_name(value))
            return err_set(err, -EINVAL, "%s: '%s' cannot be the name of an object", variable,
                           value);
        *NAMES[i].to = value;
    }
    config->pod_uid = values[OPT_POD_UID];
    return 0;
}

/* ---- where ---- */

static int bad_server(const char *url, struct err *err)
{
    (void)err_set(err, -EINVAL, "--server: '%s' is no address of a server", url);
    return err_hint(err, "write https://HOST:PORT or unix:///PATH");
}

static int parse_server(struct where *where, const char *url, struct err *err)
{
    if (str_starts(url, "unix://") && url[7] == '/') {
        where->socket = url + 7;
        return 0;
    }
    if (!str_starts(url, "https://"))
        return bad_server(url, err);
    struct sv rest = sv_of(url + strlen("https://"));
    while (rest.len > 0 && rest.ptr[rest.len - 1] == '/')
        rest.len--;
    struct sv host, port = SV("443");
    if (rest.len > 0 && rest.ptr[0] == '[') { /* an IPv6 address */
        rest.ptr++, rest.len--;
        host = sv_cut(&rest, ']');
        if (rest.len > 0 && rest.ptr[0] == ':')
            port = (struct sv){rest.ptr + 1, rest.len - 1};
    } else {
        host = sv_cut(&rest, ':');
        if (rest.len > 0)
            port = rest;
    }
    int number = 0;
    if (host.len == 0 || host.len >= sizeof(where->host) || port.len >= sizeof(where->port))
        return bad_server(url, err);
    (void)snprintf(where->host, sizeof(where->host), "%.*s", (int)host.len, host.ptr);
    (void)snprintf(where->port, sizeof(where->port), "%.*s", (int)port.len, port.ptr);
    return parse_number(where->port, 1, 65535, &number) ? 0 : bad_server(url, err);
}

static int in_cluster(struct where *where, const struct config_source *source, struct err *err)
{
    const char *host = env_of(source, "KUBERNETES_SERVICE_HOST");
    const char *port = env_of(source, "KUBERNETES_SERVICE_PORT");
    int number = 0;
    if (host == NULL) {
        (void)err_set(err, -EINVAL, "there is no server to talk to");
        return err_hint(err, "set MUSTER_SOCKET or MUSTER_SERVER, or use --socket or --server; in "
                             "a pod of Kubernetes KUBERNETES_SERVICE_HOST is set");
    }
    int n = snprintf(where->host, sizeof(where->host), "%s", host);
    (void)snprintf(where->port, sizeof(where->port), "%.7s", port != NULL ? port : "443");
    if (n >= (int)sizeof(where->host) || !parse_number(where->port, 1, 65535, &number))
        return err_set(err, -EINVAL, "KUBERNETES_SERVICE_HOST and _PORT: '%s', '%s'", host, port);
    return 0;
}

static void read_secrets(struct where *where, const struct config_source *source,
                         const char *values[])
{
    static char ca[256], token[256];
    where->ca_file = values[OPT_CA];
    where->token_file = values[OPT_TOKEN_FILE];
    where->token = env_of(source, "MUSTER_TOKEN");
    if (where->socket != NULL)
        return;
    (void)snprintf(ca, sizeof(ca), "%s/ca.crt", source->secrets);
    (void)snprintf(token, sizeof(token), "%s/token", source->secrets);
    if (where->ca_file == NULL && access(ca, R_OK) == 0)
        where->ca_file = ca;
    if (where->token_file == NULL && where->token == NULL && access(token, R_OK) == 0)
        where->token_file = token;
}

/* A server that was named on the command line is not overruled by a socket in the environment. */
static int read_server(struct config *config, const struct config_source *source,
                       const char *values[], const char *given[], struct err *err)
{
    int r = 0;
    bool is_server = given[OPT_SERVER] != NULL && given[OPT_SOCKET] == NULL;
    if (values[OPT_SOCKET] != NULL && !is_server)
        config->where.socket = values[OPT_SOCKET];
    else if (values[OPT_SERVER] != NULL)
        r = parse_server(&config->where, values[OPT_SERVER], err);
    else
        r = in_cluster(&config->where, source, err);
    if (r == 0)
        read_secrets(&config->where, source, values);
    return r;
}

/* ---- sidecar or parent ---- */

static int read_mode(struct config *config, const struct config_source *source,
                     const char *values[], struct err *err)
{
    const char *line = env_of(source, "WORKER_COMMAND");
    const char *shell = env_of(source, "SHELL");
    if (line != NULL && config->command == NULL) {
        if (values[OPT_PROBE_PORT] != NULL || values[OPT_PROBE_PATH] != NULL) {
            (void)err_set(err, -EINVAL, "both WORKER_COMMAND and STARTUP_PROBE_PORT or _PATH");
            return err_hint(err, "a worker of its own needs no probe: remove one of them");
        }
        config->shell[0] = (char *)(shell != NULL ? shell : "/bin/sh");
        config->shell[1] = (char *)"-c";
        config->shell[2] = (char *)line;
        config->command = config->shell;
    }
    config->is_sidecar = config->command == NULL;
    config->probe_path = values[OPT_PROBE_PATH] != NULL ? values[OPT_PROBE_PATH] : PATH_DEFAULT;
    config->probe_address = env_of(source, "MUSTER_BARRIER_ADDRESS");
    if (config->probe_path[0] != '/')
        return err_set(err, -EINVAL, "--probe-path: '%s' does not begin with '/'",
                       config->probe_path);
    return 0;
}

int config_read(struct config *config, const struct config_source *source, struct err *err)
{
    *config = (struct config){0};
    const char *given[OPT_COUNT] = {0}, *values[OPT_COUNT];
    int r = read_words(config, source, given, err);
    if (r < 0 || config->what != CONFIG_RUN)
        return r;
    memcpy(values, given, sizeof(values));
    read_env(source, values);
    r = read_mode(config, source, values, err);
    if (r == 0)
        r = read_numbers(config, values, err);
    if (r == 0)
        r = read_identity(config, source, values, err);
    if (r == 0)
        r = read_server(config, source, values, given, err);
    return r;
}
