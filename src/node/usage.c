// SPDX-License-Identifier: Apache-2.0
#include "node/usage.h"
#include "base/map.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/fd.h"
#include <bsd/sys/queue.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SPACING_MS 1000
#define PROC_BYTES_MAX ((size_t)1 << 20)
#define NS_PER_S 1000000000

/* ---- arithmetic ---- */

void usage_track_start(struct usage_track *track, const struct usage_sample *start)
{
    *track = (struct usage_track){.older = *start, .newer = *start};
}

bool usage_track_is_due(const struct usage_track *track, time_ms now)
{
    return !track->is_read || now - track->newer.at >= SPACING_MS;
}

void usage_track_feed(struct usage_track *track, const struct usage_sample *sample)
{
    track->older = track->newer;
    track->newer = *sample;
    track->is_read = true;
}

time_ms usage_track_window(const struct usage_track *track)
{
    time_ms window = track->newer.at - track->older.at;
    return window > 0 ? window : 1;
}

int64_t usage_track_nano(const struct usage_track *track)
{
    int64_t used = track->newer.cpu_ns - track->older.cpu_ns;
    if (used <= 0)
        return 0; /* a counter that went back was another's */
    return (int64_t)((__int128)used * 1000 / usage_track_window(track));
}

/* ---- who is measured ---- */

struct container {
    LIST_ENTRY(container) siblings;
    char *name, *leaf;
    int pid;
    struct usage_track track;
};

struct pod {
    LIST_HEAD(, container) containers;
};

struct usage {
    struct cgroup_tree *tree;
    char *node, *proc;
    bool is_share;
    struct map *pods; /* by uid */
    struct usage_track machine;
};

static void container_free(struct container *container)
{
    LIST_REMOVE(container, siblings);
    mem_free(container->name);
    mem_free(container->leaf);
    mem_free(container);
}

static struct container *container_of_name(const struct pod *pod, const char *name)
{
    struct container *container;
    LIST_FOREACH(container, &pod->containers, siblings)
    {
        if (str_eq(container->name, name))
            return container;
    }
    return NULL;
}

void usage_begin(struct usage *usage, const struct usage_unit *unit)
{
    struct pod *pod = map_get(usage->pods, unit->uid);
    if (!pod) {
        pod = mem_zalloc(sizeof(*pod));
        LIST_INIT(&pod->containers);
        (void)map_put(usage->pods, unit->uid, pod); /* there was none */
    }
    struct container *container = container_of_name(pod, unit->container);
    if (container)
        container_free(container);
    container = mem_zalloc(sizeof(*container));
    container->name = mem_strdup(unit->container);
    container->leaf = mem_strdup(unit->leaf);
    container->pid = unit->pid;
    struct usage_sample start = {.at = clock_monotonic() - (clock_wall() - unit->started)};
    usage_track_start(&container->track, &start);
    LIST_INSERT_HEAD(&pod->containers, container, siblings);
}

void usage_end(struct usage *usage, const char *uid, const char *container, const char *leaf)
{
    struct pod *pod = map_get(usage->pods, uid);
    struct container *found = pod ? container_of_name(pod, container) : NULL;
    if (!found || !str_eq(found->leaf, leaf))
        return;
    container_free(found);
    if (!LIST_EMPTY(&pod->containers))
        return;
    (void)map_del(usage->pods, uid);
    mem_free(pod);
}

/* ---- reading ---- */

static void proc_read(const struct usage *usage, const char *file, struct str *ret_text)
{
    scoped_free char *path = mem_printf("%s/%s", usage->proc, file);
    (void)file_read(path, PROC_BYTES_MAX, ret_text, NULL); /* what cannot be read is empty */
}

static int64_t ns_of_ticks(int64_t ticks)
{
    return ticks * (NS_PER_S / sysconf(_SC_CLK_TCK));
}

/* One process and the children that it has waited for. */
static void read_process(const struct usage *usage, int pid, struct usage_sample *sample)
{
    scoped_free char *stat_name = mem_printf("%d/stat", pid);
    scoped_free char *statm_name = mem_printf("%d/statm", pid);
    scoped_str stat = {0}, statm = {0};
    int64_t user = 0, system = 0, child_user = 0, child_system = 0, resident = 0;
    proc_read(usage, stat_name, &stat);
    proc_read(usage, statm_name, &statm);
    /* Its name, in brackets, may have anything inside. */
    const char *behind = strrchr(str_text(&stat), ')');
    if (behind && sscanf(behind,
                         ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNd64 " %" SCNd64
                         " %" SCNd64 " %" SCNd64,
                         &user, &system, &child_user, &child_system) == 4)
        sample->cpu_ns = ns_of_ticks(user + system + child_user + child_system);
    if (sscanf(str_text(&statm), "%*u %" SCNd64, &resident) == 1)
        sample->memory_bytes = resident * sysconf(_SC_PAGESIZE);
}

static bool container_read(const struct usage *usage, const char *uid, struct container *container,
                           struct usage_sample *ret_sample)
{
    struct cgroup_usage used = {-1, -1, 0};
    *ret_sample = (struct usage_sample){clock_monotonic(), -1, -1};
    if (container->leaf && cgroup_leaf_usage(usage->tree, uid, container->leaf, &used) == 0) {
        ret_sample->cpu_ns = used.cpu_ns;
        ret_sample->memory_bytes = used.memory_bytes;
    }
    if (ret_sample->cpu_ns < 0 && container->pid > 0)
        read_process(usage, container->pid, ret_sample);
    return ret_sample->cpu_ns >= 0;
}

static bool machine_read(const struct usage *usage, struct usage_sample *ret_sample)
{
    scoped_str stat = {0}, meminfo = {0};
    int64_t user = 0, nice = 0, system = 0, irq = 0, softirq = 0, total = 0, available = 0;
    proc_read(usage, "stat", &stat);
    proc_read(usage, "meminfo", &meminfo);
    if (sscanf(str_text(&stat),
               "cpu %" SCNd64 " %" SCNd64 " %" SCNd64 " %*d %*d %" SCNd64 " %" SCNd64, &user, &nice,
               &system, &irq, &softirq) != 5)
        return false;
    const char *line = strstr(str_text(&meminfo), "MemAvailable:");
    bool has_memory = sscanf(str_text(&meminfo), "MemTotal: %" SCNd64, &total) == 1 && line &&
                      sscanf(line, "MemAvailable: %" SCNd64, &available) == 1;
    *ret_sample =
        (struct usage_sample){.at = clock_monotonic(),
                              .cpu_ns = ns_of_ticks(user + nice + system + irq + softirq),
                              .memory_bytes = has_memory ? (total - available) * 1024 : 0};
    return true;
}

/* ---- the port ---- */

static void tell(const struct usage_track *track, const char *name, usage_fn *each, void *each_arg)
{
    struct usage_reading reading = {
        .name = name,
        .at = clock_wall() - (clock_monotonic() - track->newer.at),
        .window_ms = usage_track_window(track),
        .cpu_nano = usage_track_nano(track),
        .memory_bytes = track->newer.memory_bytes > 0 ? track->newer.memory_bytes : 0,
    };
    each(each_arg, &reading);
}

static void usage_pod(void *arg, const char *uid, usage_fn *each, void *each_arg)
{
    struct usage *usage = arg;
    struct pod *pod = map_get(usage->pods, uid);
    struct container *container;
    if (!pod)
        return;
    LIST_FOREACH(container, &pod->containers, siblings)
    {
        struct usage_sample sample;
        if (usage_track_is_due(&container->track, clock_monotonic()) &&
            container_read(usage, uid, container, &sample))
            usage_track_feed(&container->track, &sample);
        if (container->track.is_read)
            tell(&container->track, container->name, each, each_arg);
    }
}

static void add_reading(void *arg, const struct usage_reading *one)
{
    struct usage_reading *sum = arg;
    sum->at = one->at < sum->at ? one->at : sum->at;
    sum->window_ms = one->window_ms > sum->window_ms ? one->window_ms : sum->window_ms;
    sum->cpu_nano += one->cpu_nano;
    sum->memory_bytes += one->memory_bytes;
}

struct summing {
    struct usage *usage;
    struct usage_reading sum;
};

static bool add_pod(void *arg, const char *uid, void *pod)
{
    struct summing *summing = arg;
    (void)pod;
    usage_pod(summing->usage, uid, add_reading, &summing->sum);
    return true;
}

static void tell_share(struct usage *usage, usage_fn *each, void *each_arg)
{
    struct summing summing = {usage, {.name = usage->node, .at = clock_wall(), .window_ms = 1}};
    (void)map_each(usage->pods, add_pod, &summing); /* it never stops early */
    each(each_arg, &summing.sum);
}

static void usage_node(void *arg, const char *name, usage_fn *each, void *each_arg)
{
    struct usage *usage = arg;
    struct usage_sample sample;
    if (!str_eq(name, usage->node))
        return;
    if (usage->is_share) {
        tell_share(usage, each, each_arg);
        return;
    }
    if (usage_track_is_due(&usage->machine, clock_monotonic()) && machine_read(usage, &sample))
        usage_track_feed(&usage->machine, &sample);
    if (usage->machine.is_read)
        tell(&usage->machine, usage->node, each, each_arg);
}

struct usage *usage_new(const struct usage_options *options)
{
    struct usage *usage = mem_zalloc(sizeof(*usage));
    struct usage_sample start = {.at = clock_monotonic()};
    usage->tree = options->tree;
    usage->node = mem_strdup(options->node);
    usage->is_share = options->is_share;
    usage->proc = mem_strdup(options->proc);
    usage->pods = map_new();
    (void)machine_read(usage, &start); /* without it the first answer is the average since boot */
    usage_track_start(&usage->machine, &start);
    return usage;
}

static bool pod_free(void *arg, const char *key, void *value)
{
    struct pod *pod = value;
    (void)arg, (void)key;
    while (!LIST_EMPTY(&pod->containers))
        container_free(LIST_FIRST(&pod->containers));
    mem_free(pod);
    return true;
}

void usage_free(struct usage *usage)
{
    if (!usage)
        return;
    (void)map_each(usage->pods, pod_free, NULL);
    map_free(usage->pods);
    mem_free(usage->node);
    mem_free(usage->proc);
    mem_free(usage);
}

struct usage_source usage_port(struct usage *usage)
{
    return (struct usage_source){usage_pod, usage_node, usage};
}
