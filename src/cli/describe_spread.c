// SPDX-License-Identifier: Apache-2.0
/* Where the vreplicas of a vpod are, as bars: each zone, the nodes in it, the pods on those. */
#include "base/map.h"
#include "base/mem.h"
#include "cli/describe.h"
#include "cli/grid.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BAR_MAX 30 /* cells of the longest bar */
#define NAME_WIDTH 26
#define ZONE_LABEL "topology.kubernetes.io/zone"

struct spot { /* the vreplicas of one pod */
    const char *zone, *node, *pod;
    const char *note; /* what is wrong with its node, or "" */
    int64_t vreplicas;
};
typedef VEC(struct spot) spots;

static const char *trouble_of(yyjson_val *node)
{
    if (json_find(json_at(node, "spec.taints"), "key", "node.kubernetes.io/unreachable") != NULL)
        return " unreachable";
    return yyjson_get_bool(json_at(node, "spec.unschedulable")) ? " cordoned" : "";
}

static void find_spots(yyjson_val *vpod, yyjson_val *pods, yyjson_val *nodes, spots *out)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(vpod, "status.placements"), i, n, item)
    {
        const char *name = json_str_at(item, "podName");
        const char *node_name =
            json_str_at(json_find(json_at(pods, "items"), "metadata.name", name), "spec.nodeName");
        yyjson_val *node = node_name != NULL
                               ? json_find(json_at(nodes, "items"), "metadata.name", node_name)
                               : NULL;
        const char *zone =
            yyjson_get_str(yyjson_obj_get(json_at(node, "metadata.labels"), ZONE_LABEL));
        struct spot spot = {.zone = zone != NULL ? zone : "<no zone>",
                            .node = node_name != NULL ? node_name : "<no node>",
                            .pod = name,
                            .note = trouble_of(node),
                            .vreplicas = json_int_at(item, "vreplicas", 0)};
        vec_push(out, spot);
    }
}

static int by_place(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    int zone = strcmp(x->zone, y->zone), node = strcmp(x->node, y->node);
    if (zone != 0 || node != 0)
        return zone != 0 ? zone : node;
    size_t xlen = strlen(x->pod), ylen = strlen(y->pod); /* pod-10 behind pod-2 */
    return xlen != ylen ? (xlen < ylen ? -1 : 1) : strcmp(x->pod, y->pod);
}

static void bar(int indent, const char *name, int64_t count, int64_t most, struct str *out)
{
    int64_t cells = most > 0 ? (count * BAR_MAX + most - 1) / most : 0;
    scoped_str safe = {0};
    grid_plain(name, &safe);
    str_addf(out, "%*s%-*s", indent, "", NAME_WIDTH - indent, str_text(&safe));
    for (int64_t i = 0; i < cells; i++)
        str_add(out, "█");
    str_addf(out, " %" PRId64, count);
}

static int64_t sum_while(const spots *all, size_t from, bool nodes)
{
    int64_t sum = 0;
    for (size_t i = from; i < all->len; i++) {
        const struct spot *spot = &all->items[i], *first = &all->items[from];
        if (strcmp(spot->zone, first->zone) != 0 || (nodes && strcmp(spot->node, first->node) != 0))
            break;
        sum += spot->vreplicas;
    }
    return sum;
}

static bool is_first(const spots *all, size_t i, bool nodes)
{
    if (i == 0 || strcmp(all->items[i].zone, all->items[i - 1].zone) != 0)
        return true;
    return nodes && strcmp(all->items[i].node, all->items[i - 1].node) != 0;
}

void describe_spread(yyjson_val *vpod, yyjson_val *pods, yyjson_val *nodes, struct str *out)
{
    spots all = {0};
    int64_t most = 0;
    find_spots(vpod, pods, nodes, &all);
    if (all.len > 1)
        qsort(all.items, all.len, sizeof(*all.items), by_place);
    for (size_t i = 0; i < all.len; i++) {
        int64_t sum = is_first(&all, i, false) ? sum_while(&all, i, false) : 0;
        most = sum > most ? sum : most;
    }
    str_add(out, all.len > 0 ? "Spread:\n" : "Spread:  <none>\n");
    for (size_t i = 0; i < all.len; i++) {
        const struct spot *spot = &all.items[i];
        if (is_first(&all, i, false)) {
            bar(2, spot->zone, sum_while(&all, i, false), most, out);
            str_addc(out, '\n');
        }
        if (is_first(&all, i, true)) {
            bar(4, spot->node, sum_while(&all, i, true), most, out);
            str_addf(out, "%s\n", spot->note);
        }
        bar(6, spot->pod, spot->vreplicas, most, out);
        str_addc(out, '\n');
    }
    int64_t pending = json_int_at(vpod, "status.pending", 0);
    if (pending > 0)
        str_addf(out, "  %" PRId64 " without a place\n", pending);
    vec_done(&all);
}
