// SPDX-License-Identifier: Apache-2.0
#include "cli/run_gang.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "os/clock.h"
#include "os/fd.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMBERS_MAX 100000
#define NAME_MAX_LEN 24 /* what is left of 63 behind "-worker-0-99999" and two suffixes */
#define INDEX_NOTE "metadata.annotations['batch.kubernetes.io/job-completion-index']"

struct gang {
    struct cli *cli;
    yyjson_mut_doc *doc;
    int64_t members, restarts;
    const char *cpu, *memory, *queue;
    char *name;
    int port;
    char **argv;
    size_t argc;
};

bool run_gang_is_asked(const struct cli *cli)
{
    return opt_is_given(&cli->opts, "members") || cli->opts.dashes != SIZE_MAX;
}

/* ---- what was asked for ---- */

static int read_number(struct cli *cli, const char *option, int64_t most, int64_t *ret_number)
{
    const char *text = opt_get(&cli->opts, option);
    char *end = NULL;
    errno = 0;
    long long number = text != NULL ? strtoll(text, &end, 10) : 0;
    if (text == NULL || end == text || *end != '\0' || errno != 0 || number < 0 || number > most)
        return cli_usage(cli, "--%s must be a whole number up to %lld, not '%s'", option,
                         (long long)most, text != NULL ? text : "");
    *ret_number = number;
    return CLI_OK;
}

static int check_amount(struct cli *cli, const char *option)
{
    const char *text = opt_get(&cli->opts, option);
    struct err err = {0};
    quantity amount = 0;
    if (text == NULL || (quantity_parse(sv_of(text), &amount, &err) == 0 && amount > 0))
        return CLI_OK;
    return cli_usage(cli, "--%s must be an amount such as %s, not '%s'", option,
                     str_eq(option, "cpu") ? "1 or 500m" : "512Mi or 1Gi", text);
}

/* "train.py" -> "train-py": what names of objects may have. */
static char *name_of_command(const char *command)
{
    const char *slash = strrchr(command, '/');
    scoped_str name = {0};
    for (const char *c = slash != NULL ? slash + 1 : command; *c != '\0'; c++) {
        char low = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
        bool is_letter = low >= 'a' && low <= 'z', is_digit = low >= '0' && low <= '9';
        if (name.len < NAME_MAX_LEN && (is_letter || (is_digit && name.len > 0)))
            str_addc(&name, low);
        else if (name.len > 0 && name.len < NAME_MAX_LEN && name.data[name.len - 1] != '-')
            str_addc(&name, '-');
    }
    struct rng rng;
    char suffix[6];
    rng_seed(&rng, (uint64_t)clock_wall() ^ (uint64_t)getpid() << 32);
    rng_suffix(&rng, suffix, 5);
    bool has_dash = name.len > 0 && name.data[name.len - 1] == '-';
    return mem_printf("%s%s%s", name.len > 0 ? str_text(&name) : "run", has_dash ? "" : "-",
                      suffix);
}

/* One that nobody listens on now; the group has it for itself from its first start on. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    scoped_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return 29500;
    return ntohs(address.sin_port);
}

static const char *const OWN_ENV[] = {
    "RANK",        "LOCAL_RANK",   "WORLD_SIZE",           "MASTER_ADDR",
    "MASTER_PORT", "MUSTER_EPOCH", "JOB_COMPLETION_INDEX", NULL};

static bool is_own(const char *name, size_t len)
{
    for (const char *const *own = OWN_ENV; *own != NULL; own++) {
        if (strlen(*own) == len && memcmp(*own, name, len) == 0)
            return true;
    }
    return false;
}

static int check_env(struct cli *cli)
{
    for (size_t i = 0; i < opt_count(&cli->opts, "env"); i++) {
        const char *one = opt_nth(&cli->opts, "env", i);
        size_t len = strcspn(one, "=");
        if (len == 0)
            return cli_usage(cli, "--env must be NAME=VALUE or NAME, not '%s'", one);
        if (is_own(one, len))
            return cli_usage(cli, "--env %.*s: each member of a group gets one of its own",
                             (int)len, one);
        if (one[len] == '\0' && getenv(one) == NULL)
            return cli_usage(cli, "--env %s: it is not set here; write --env %s=VALUE", one, one);
    }
    return CLI_OK;
}

static int read_gang(struct gang *gang, int argc, char **argv)
{
    struct cli *cli = gang->cli;
    int code = CLI_OK;
    if (!opt_is_given(&cli->opts, "members"))
        return cli_usage(cli, "how many members? Write: muster run -n 8 -- COMMAND");
    if (cli->opts.dashes == SIZE_MAX || argc == 0)
        return cli_usage(cli, "-n is for a command: muster run -n 8 -- COMMAND");
    if (cli->opts.dashes != 0)
        return cli_usage(cli, "'%s': a file and a command do not go together", argv[0]);
    code = read_number(cli, "members", MEMBERS_MAX, &gang->members);
    if (code == CLI_OK)
        code = read_number(cli, "max-restarts", INT32_MAX, &gang->restarts);
    if (code == CLI_OK)
        code = check_amount(cli, "cpu");
    if (code == CLI_OK)
        code = check_amount(cli, "memory");
    if (code == CLI_OK)
        code = check_env(cli);
    if (code == CLI_OK && gang->members == 0)
        code = cli_usage(cli, "-n must be at least 1");
    if (code != CLI_OK)
        return code;
    const char *name = opt_get(&cli->opts, "name");
    gang->cpu = opt_get(&cli->opts, "cpu");
    gang->memory = opt_get(&cli->opts, "memory");
    gang->queue = opt_get(&cli->opts, "queue");
    gang->name = name != NULL ? mem_strdup(name) : name_of_command(argv[0]);
    gang->port = free_port();
    gang->argv = argv;
    gang->argc = (size_t)argc;
    return CLI_OK;
}

/* ---- the manifest ---- */

static yyjson_mut_val *text(struct gang *gang, const char *value)
{
    return yyjson_mut_strcpy(gang->doc, value);
}

/* In a manifest "$(X)" stands for a variable and "$$" for a dollar; here it is what was typed. */
static yyjson_mut_val *word(struct gang *gang, const char *value)
{
    scoped_str out = {0};
    for (const char *c = value; *c != '\0'; c++) {
        bool is_special = c[0] == '$' && (c[1] == '(' || c[1] == '$');
        str_add(&out, is_special ? "$$" : (char[]){*c, '\0'});
    }
    return yyjson_mut_strncpy(gang->doc, str_text(&out), out.len);
}

static void add_env(struct gang *gang, yyjson_mut_val *env, const char *name, const char *value)
{
    yyjson_mut_val *item = yyjson_mut_obj(gang->doc);
    json_mut_put(gang->doc, item, "name", text(gang, name));
    if (value != NULL)
        json_mut_put(gang->doc, item, "value", word(gang, value));
    else
        json_mut_set(gang->doc, item, "valueFrom.fieldRef.fieldPath", text(gang, INDEX_NOTE));
    (void)yyjson_mut_arr_append(env, item);
}

static void add_given(struct gang *gang, yyjson_mut_val *env, const char *given)
{
    size_t len = strcspn(given, "=");
    scoped_free char *name = mem_printf("%.*s", (int)len, given);
    add_env(gang, env, name, given[len] == '=' ? given + len + 1 : getenv(name));
}

static yyjson_mut_val *environment(struct gang *gang)
{
    yyjson_mut_val *env = yyjson_mut_arr(gang->doc);
    char members[24], port[12];
    (void)snprintf(members, sizeof(members), "%lld", (long long)gang->members);
    (void)snprintf(port, sizeof(port), "%d", gang->port);
    add_env(gang, env, "RANK", NULL);
    add_env(gang, env, "LOCAL_RANK", NULL);
    add_env(gang, env, "WORLD_SIZE", members);
    add_env(gang, env, "MASTER_ADDR", "127.0.0.1");
    add_env(gang, env, "MASTER_PORT", port);
    for (size_t i = 0; i < opt_count(&gang->cli->opts, "env"); i++)
        add_given(gang, env, opt_nth(&gang->cli->opts, "env", i));
    return env;
}

static yyjson_mut_val *container(struct gang *gang)
{
    yyjson_mut_doc *doc = gang->doc;
    yyjson_mut_val *worker = yyjson_mut_obj(doc), *command = yyjson_mut_arr(doc);
    for (size_t i = 0; i < gang->argc; i++)
        (void)yyjson_mut_arr_append(command, word(gang, gang->argv[i]));
    json_mut_put(doc, worker, "name", text(gang, "worker"));
    json_mut_put(doc, worker, "command", command);
    json_mut_put(doc, worker, "env", environment(gang));
    if (gang->cpu != NULL)
        json_mut_set(doc, worker, "resources.requests.cpu", text(gang, gang->cpu));
    if (gang->memory != NULL) {
        json_mut_set(doc, worker, "resources.requests.memory", text(gang, gang->memory));
        json_mut_set(doc, worker, "resources.limits.memory", text(gang, gang->memory));
    }
    return worker;
}

static yyjson_mut_val *job(struct gang *gang)
{
    yyjson_mut_doc *doc = gang->doc;
    yyjson_mut_val *one = yyjson_mut_obj(doc), *containers = yyjson_mut_arr(doc);
    static const char *const COUNTS[] = {"template.spec.completions", "template.spec.parallelism"};
    (void)yyjson_mut_arr_append(containers, container(gang));
    json_mut_put(doc, one, "name", text(gang, "worker"));
    for (size_t i = 0; i < ARRAY_LEN(COUNTS); i++)
        json_mut_set(doc, one, COUNTS[i], yyjson_mut_sint(doc, gang->members));
    json_mut_set(doc, one, "template.spec.backoffLimit", yyjson_mut_sint(doc, INT32_MAX));
    json_mut_set(doc, one, "template.spec.podReplacementPolicy", text(gang, "Failed"));
    json_mut_set(doc, one, "template.spec.template.spec.restartPolicy", text(gang, "OnFailure"));
    json_mut_set(doc, one, "template.spec.template.spec.containers", containers);
    return one;
}

static void make_set(struct gang *gang)
{
    yyjson_mut_doc *doc = gang->doc;
    yyjson_mut_val *root = yyjson_mut_obj(doc), *jobs = yyjson_mut_arr(doc);
    yyjson_mut_doc_set_root(doc, root);
    json_mut_put(doc, root, "apiVersion", text(gang, "jobset.x-k8s.io/v1alpha2"));
    json_mut_put(doc, root, "kind", text(gang, "JobSet"));
    json_mut_set(doc, root, "metadata.name", text(gang, gang->name));
    if (gang->queue != NULL) {
        yyjson_mut_val *labels = yyjson_mut_obj(doc);
        json_mut_put(doc, labels, "kueue.x-k8s.io/queue-name", text(gang, gang->queue));
        json_mut_set(doc, root, "metadata.labels", labels);
    }
    json_mut_set(doc, root, "spec.failurePolicy.maxRestarts", yyjson_mut_sint(doc, gang->restarts));
    json_mut_set(doc, root, "spec.failurePolicy.restartStrategy", text(gang, "InPlaceRestart"));
    (void)yyjson_mut_arr_append(jobs, job(gang));
    json_mut_set(doc, root, "spec.replicatedJobs", jobs);
}

int run_gang_make(struct cli *cli, int argc, char **argv, struct manifests *manifests)
{
    struct gang gang = {.cli = cli};
    struct err err = {0};
    int code = read_gang(&gang, argc, argv);
    if (code != CLI_OK)
        return code;
    gang.doc = yyjson_mut_doc_new(NULL);
    make_set(&gang);
    scoped_str json = {0};
    json_write(yyjson_mut_doc_get_root(gang.doc), &json);
    struct manifest manifest = {0};
    int r = manifest_parse("command line", (struct sv){str_text(&json), json.len}, &manifest, &err);
    if (r == 0)
        vec_push(&manifests->list, manifest);
    yyjson_mut_doc_free(gang.doc);
    mem_free(gang.name);
    return r < 0 ? cli_error(cli, CLI_FAILED, &err) : CLI_OK;
}

int run_gang_print(struct cli *cli, const struct manifests *manifests)
{
    scoped_str out = {0};
    scoped_json *doc = yyjson_mut_doc_imut_copy(manifests->list.items[0].docs.items[0].doc, NULL);
    if (str_eq(opt_get(&cli->opts, "output"), "json"))
        json_write_val_pretty(yyjson_doc_get_root(doc), &out);
    else
        yaml_write(yyjson_doc_get_root(doc), &out);
    if (out.len > 0 && out.data[out.len - 1] != '\n')
        str_addc(&out, '\n');
    fwrite(str_text(&out), 1, out.len, cli->out);
    return CLI_OK;
}
