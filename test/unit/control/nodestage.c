// SPDX-License-Identifier: Apache-2.0
#include "nodestage.h"
#include "base/mem.h"
#include "model/cell.h"

static void on_samples(void *arg, bool wanted)
{
    ((struct nodestage *)arg)->wants_samples = wanted;
}

static void on_settings(void *arg, int64_t log_bytes, int log_files)
{
    struct nodestage *stage = arg;
    (void)log_files;
    stage->settings_told++;
    stage->log_bytes = log_bytes;
}

void nodestage_open(struct nodestage *stage, bool notifies)
{
    static const char *const LABELS[] = {"zone=a", NULL};
    *stage = (struct nodestage){0};
    sim_clock_init(&stage->clock, STAGE_START);
    struct sim_runtime_options containers = {
        .clock = &stage->clock, .seed = 7, .notifies = notifies};
    stage->runtime = sim_runtime_new(&containers);
    struct runner_options options = {.node = "n",
                                     .runtime = sim_runtime_port(stage->runtime),
                                     .launch = {.name = "n",
                                                .host_ip = "127.0.0.1",
                                                .pod_ip = "127.0.0.1",
                                                .hosts_dir = "/hosts",
                                                .uid = 0,
                                                .cpu_milli = 2000,
                                                .memory_bytes = 1 << 30},
                                     .cores = 2,
                                     .memory_bytes = 1 << 30,
                                     .pods_max = 110,
                                     .labels = LABELS,
                                     .os_image = "Linux",
                                     .kernel = "6.1",
                                     .architecture = "amd64",
                                     .on_samples = on_samples,
                                     .on_settings = on_settings,
                                     .arg = stage};
    stage->runner = runner_new(&options);
    stage->controllers[0] = runner_controller(stage->runner);
    stage->controllers[1] = &CONTROLLER_GARBAGE;
    struct sim_options sim = {
        .seed = 1, .start = STAGE_START, .clock = &stage->clock, .controllers = stage->controllers};
    stage->sim = sim_new(&sim);
    stage_run(stage->sim, 1000);
}

void nodestage_close(struct nodestage *stage)
{
    const char *wrong = sim_runtime_violation(stage->runtime);
    if (wrong != NULL)
        fail_msg("%s", wrong);
    sim_free(stage->sim);
    runner_free(stage->runner);
    sim_runtime_free(stage->runtime);
    sim_clock_done(&stage->clock);
}

void nodestage_pod(struct nodestage *stage, const char *name, const char *annotations,
                   const char *spec)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s','annotations':{%s}},'spec':{'nodeName':'n',%s}}", name,
                   annotations, spec);
    stage_do(stage->sim, stage_write(WRITE_CREATE, &KIND_POD, "default", name, body));
}

void nodestage_delete(struct nodestage *stage, const char *name, int64_t grace_s)
{
    struct write *write = stage_write(WRITE_DELETE, &KIND_POD, "default", name, NULL);
    write->grace_s = grace_s;
    stage_do(stage->sim, write);
}

const struct obj *pod_of(struct nodestage *stage, const char *name)
{
    const struct obj *pod = stage_get(stage->sim, &KIND_POD, "default", name);
    if (pod == NULL)
        fail_msg("there is no pod %s", name);
    return pod;
}

bool pod_is_gone(struct nodestage *stage, const char *name)
{
    return stage_get(stage->sim, &KIND_POD, "default", name) == NULL;
}

const char *uid_of(struct nodestage *stage, const char *name)
{
    return pod_of(stage, name)->meta.uid;
}

const char *pod_says(struct nodestage *stage, const char *name, const char *path)
{
    scoped_free char *full = mem_printf("status.%s", path);
    const char *text = json_str_at(pod_of(stage, name)->root, full);
    return text != NULL ? text : "";
}

yyjson_val *container_of_pod(struct nodestage *stage, const char *name, const char *container)
{
    static const char *const LISTS[] = {"status.initContainerStatuses", "status.containerStatuses"};
    const struct obj *pod = pod_of(stage, name);
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++) {
        size_t i, n;
        yyjson_val *item;
        yyjson_arr_foreach(json_at(pod->root, LISTS[k]), i, n, item)
        {
            if (str_eq(json_str_at(item, "name"), container))
                return item;
        }
    }
    fail_msg("%s says nothing of container %s", name, container);
    return NULL;
}

const char *container_says(struct nodestage *stage, const char *name, const char *container,
                           const char *path)
{
    const char *text = json_str_at(container_of_pod(stage, name, container), path);
    return text != NULL ? text : "";
}

int64_t container_number(struct nodestage *stage, const char *name, const char *container,
                         const char *path)
{
    return json_int_at(container_of_pod(stage, name, container), path, -1);
}

bool is_condition(struct nodestage *stage, const char *name, const char *type, const char *status)
{
    return cell_condition_is(json_at(pod_of(stage, name)->root, "status.conditions"), type, status);
}

char *status_text(struct nodestage *stage, const char *name)
{
    scoped_str text = {0}, out = {0};
    const struct obj *pod = pod_of(stage, name);
    json_write_val(json_at(pod->root, "status"), &text);
    for (const char *at = str_text(&text); *at != '\0'; at++) {
        if (str_starts(at, pod->meta.uid)) {
            str_add(&out, "UID");
            at += strlen(pod->meta.uid) - 1;
        } else if (*at == '.' && at[1 + strspn(at + 1, "0123456789")] == 'Z') {
            at += strspn(at + 1, "0123456789");
        } else {
            str_addc(&out, *at == '"' ? '\'' : *at);
        }
    }
    return str_take(&out);
}

void run_s(struct nodestage *stage, int seconds)
{
    stage_run(stage->sim, (time_ms)seconds * 1000);
}
