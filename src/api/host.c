// SPDX-License-Identifier: Apache-2.0
/* Wires the parts together; decides nothing. Order of life: disk, store, controllers, API,
 * sockets; and back. */
#include "api/host.h"
#include "api/api.h"
#include "api/kubeconfig.h"
#include "api/pki.h"
#include "base/mem.h"
#include "base/vec.h"
#include "control/controllers.h"
#include "os/fd.h"
#include "os/http.h"
#include "os/log.h"
#include "os/socket.h"
#include "store/embedded.h"
#include "store/sqlite.h"
#include <errno.h>
#include <openssl/rand.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_CHANGES 16384
#define KEYS_PER_TURN 256
#define DRAIN_MS 2000
#define LAST_WORDS_MS 20

struct host {
    struct world world; /* what controllers see; first, so that it can be cast back */
    struct loop *loop;
    struct disk *disk;
    struct loop_io *disk_io;
    struct store *store;
    struct watch *commits; /* for --log-level debug */
    bool is_troubled;      /* the disk takes no writes, and the log says so */
    struct loop_task flush;
    struct manager *manager;
    struct loop_timer wake;
    struct loop_task run;
    struct pki pki;
    struct token_key key;
    struct api *api;
    struct http_server *http;
    char *data, *socket_path, *url, *kubeconfig;
    const struct host_guest *guest;
    bool is_guest_gone; /* it has ended, or there is none */
    bool is_draining;   /* streams have been ended */
    void (*stopped)(void *arg);
    void *stopped_arg;
    struct loop_timer drain;
    time_ms drain_until;
};

/* ---- the store's host ---- */

static time_ms host_now(void *arg)
{
    struct host *host = arg;
    return loop_wall(host->loop);
}

static void host_dirty(void *arg)
{
    struct host *host = arg;
    loop_defer(host->loop, &host->flush);
}

static void host_flush(void *arg)
{
    struct host *host = arg;
    embedded_flush(host->store);
}

static const char *host_trouble(void *arg)
{
    struct host *host = arg;
    return embedded_stats(host->store).trouble;
}

/* Clients are told with each refusal; whoever looks after the machine reads the log. */
static void tell_trouble(struct host *host)
{
    const char *trouble = host_trouble(host);
    if ((trouble != NULL) == host->is_troubled)
        return;
    host->is_troubled = trouble != NULL;
    if (trouble)
        log_error("store.refuses_writes why=\"%s\"", trouble);
    else
        log_info("store.takes_writes_again");
}

static void tell_commit(void *arg, struct change *change)
{
    static const char *const WHAT[] = {
        [CHANGE_ADDED] = "created", [CHANGE_MODIFIED] = "changed", [CHANGE_DELETED] = "deleted"};
    const struct obj *obj = change->obj;
    (void)arg;
    log_debug("store.committed revision=%llu what=%s kind=%s object=%s/%s",
              (unsigned long long)change->revision, WHAT[change->type], obj->kind->name,
              obj_namespace(obj), obj->meta.name);
}

static void disk_ready(void *arg, uint32_t events)
{
    struct host *host = arg;
    (void)events;
    sqlite_disk_dispatch(host->disk);
    tell_trouble(host);
}

/* ---- the controllers' world ---- */

static time_ms world_now(struct world *world)
{
    struct host *host = (struct host *)world;
    return loop_wall(host->loop);
}

static void world_submit(struct world *world, struct write *write)
{
    struct host *host = (struct host *)world;
    api_tell_write("controllers", write);
    store_submit(host->store, write);
}

static time_ms world_steady(struct world *world)
{
    struct host *host = (struct host *)world;
    return loop_now(host->loop);
}

static void world_wake(struct world *world, time_ms at)
{
    struct host *host = (struct host *)world;
    time_ms now = loop_now(host->loop);
    if (at <= now) {
        loop_timer_clear(host->loop, &host->wake);
        loop_defer(host->loop, &host->run);
    } else if (at == TIME_NEVER) {
        loop_timer_clear(host->loop, &host->wake);
    } else {
        loop_timer_set(host->loop, &host->wake, at);
    }
}

static void run_controllers(void *arg)
{
    struct host *host = arg;
    bool is_stopping = host->stopped != NULL && host->is_guest_gone;
    if (host->manager != NULL && !is_stopping)
        manager_run(host->manager, KEYS_PER_TURN);
}

static const struct world_ops WORLD_OPS = {
    .now = world_now, .steady = world_steady, .submit = world_submit, .wake = world_wake};

/* ---- metrics that only the host knows ---- */

static void more_metrics(void *arg, struct str *out)
{
    struct host *host = arg;
    struct embedded_stats stats = embedded_stats(host->store);
    if (host->guest != NULL)
        host->guest->metrics(host->guest->arg, out);
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_SELF, &usage); /* zeros are better than no metrics */
    double cpu = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    str_addf(out,
             "# HELP muster_commits_total Batches made durable.\n"
             "# TYPE muster_commits_total counter\nmuster_commits_total %llu\n"
             "# HELP muster_committed_writes_total Writes in them.\n"
             "# TYPE muster_committed_writes_total counter\nmuster_committed_writes_total %llu\n"
             "# HELP muster_refused_commits_total Batches that the disk did not take.\n"
             "# TYPE muster_refused_commits_total counter\nmuster_refused_commits_total %llu\n"
             "# HELP process_cpu_seconds_total CPU time used.\n"
             "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %.3f\n"
             "# HELP muster_connections Open connections.\n"
             "# TYPE muster_connections gauge\nmuster_connections %zu\n",
             (unsigned long long)stats.batches, (unsigned long long)stats.rows,
             (unsigned long long)stats.refused_batches, cpu, http_server_connections(host->http));
}

/* ---- starting ---- */

/* Somebody may have been generous with the rights of what earlier runs left here. */
static void close_secrets(const struct host *host)
{
    static const char *const NAMES[] = {"muster.db", "token.key", "pki/ca.key", "access.log"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        scoped_free char *path = mem_printf("%s/%s", host->data, NAMES[i]);
        struct stat st;
        if (stat(path, &st) < 0 || (st.st_mode & 077) == 0)
            continue;
        log_warn("host.secret_was_open file=%s mode=%03o", path, (unsigned)st.st_mode & 0777);
        if (chmod(path, 0600) < 0)
            log_warn("host.secret_stays_open file=%s errno=%d", path, errno);
    }
}

/* Before anybody is served, the namespaces that are always there are there, durably. Waiting is
 * fine: nobody else is waiting yet. */
static int make_namespaces(struct host *host, struct err *err)
{
    embedded_bootstrap(host->store);
    while (embedded_busy(host->store)) {
        struct pollfd pollfd = {.fd = sqlite_disk_fd(host->disk), .events = POLLIN};
        embedded_flush(host->store);
        if (poll(&pollfd, 1, -1) > 0)
            sqlite_disk_dispatch(host->disk);
    }
    const char *trouble = embedded_stats(host->store).trouble;
    return trouble ? err_set(err, -EIO, "cannot store anything in '%s': %s", host->data, trouble)
                   : 0;
}

static int open_store(struct host *host, const struct host_options *options, struct err *err)
{
    scoped_free char *path = mem_printf("%s/muster.db", host->data);
    struct sqlite_options disk = {.path = path, .sync_full = 1};
    int r = sqlite_disk_open(&disk, &host->disk, err);
    if (r < 0)
        return r;
    struct embedded_options store = {
        .disk = host->disk,
        .window_changes = options->window_changes ? options->window_changes : WINDOW_CHANGES,
        .now = host_now,
        .on_dirty = host_dirty,
        .arg = host};
    if (RAND_bytes((unsigned char *)&store.seed, sizeof(store.seed)) != 1)
        return err_set(err, -EIO, "no random numbers");
    r = embedded_open(&store, &host->store, err);
    if (r < 0)
        return r;
    host->commits = feed_watch(host->store->feed, (struct watch_filter){0}, tell_commit, host);
    host->disk_io = loop_io_add(host->loop, sqlite_disk_fd(host->disk), EPOLLIN, disk_ready, host);
    return make_namespaces(host, err);
}

static void start_controllers(struct host *host)
{
    host->world.ops = &WORLD_OPS;
    host->world.cache = host->store->cache;
    host->world.feed = host->store->feed;
    rng_seed(&host->world.rng, (uint64_t)loop_wall(host->loop));
    VEC(const struct controller *) all = {0};
    for (size_t i = 0; CONTROLLERS[i] != NULL; i++)
        vec_push(&all, CONTROLLERS[i]);
    const struct controller *own = NULL;
    for (size_t i = 0;
         host->guest != NULL && (own = host->guest->controller(host->guest->arg, i)) != NULL; i++)
        vec_push(&all, own);
    vec_push(&all, NULL);
    host->manager = manager_new(&host->world, all.items);
    vec_done(&all);
}

static int start_api(struct host *host, const struct log_source *logs, struct err *err)
{
    scoped_free char *key_path = mem_printf("%s/token.key", host->data);
    scoped_free char *log_path = mem_printf("%s/access.log", host->data);
    int r = token_key_open(key_path, &host->key, err);
    if (r < 0)
        return r;
    struct api_options api = {.loop = host->loop,
                              .store = host->store,
                              .manager = host->manager,
                              .key = &host->key,
                              .access_log = log_path,
                              .more_metrics = more_metrics,
                              .trouble = host_trouble,
                              .arg = host,
                              .logs = logs};
    if (host->guest != NULL && host->guest->usage != NULL)
        api.usage = host->guest->usage(host->guest->arg);
    if (host->guest != NULL && host->guest->logs != NULL)
        api.logs = host->guest->logs(host->guest->arg);
    r = api_new(&api, &host->api, err);
    if (r < 0)
        return r;
    struct http_server_options http = {.may_send = api_may_send,
                                       .on_request = api_on_request,
                                       .on_done = api_on_done,
                                       .arg = host->api};
    return http_server_new(host->loop, &http, &host->http, err);
}

static int open_sockets(struct host *host, const char *address, struct err *err)
{
    host->socket_path = mem_printf("%s/muster.sock", host->data);
    int fd = -1;
    int r = socket_listen_unix(host->socket_path, &fd, err);
    if (r == 0)
        r = http_server_listen(host->http, fd, NULL, err);
    if (r < 0)
        return r;
    char bound_host[256];
    int port = 0;
    r = socket_listen_tcp(address, &fd, bound_host, &port, err);
    if (r < 0)
        return r;
    scoped_free char *pki_dir = mem_printf("%s/pki", host->data);
    r = pki_open(pki_dir, bound_host, &host->pki, err);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    bool v6 = strchr(bound_host, ':') != NULL;
    host->url = mem_printf("https://%s%s%s:%d", v6 ? "[" : "", bound_host, v6 ? "]" : "", port);
    return http_server_listen(host->http, fd, host->pki.server, err);
}

static int write_kubeconfigs(struct host *host, struct err *err)
{
    static const struct {
        enum role role;
        const char *file;
    } WHO[] = {{ROLE_ADMIN, "kubeconfig"}, {ROLE_VIEW, "view.kubeconfig"}};
    for (size_t i = 0; i < ARRAY_LEN(WHO); i++) {
        struct identity who = {.role = WHO[i].role};
        (void)snprintf(who.name, sizeof(who.name), "%s", role_name(who.role));
        scoped_str token = {0};
        token_make(&host->key, &who, &token);
        scoped_free char *path = mem_printf("%s/%s", host->data, WHO[i].file);
        struct kubeconfig config = {.server = host->url,
                                    .ca_pem = host->pki.ca_pem,
                                    .user = who.name,
                                    .token = str_text(&token)};
        int r = kubeconfig_write(path, &config, err);
        if (r < 0)
            return r;
    }
    host->kubeconfig = mem_printf("%s/kubeconfig", host->data);
    return 0;
}

static char *absolute(const char *path)
{
    char *resolved = realpath(path, NULL);
    char *copy = mem_strdup(resolved ? resolved : path);
    free(resolved); /* made by realpath, not by mem_alloc */
    return copy;
}

static void drain_step(void *arg);

/* Whatever fails later, host_free() finds everything in a state that it can take down. */
static struct host *host_new(struct loop *loop, const char *data)
{
    struct host *host = mem_zalloc(sizeof(*host));
    host->loop = loop;
    host->data = absolute(data);
    loop_task_init(&host->flush, host_flush, host);
    loop_task_init(&host->run, run_controllers, host);
    loop_timer_init(&host->wake, run_controllers, host);
    loop_timer_init(&host->drain, drain_step, host);
    return host;
}

int host_start(struct loop *loop, const struct host_options *options, struct host **ret_host,
               struct err *err)
{
    int r = dir_make(options->data, 0700, err);
    if (r < 0)
        return r;
    struct host *host = host_new(loop, options->data);
    host->world.configuration = options->configuration;
    close_secrets(host);
    r = open_store(host, options, err);
    if (r == 0 && options->guest != NULL) {
        host->guest = options->guest;
        r = host->guest->open(host->guest->arg, host->data, err);
    }
    if (r == 0) {
        start_controllers(host);
        r = start_api(host, options->logs, err);
    }
    if (r == 0)
        r = open_sockets(host, options->listen, err);
    if (r == 0)
        r = write_kubeconfigs(host, err);
    if (r < 0) {
        host_free(host);
        return r;
    }
    *ret_host = host;
    return 0;
}

/* ---- stopping ---- */

static void drain_step(void *arg)
{
    struct host *host = arg;
    time_ms now = loop_now(host->loop);
    if (!host->is_draining) {
        host->is_draining = true;
        api_end_streams(host->api);
        http_server_drain(host->http);
    }
    bool idle = !embedded_busy(host->store) && http_server_connections(host->http) == 0;
    if (idle || now >= host->drain_until) {
        host->stopped(host->stopped_arg);
        return;
    }
    loop_timer_set(host->loop, &host->drain, now + 5);
}

static void drain(void *arg)
{
    struct host *host = arg;
    if (host->is_guest_gone)
        return;
    host->is_guest_gone = true;
    host->drain_until = loop_now(host->loop) + DRAIN_MS;
    /* The last words of pods are still on their way to those who follow their logs. */
    time_ms wait = host->guest != NULL ? LAST_WORDS_MS : 0;
    loop_timer_set(host->loop, &host->drain, loop_now(host->loop) + wait);
}

/* Pods end first, and their ends can be watched; then clients are told goodbye. */
void host_stop(struct host *host, void (*stopped)(void *arg), void *arg)
{
    host->stopped = stopped;
    host->stopped_arg = arg;
    if (host->is_guest_gone)
        stopped(arg); /* asked again: clients are not waited for */
    else if (host->guest == NULL)
        drain(host);
    else {
        api_end_begins(host->api);
        host->guest->stop(host->guest->arg, drain, host);
    }
}

void host_free(struct host *host)
{
    if (host == NULL)
        return;
    manager_free(host->manager);
    if (host->api != NULL)
        api_end_streams(host->api); /* some read what is the guest's */
    loop_timer_clear(host->loop, &host->wake);
    loop_timer_clear(host->loop, &host->drain);
    loop_task_cancel(host->loop, &host->run);
    http_server_free(host->http);
    if (host->guest != NULL)
        host->guest->close(host->guest->arg); /* nobody reads its logs any more */
    loop_task_cancel(host->loop, &host->flush);
    loop_io_del(host->disk_io); /* before its descriptor is closed */
    if (host->store != NULL)
        embedded_flush(host->store); /* a hasty stop may have left writes that wait for a turn */
    if (host->disk != NULL)
        host->disk->ops->close(host->disk); /* the batches under way end and are told */
    if (host->commits != NULL)
        feed_unwatch(host->commits);
    embedded_close(host->store);
    api_free(host->api);
    pki_done(&host->pki);
    if (host->socket_path != NULL)
        (void)unlink(host->socket_path); /* the next start replaces it anyway */
    mem_free(host->data);
    mem_free(host->socket_path);
    mem_free(host->url);
    mem_free(host->kubeconfig);
    mem_free(host);
}

void host_configure(struct host *host, const struct configuration *configuration)
{
    host->world.configuration = configuration;
    if (host->manager != NULL)
        manager_configure(host->manager);
}

struct store *host_store(struct host *host)
{
    return host->store;
}

const char *host_url(const struct host *host)
{
    return host->url;
}

const char *host_kubeconfig(const struct host *host)
{
    return host->kubeconfig;
}

const char *host_socket(const struct host *host)
{
    return host->socket_path;
}
