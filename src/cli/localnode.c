// SPDX-License-Identifier: Apache-2.0
/* Wires the node together; decides nothing. */
#include "cli/localnode.h"
#include "api/token.h"
#include "base/mem.h"
#include "cli/logsource.h"
#include "control/pods/runner.h"
#include "node/node.h"
#include "node/sampler.h"
#include "os/fd.h"
#include "os/log.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define PROC_ROOT "/proc"
#define SAMPLE_MS 500
#define PODS_MAX 10000
#define FALLBACK_NAME "local"

struct localnode {
    struct loop *loop;
    struct host_guest guest;
    struct process_runtime *runtime;
    struct log_source logs;
    struct usage_source usage;
    struct runner *runner;
    struct loop_timer sample;
    char *name;
    const char *const *labels;
    int64_t nofile_soft;
    bool is_share;
    int64_t cpu_milli, memory_bytes, pods_max;
    bool no_cgroups;
    bool is_quitting; /* pods have ended: the spawner shall too */
    struct utsname uname;
    const char *base_env[8];
    char *path;   /* PATH=..., of base_env */
    char *socket; /* of the server */
    char *hosts_dir;
    struct token_key key;
    void (*done)(void *arg);
    void *done_arg;
    void (*ready)(void *arg);
    void *ready_arg;
    bool is_ready;
    bool is_refused; /* for good */
    void (*on_refused)(void *arg);
    void *refused_arg;
};

/* A host name may have capitals and underscores, an object's name may not. */
static char *name_of_machine(const char *host)
{
    char *name = mem_strdup(host);
    size_t len = 0;
    for (const char *c = host; *c != '\0'; c++) {
        char low = (char)tolower((unsigned char)*c);
        bool is_edge = len == 0 || c[1] == '\0';
        bool is_good = isalnum((unsigned char)low) || ((low == '-' || low == '.') && !is_edge);
        if (is_good)
            name[len++] = low;
    }
    name[len] = '\0';
    if (len > 0)
        return name;
    mem_free(name);
    return mem_strdup(FALLBACK_NAME);
}

static void take_sample(void *arg)
{
    struct localnode *node = arg;
    struct gate_sample sample = {0};
    sampler_take(PROC_ROOT, loop_now(node->loop), &sample);
    loop_timer_set(node->loop, &node->sample, loop_now(node->loop) + SAMPLE_MS);
    runner_sample(node->runner, &sample);
}

/* Somebody waits at a gate that needs to know how busy the machine is, or nobody does any more. */
static void on_samples(void *arg, bool wanted)
{
    struct localnode *node = arg;
    if (wanted)
        loop_timer_set(node->loop, &node->sample, loop_now(node->loop));
    else
        loop_timer_clear(node->loop, &node->sample);
}

static void on_settings(void *arg, int64_t log_bytes, int log_files)
{
    struct localnode *node = arg;
    struct logs_limits limits = {.file_bytes = log_bytes, .files = log_files};
    logs_set_limits(process_runtime_logs(node->runtime), &limits);
}

static void on_registered(void *arg)
{
    struct localnode *node = arg;
    node->is_ready = true;
    if (node->ready != NULL)
        node->ready(node->ready_arg);
}

/* A full disk may be freed and a conflict is settled by the next attempt; what is wrong with the
 * object itself stays wrong. */
static void on_refused(void *arg, const struct status *why)
{
    struct localnode *node = arg;
    if (why->code == 409 || node->is_refused)
        return;
    scoped_str error = {0};
    log_quote(str_text(&why->message), &error);
    node->is_refused = why->code >= 400 && why->code < 500;
    log_line(node->is_refused ? LOG_ERROR_LEVEL : LOG_WARN_LEVEL, "node.refused node=%s error=%s",
             node->name, str_text(&error));
    if (node->is_refused && node->on_refused != NULL)
        node->on_refused(node->refused_arg);
}

/* ---- the guest ---- */

/* Programs of ours are found where this one is, also when nothing was installed. */
static void add_own_folder(struct localnode *node)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    const char *slash = len > 0 ? memrchr(self, '/', (size_t)len) : NULL;
    for (size_t i = 0; slash != NULL && node->base_env[i] != NULL; i++) {
        if (!str_starts(node->base_env[i], "PATH="))
            continue;
        node->path = mem_printf("%s:%.*s", node->base_env[i], (int)(slash - self), self);
        node->base_env[i] = node->path;
    }
}

static void fill_base_env(struct localnode *node)
{
    static const char *const KEPT[] = {"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR"};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(KEPT); i++) {
        for (char **env = environ; *env != NULL; env++) {
            size_t len = strlen(KEPT[i]);
            if (strncmp(*env, KEPT[i], len) == 0 && (*env)[len] == '=')
                node->base_env[n++] = *env;
        }
    }
    node->base_env[n] = NULL;
    add_own_folder(node);
}

/* An agent comes as itself, not as the user whose socket it uses. */
static void make_agent_token(void *arg, const struct obj *pod, const char *jobset, struct str *out)
{
    const struct localnode *node = arg;
    struct identity who = {.role = ROLE_AGENT};
    (void)snprintf(who.name, sizeof(who.name), "agent:%.100s", pod->meta.name);
    (void)snprintf(who.ns, sizeof(who.ns), "%.63s", obj_namespace(pod));
    (void)snprintf(who.pod, sizeof(who.pod), "%.253s", pod->meta.name);
    (void)snprintf(who.jobset, sizeof(who.jobset), "%.253s", jobset);
    token_make(&node->key, &who, out);
}

static void make_runner(struct localnode *node)
{
    struct sysinfo info = {0};
    (void)sysinfo(&info); /* 0 bytes is what a node without an answer has */
    double cores = sampler_cores(PROC_ROOT, CGROUP_ROOT);
    int64_t memory = (int64_t)info.totalram * info.mem_unit;
    if (node->cpu_milli > 0)
        cores = (double)node->cpu_milli / 1000;
    if (node->memory_bytes > 0)
        memory = node->memory_bytes;
    fill_base_env(node);
    struct runner_options options = {
        .node = node->name,
        .runtime = process_runtime_port(node->runtime),
        .launch = {.name = node->name,
                   .host_ip = "127.0.0.1",
                   .pod_ip = "127.0.0.1",
                   .base_env = node->base_env,
                   .hosts_dir = node->hosts_dir,
                   .agents = {node->socket, make_agent_token, node},
                   .uid = (int64_t)getuid(),
                   .cpu_milli = (int64_t)(cores * 1000),
                   .memory_bytes = memory},
        .cores = cores,
        .memory_bytes = memory,
        .pods_max = node->pods_max > 0 ? node->pods_max : PODS_MAX,
        .labels = node->labels,
        .kernel = node->uname.release,
        .architecture = strcmp(node->uname.machine, "x86_64") == 0    ? "amd64"
                        : strcmp(node->uname.machine, "aarch64") == 0 ? "arm64"
                                                                      : node->uname.machine,
        .os_image = node->uname.sysname,
        .warning = process_runtime_warning(node->runtime),
        .on_samples = on_samples,
        .on_settings = on_settings,
        .on_registered = on_registered,
        .on_refused = on_refused,
        .arg = node};
    node->runner = runner_new(&options);
}

static int guest_open(void *arg, const char *data, struct err *err)
{
    struct localnode *node = arg;
    static const char *const HELPER[] = {"/proc/self/exe", "spawner", NULL};
    scoped_free char *above = mem_printf("%s/nodes", data);
    scoped_free char *dir =
        node->is_share ? mem_printf("%s/%s", above, node->name) : mem_printf("%s/node", data);
    int r = node->is_share ? dir_make(above, 0711, err) : 0;
    if (r == 0)
        r = dir_make(dir, 0711, err);
    if (r < 0)
        return r;
    struct process_options options = {.loop = node->loop,
                                      .data = dir,
                                      .cgroup_root = node->no_cgroups ? NULL : CGROUP_ROOT,
                                      .node = node->name,
                                      .is_share = node->is_share,
                                      .helper = HELPER,
                                      .nofile_soft = node->nofile_soft};
    r = process_runtime_open(&options, &node->runtime, err);
    if (r < 0)
        return r;
    const char *warning = process_runtime_warning(node->runtime);
    if (warning != NULL) {
        scoped_str quoted = {0};
        log_quote(warning, &quoted);
        log_warn("node.cgroups warning=%s", str_text(&quoted));
    }
    scoped_free char *key = mem_printf("%s/token.key", data);
    r = token_key_open(key, &node->key, err);
    if (r < 0)
        return r;
    char folder[PATH_MAX]; /* containers have other working directories than we */
    node->socket = mem_printf("%s/muster.sock", realpath(data, folder) != NULL ? folder : data);
    node->hosts_dir = mem_printf("%s/hosts", realpath(dir, folder) != NULL ? folder : dir);
    node->logs = logsource_of(process_runtime_logs(node->runtime));
    node->usage = usage_port(process_runtime_usage(node->runtime));
    make_runner(node);
    return 0;
}

static const struct usage_source *guest_usage(void *arg)
{
    struct localnode *node = arg;
    return &node->usage;
}

static const struct log_source *guest_logs(void *arg)
{
    struct localnode *node = arg;
    return &node->logs;
}

static const struct controller *guest_controller(void *arg, size_t index)
{
    struct localnode *node = arg;
    return index == 0 ? runner_controller(node->runner) : NULL;
}

static void on_quiet(void *arg)
{
    struct localnode *node = arg;
    node->is_quitting = true;
    node->done(node->done_arg);
}

static void guest_stop(void *arg, void (*done)(void *done_arg), void *done_arg)
{
    struct localnode *node = arg;
    node->done = done;
    node->done_arg = done_arg;
    runner_shutdown(node->runner, on_quiet, node);
}

static void guest_close(void *arg)
{
    struct localnode *node = arg;
    loop_timer_clear(node->loop, &node->sample);
    runner_free(node->runner);
    node->runner = NULL;
    process_runtime_close(node->runtime, node->is_quitting);
    node->runtime = NULL;
}

static void guest_metrics(void *arg, struct str *out)
{
    struct localnode *node = arg;
    runner_metrics(node->runner, out);
}

struct localnode *localnode_new(const struct localnode_options *options)
{
    struct localnode *node = mem_zalloc(sizeof(*node));
    node->loop = options->loop;
    node->labels = options->labels;
    node->no_cgroups = options->no_cgroups;
    node->nofile_soft = options->nofile_soft;
    node->is_share = options->is_share;
    node->cpu_milli = options->cpu_milli;
    node->memory_bytes = options->memory_bytes;
    node->pods_max = options->pods_max;
    node->on_refused = options->on_refused;
    node->refused_arg = options->arg;
    (void)uname(&node->uname); /* cannot fail with a good address */
    node->name =
        options->name != NULL ? mem_strdup(options->name) : name_of_machine(node->uname.nodename);
    loop_timer_init(&node->sample, take_sample, node);
    node->guest = (struct host_guest){.open = guest_open,
                                      .controller = guest_controller,
                                      .stop = guest_stop,
                                      .close = guest_close,
                                      .metrics = guest_metrics,
                                      .usage = guest_usage,
                                      .logs = guest_logs,
                                      .arg = node};
    return node;
}

void localnode_free(struct localnode *node)
{
    if (node == NULL)
        return;
    mem_free(node->name);
    mem_free(node->path);
    mem_free(node->socket);
    mem_free(node->hosts_dir);
    mem_free(node);
}

const struct host_guest *localnode_guest(const struct localnode *node)
{
    return &node->guest;
}

void localnode_when_ready(struct localnode *node, void (*fn)(void *arg), void *arg)
{
    node->ready = fn;
    node->ready_arg = arg;
    if (node->is_ready)
        fn(arg);
}

const char *localnode_name(const struct localnode *node)
{
    return node->name;
}

bool localnode_is_quiet(const struct localnode *node)
{
    return node->is_quitting;
}
