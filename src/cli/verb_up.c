// SPDX-License-Identifier: Apache-2.0
/* The server in the foreground. Prints one line when it is ready, tells systemd, runs until a
 * signal, leaves nothing behind. */
#include "api/host.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/configfile.h"
#include "cli/inputs.h"
#include "cli/localnodes.h"
#include "cli/machine.h"
#include "cli/nodeconfig.h"
#include "cli/nodesfile.h"
#include "cli/preload.h"
#include "cli/upcheck.h"
#include "os/fd.h"
#include "os/init.h"
#include "os/log.h"
#include "os/notify.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define WATCH_WINDOW_MAX 10000000

static const char *const LEVELS[] = {"debug", "info", "warn", "error", NULL};

const struct opt OPTS_UP[] = {
    {"filename", 'f', "FILE", "Apply this file, or folder of files, before being ready.",
     .flags = OPT_REPEAT, .complete = COMPLETE_FILE},
    {"data", 0, "DIR",
     "Where everything is kept. Default: $MUSTER_DATA, else $XDG_STATE_HOME/muster, else "
     "~/.local/state/muster.",
     .complete = COMPLETE_DIR},
    {"listen", 0, "ADDR:PORT", "Where the API is served with TLS; port 0 picks a free one.",
     .fallback = "127.0.0.1:0"},
    {"watch-window", 0, "N",
     "How many changes are kept for watches that resume; older ones get 410 and list anew.",
     .fallback = "16384"},
    {"node", 0, "NAME", "Name of this machine's node. Default: the machine's own name."},
    {"node-label", 0, "KEY=VALUE", "A label of this machine's node.", .flags = OPT_REPEAT},
    {"node-config", 0, "FILE",
     "How this node starts containers: a NodeConfig, or the MinionConfig of the throttling study.",
     .complete = COMPLETE_FILE},
    {"config", 0, "FILE",
     "What the control plane is told: waitForPodsReady and placement. SIGHUP reads it again.",
     .complete = COMPLETE_FILE},
    {"nodes", 0, "FILE",
     "Further nodes on this machine, each with pods and labels of its own: nodes: [{name: a, "
     "labels: {...}, capacity: {cpu: 1}}], or Node objects.",
     .complete = COMPLETE_FILE},
    {"no-node", 0, NULL, "Without a node of this machine's name: runs no pods, but for --nodes."},
    {"no-cgroups", 0, NULL, "Run pods without control groups, even where they could be had."},
    {"check", 0, NULL, "Only tell whether this machine is able to run a server, and how well."},
    {"log-level", 0, "LEVEL", "How much is told on standard error.", .fallback = "info",
     .values = LEVELS},
    {0},
};

struct up {
    struct cli *cli;
    struct loop *loop;
    struct host *host;
    struct localnodes *nodes; /* none with --no-node */
    struct nodes_file file;   /* those of --nodes */
    struct manifests *manifests;
    VEC(const char *) labels;
    size_t window_changes;
    struct configuration configuration;
    const char *config; /* the file that says it; NULL: none does */
    int exit_code;
    bool is_stopping;
};

static void set_log_level(const char *word)
{
    for (int i = 0; LEVELS[i] != NULL; i++) {
        if (strcmp(LEVELS[i], word) == 0)
            log_set_level((enum log_level)i);
    }
}

static void on_stopped(void *arg)
{
    struct up *up = arg;
    loop_stop(up->loop);
}

static void stop(struct up *up, int exit_code)
{
    if (up->is_stopping)
        return;
    up->is_stopping = true;
    up->exit_code = exit_code;
    notify_send("STOPPING=1");
    host_stop(up->host, on_stopped, up);
}

static void on_signal(void *arg, int signo)
{
    struct up *up = arg;
    log_info("server.stopping signal=%s", signo == SIGINT ? "SIGINT" : "SIGTERM");
    if (up->is_stopping)
        host_stop(up->host, on_stopped, up); /* a second one kills what still runs */
    stop(up, CLI_OK);
}

/* A file that is not right changes nothing: what was told before holds. */
static void on_hangup(void *arg, int signo)
{
    struct up *up = arg;
    struct configuration read = {0};
    struct err err = {0};
    (void)signo;
    if (up->config == NULL) {
        log_info("config.none signal=SIGHUP");
        return;
    }
    if (up->is_stopping || up->host == NULL)
        return;
    if (configfile_read(up->cli, up->config, &read, &err) < 0) {
        log_error("config.refused error=\"%s\" hint=\"%s\" kept=\"as before\"", err.text, err.hint);
        return;
    }
    struct configuration before = up->configuration;
    up->configuration = read;
    host_configure(up->host, &up->configuration);
    configuration_done(&before);
    log_info("config.loaded file=%s", up->config);
}

/* The contract with scripts: exactly one line on standard output. */
static void tell_ready(struct up *up)
{
    fprintf(up->cli->out, "ready api=%s kubeconfig=%s dashboard=none\n", host_url(up->host),
            host_kubeconfig(up->host));
    (void)fflush(up->cli->out); /* whoever waits for it may have closed the pipe */
    notify_send("READY=1");
    log_info("server.ready api=%s socket=%s", host_url(up->host), host_socket(up->host));
}

static void on_preloaded(void *arg, size_t refused)
{
    struct up *up = arg;
    if (up->is_stopping)
        return;
    if (refused > 0)
        stop(up, CLI_FAILED);
    else
        tell_ready(up);
}

static void on_node_refused(void *arg)
{
    stop(arg, CLI_FAILED);
}

static bool parse_window(const char *text, size_t *ret_changes)
{
    char *end = NULL;
    unsigned long changes = strtoul(text, &end, 10);
    if (*text < '1' || *text > '9' || *end != '\0' || changes > WATCH_WINDOW_MAX)
        return false;
    *ret_changes = changes;
    return true;
}

static void make_own_node(struct up *up, int64_t nofile_soft)
{
    const struct opt_values *opts = &up->cli->opts;
    if (opt_flag(opts, "no-node"))
        return;
    for (size_t i = 0; i < opts->given.len; i++) {
        if (str_eq(opts->given.items[i].opt->name, "node-label"))
            vec_push(&up->labels, opts->given.items[i].value);
    }
    vec_push(&up->labels, NULL);
    struct localnode_options options = {.loop = up->loop,
                                        .name = opt_get(opts, "node"),
                                        .labels = up->labels.items,
                                        .nofile_soft = nofile_soft,
                                        .no_cgroups = opt_is_given(opts, "no-cgroups"),
                                        .on_refused = on_node_refused,
                                        .arg = up};
    localnodes_add(up->nodes, localnode_new(&options));
}

static void make_nodes(struct up *up, int64_t nofile_soft)
{
    up->nodes = localnodes_new();
    make_own_node(up, nofile_soft);
    for (size_t i = 0; i < up->file.list.len; i++) {
        const struct nodes_item *item = &up->file.list.items[i];
        struct localnode_options options = {.loop = up->loop,
                                            .name = item->name,
                                            .labels = (const char *const *)item->labels.items,
                                            .is_share = true,
                                            .cpu_milli = item->cpu_milli,
                                            .memory_bytes = item->memory_bytes,
                                            .pods_max = item->pods_max,
                                            .nofile_soft = nofile_soft,
                                            .no_cgroups =
                                                opt_is_given(&up->cli->opts, "no-cgroups"),
                                            .on_refused = on_node_refused,
                                            .arg = up};
        localnodes_add(up->nodes, localnode_new(&options));
    }
}

/* Only now: a pod that comes before its node would be told that there is none. */
static void preload(void *arg)
{
    struct up *up = arg;
    preload_start(up->cli, host_store(up->host), up->manifests, on_preloaded, up);
}

static int serve(struct up *up, struct manifests *manifests, struct err *err)
{
    make_nodes(up, fd_limit_raise());
    struct str data = {0};
    int r = cli_data_dir(up->cli, &data, err);
    struct host_options options = {.data = str_text(&data),
                                   .listen = opt_get(&up->cli->opts, "listen"),
                                   .window_changes = up->window_changes,
                                   .configuration = &up->configuration};
    options.guest = localnodes_guest(up->nodes);
    if (r == 0)
        r = host_start(up->loop, &options, &up->host, err);
    str_done(&data);
    if (r == 0) {
        up->manifests = manifests;
        localnodes_when_ready(up->nodes, preload, up);
        loop_run(up->loop);
        host_free(up->host);
    }
    localnodes_free(up->nodes);
    vec_done(&up->labels);
    return r;
}

/* Every mistake in every file is shown before anything is started. */
static size_t check_all(struct cli *cli, const struct manifests *manifests)
{
    size_t findings = 0;
    scoped_str out = {0};
    const struct kind *kind = NULL;
    for (size_t i = 0; i < manifests->list.len; i++) {
        const struct manifest *manifest = &manifests->list.items[i];
        for (size_t d = 0; d < manifest->docs.len; d++)
            findings += manifest_check(manifest, d, &out, &kind);
    }
    fputs(str_text(&out), cli->err);
    return findings;
}

/* --config, else what stands among the objects of --filename. */
static bool load_config(struct up *up, struct manifests *manifests)
{
    struct err err = {0};
    configuration_default(&up->configuration);
    up->config = opt_get(&up->cli->opts, "config");
    if (up->config == NULL && manifests->configured != NULL) {
        up->config = manifests->configured;
        up->configuration = manifests->configuration;
        manifests->configuration = (struct configuration){0};
        return true;
    }
    if (up->config == NULL || configfile_read(up->cli, up->config, &up->configuration, &err) >= 0)
        return true;
    (void)cli_error(up->cli, CLI_FAILED, &err);
    return false;
}

int verb_up(struct cli *cli, int argc, char **argv)
{
    (void)argc, (void)argv;
    struct up up = {.cli = cli, .exit_code = CLI_OK};
    struct err err = {0};
    const char *window = opt_get(&cli->opts, "watch-window");
    if (!parse_window(window, &up.window_changes))
        return cli_usage(cli, "option '--watch-window': '%s' is not a number from 1 to %d", window,
                         WATCH_WINDOW_MAX);
    int r = upcheck_options(cli);
    if (r != CLI_OK)
        return r;
    if (opt_is_given(&cli->opts, "check"))
        return machine_check(cli);
    set_log_level(opt_get(&cli->opts, "log-level"));
    struct manifests manifests = {0};
    r = manifests_load(cli, &manifests);
    const char *node_config = opt_get(&cli->opts, "node-config");
    if (r == CLI_OK && node_config != NULL)
        r = nodeconfig_load(cli, node_config, &manifests);
    if (r == CLI_OK && opt_is_given(&cli->opts, "nodes") &&
        nodes_file_read(cli, opt_get(&cli->opts, "nodes"), &up.file, &err) < 0)
        r = cli_error(cli, CLI_FAILED, &err);
    if (r != CLI_OK) {
        manifests_done(&manifests);
        return r;
    }
    if (check_all(cli, &manifests) > 0 || !load_config(&up, &manifests)) {
        manifests_done(&manifests);
        nodes_file_done(&up.file);
        return CLI_FAILED;
    }
    init_guard();
    r = loop_new(&up.loop, &err);
    if (r == 0)
        r = loop_signal(up.loop, SIGTERM, on_signal, &up, &err);
    if (r == 0)
        r = loop_signal(up.loop, SIGINT, on_signal, &up, &err);
    if (r == 0)
        r = loop_signal(up.loop, SIGHUP, on_hangup, &up, &err);
    if (r == 0)
        r = serve(&up, &manifests, &err);
    manifests_done(&manifests);
    nodes_file_done(&up.file);
    configuration_done(&up.configuration);
    loop_free(up.loop);
    return r < 0 ? cli_error(cli, CLI_FAILED, &err) : up.exit_code;
}
