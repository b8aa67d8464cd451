// SPDX-License-Identifier: Apache-2.0
/* NodeMetrics and PodMetrics: what is used right now. They are measured for whoever asks and never
 * stored, so they are no part of KINDS. */
#include "base/quantity.h"
#include "model/cell.h"
#include "model/kind.h"

#define METRICS_V1BETA1(name) "io.k8s.metrics.pkg.apis.metrics.v1beta1." name

// clang-format off
static const struct field CONTAINER_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED,
     .doc = "The container's name in its pod."},
    {"usage", F_QUANTITY, MAP, REQUIRED,
     .doc = "What it uses: cpu, averaged over the window, and memory, at the end of it."},
    {0}};
static const struct type TYPE_CONTAINER_METRICS = {
    METRICS_V1BETA1("ContainerMetrics"), "What one container uses.", CONTAINER_FIELDS};

#define FIELDS_WINDOW                                                                              \
    {"timestamp", F_TIME, ONE, REQUIRED,                                                  \
     .doc = "When it was measured: the end of the window."},                                       \
    {"window", F_DURATION, ONE, REQUIRED,                                                 \
     .doc = "The time before the timestamp over which CPU use is averaged."}

static const struct field POD_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    FIELDS_WINDOW,
    {"containers", F_OBJECT, LIST, REQUIRED, .of = &TYPE_CONTAINER_METRICS,
     .doc = "What each of the pod's running containers uses."},
    {0}};
static const struct type TYPE_POD_METRICS = {
    METRICS_V1BETA1("PodMetrics"), "What the containers of a pod use.", POD_FIELDS};

static const struct field NODE_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    FIELDS_WINDOW,
    {"usage", F_QUANTITY, MAP, REQUIRED,
     .doc = "What the machine uses: cpu, averaged over the window, and memory, at the end of it."},
    {0}};
static const struct type TYPE_NODE_METRICS = {
    METRICS_V1BETA1("NodeMetrics"), "What a node uses, whoever uses it.", NODE_FIELDS};
// clang-format on

static quantity amount_at(yyjson_val *root, const char *path)
{
    const char *text = json_str_at(root, path);
    quantity q = 0;
    if (text == NULL || quantity_parse(sv_of(text), &q, NULL) < 0)
        return 0;
    return q;
}

/* Of the node itself, or of all containers together. */
static quantity amount_of(yyjson_val *root, const char *path)
{
    quantity sum = amount_at(root, path);
    size_t i, n;
    yyjson_val *container;
    yyjson_arr_foreach(yyjson_obj_get(root, "containers"), i, n, container)
    {
        (void)quantity_add(sum, amount_at(container, path), &sum); /* far from any limit */
    }
    return sum;
}

static void cell_cpu(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_textf(out, "%lldm", (long long)quantity_milli(amount_of(root, "usage.cpu")));
}

static void cell_memory(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_textf(out, "%lldMi", (long long)quantity_value(amount_of(root, "usage.memory")) >> 20);
}

// clang-format off
static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"CPU", "string", "", "Thousandths of cores, averaged over the window.", .cell = cell_cpu},
    {"Memory", "string", "", "Memory that is held.", .cell = cell_memory},
    {"Window", "string", "", "What CPU use is averaged over.", .path = "window"},
    {0}};
// clang-format on

const struct kind KIND_POD_METRICS = {
    .group = "metrics.k8s.io",
    .version = "v1beta1",
    .name = "PodMetrics",
    .plural = "pods",
    .singular = "",
    .namespaced = true,
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_POD_METRICS,
    .columns = COLUMNS,
};

const struct kind KIND_NODE_METRICS = {
    .group = "metrics.k8s.io",
    .version = "v1beta1",
    .name = "NodeMetrics",
    .plural = "nodes",
    .singular = "",
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_NODE_METRICS,
    .columns = COLUMNS,
};
