// SPDX-License-Identifier: Apache-2.0
/* cordon, uncordon, drain: taking a node out of use and back, in kubectl's words. */
#include "base/mem.h"
#include "cli/vigil.h"
#include "model/cell.h"
#include <errno.h>

#define TRIES 5
#define MIRROR_NOTE "kubernetes.io/config.mirror"

const struct opt OPTS_CORDON[] = {{0}};
const struct opt OPTS_DRAIN[] = {
    {"force", 0, NULL, "Also pods that nobody makes anew elsewhere."},
    {"grace-period", 0, "SECONDS", "Time that each pod gets to end; less than 0: its own.",
     .fallback = "-1"},
    {"timeout", 0, "DURATION", "Give up after this; 0 waits for ever.", .fallback = "0s"},
    {0},
};

/* ---- whether it takes new pods ---- */

static int put_node(struct cli *cli, const char *target, yyjson_mut_doc *doc, int *ret_status)
{
    scoped_str body = {0};
    struct client_response res = {0};
    json_write(yyjson_mut_doc_get_root(doc), &body);
    struct request req = {.method = "PUT", .target = target, .body = {str_text(&body), body.len}};
    int exit_code = cli_call(cli, &req, &res);
    if (exit_code != CLI_OK)
        return exit_code;
    *ret_status = res.status;
    if (res.status > 299 && res.status != 409)
        exit_code = cli_refusal(cli, res.status, (struct sv){str_text(&res.body), res.body.len});
    client_response_done(&res);
    return exit_code;
}

static int set_schedulable(struct cli *cli, const char *name, bool schedulable)
{
    scoped_str target = {0};
    target_object(&KIND_NODE, NULL, name, &target);
    int status = 409, exit_code = CLI_OK;
    for (int i = 0; i < TRIES && status == 409 && exit_code == CLI_OK; i++) {
        scoped_json *node = NULL;
        exit_code = cli_fetch(cli, &(struct request){.target = str_text(&target)}, &node);
        if (exit_code != CLI_OK)
            return exit_code;
        yyjson_val *root = yyjson_doc_get_root(node);
        const char *word = schedulable ? "uncordoned" : "cordoned";
        if (yyjson_get_bool(json_at(root, "spec.unschedulable")) != schedulable) {
            fprintf(cli->out, "node/%s already %s\n", name, word);
            return CLI_OK;
        }
        scoped_json_mut *doc = yyjson_doc_mut_copy(node, NULL);
        yyjson_mut_val *mut = yyjson_mut_doc_get_root(doc);
        json_mut_set(doc, mut, "spec.unschedulable",
                     schedulable ? NULL : yyjson_mut_bool(doc, true));
        exit_code = put_node(cli, str_text(&target), doc, &status);
        if (exit_code == CLI_OK && status <= 299)
            fprintf(cli->out, "node/%s %s\n", name, word);
    }
    if (exit_code == CLI_OK && status == 409) {
        struct err err = {0};
        (void)err_set(&err, -EAGAIN, "node %s is being changed by others all the time", name);
        (void)err_hint(&err, "try again");
        return cli_error(cli, CLI_FAILED, &err);
    }
    return exit_code;
}

static int cordon(struct cli *cli, int argc, char **argv, bool schedulable)
{
    int exit_code = cli_connect(cli);
    for (int i = 0; i < argc && exit_code == CLI_OK; i++)
        exit_code = set_schedulable(cli, argv[i], schedulable);
    return exit_code;
}

int verb_cordon(struct cli *cli, int argc, char **argv)
{
    return cordon(cli, argc, argv, false);
}

int verb_uncordon(struct cli *cli, int argc, char **argv)
{
    return cordon(cli, argc, argv, true);
}

/* ---- its pods ---- */

struct drain {
    struct cli *cli;
    const char *node;
    long grace_s;
    time_ms deadline;
    struct items pods;
    struct str alone; /* pods that nobody makes anew */
};

static void add_pod(struct drain *drain, yyjson_val *pod)
{
    const char *name = json_str_at(pod, "metadata.name");
    const char *ns = json_str_at(pod, "metadata.namespace");
    const char *phase = json_str_at(pod, "status.phase");
    bool is_over = str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
    if (yyjson_obj_get(json_at(pod, "metadata.annotations"), MIRROR_NOTE) != NULL)
        return;
    if (cell_controller(pod) == NULL && !is_over)
        str_addf(&drain->alone, "%s%s/%s", drain->alone.len > 0 ? ", " : "", ns, name);
    items_add(&drain->pods, &KIND_POD, ns, name);
    vec_last(&drain->pods.list)->uid = mem_strdup(json_str_at(pod, "metadata.uid"));
}

static int find_pods(struct drain *drain)
{
    scoped_str target = {0};
    scoped_json *list = NULL;
    scoped_free char *selector = mem_printf("spec.nodeName=%s", drain->node);
    target_collection(&KIND_POD, NULL, &target);
    target_query(&target, "fieldSelector", selector);
    int exit_code = cli_fetch(drain->cli, &(struct request){.target = str_text(&target)}, &list);
    if (exit_code != CLI_OK)
        return exit_code;
    size_t i, n;
    yyjson_val *pod;
    yyjson_arr_foreach(json_at(yyjson_doc_get_root(list), "items"), i, n, pod)
    {
        add_pod(drain, pod);
    }
    if (drain->alone.len == 0 || opt_flag(&drain->cli->opts, "force"))
        return CLI_OK;
    struct err err = {0};
    (void)err_set(&err, -EPERM, "nobody makes these pods anew elsewhere: %s",
                  str_text(&drain->alone));
    (void)err_hint(&err, "--force evicts them too; the node stays cordoned");
    return cli_error(drain->cli, CLI_FAILED, &err);
}

static int evict(struct drain *drain, const struct item *pod)
{
    scoped_str target = {0}, body = {0};
    struct client_response res = {0};
    target_object(&KIND_POD, pod->ns, pod->name, &target);
    str_add(&target, "/eviction");
    str_addf(&body,
             "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"%s\"},\"deleteOptions\":{\"preconditions\":{\"uid\":\"%s\"}",
             pod->name, pod->ns, pod->uid);
    if (drain->grace_s >= 0)
        str_addf(&body, ",\"gracePeriodSeconds\":%ld", drain->grace_s);
    str_add(&body, "}}");
    fprintf(drain->cli->err, "evicting pod %s/%s\n", pod->ns, pod->name);
    struct request req = {
        .method = "POST", .target = str_text(&target), .body = {str_text(&body), body.len}};
    int exit_code = cli_call(drain->cli, &req, &res);
    if (exit_code != CLI_OK)
        return exit_code;
    bool is_gone = res.status == 404 || res.status == 409; /* or another one has its name */
    if (res.status > 299 && !is_gone)
        exit_code =
            cli_refusal(drain->cli, res.status, (struct sv){str_text(&res.body), res.body.len});
    client_response_done(&res);
    return exit_code;
}

static int evict_all(struct drain *drain)
{
    struct vigil vigil = {.cli = drain->cli, .what = VIGIL_DELETE, .deadline = drain->deadline};
    int exit_code = CLI_OK;
    for (size_t i = 0; i < drain->pods.list.len && exit_code == CLI_OK; i++)
        exit_code = evict(drain, &drain->pods.list.items[i]);
    for (size_t i = 0; i < drain->pods.list.len && exit_code == CLI_OK; i++) {
        exit_code = vigil_keep(&vigil, &drain->pods.list.items[i]);
        if (exit_code == CLI_OK)
            fprintf(drain->cli->out, "pod/%s evicted\n", drain->pods.list.items[i].name);
    }
    return exit_code;
}

static int drain_node(struct drain *drain)
{
    int exit_code = set_schedulable(drain->cli, drain->node, false);
    if (exit_code == CLI_OK)
        exit_code = find_pods(drain);
    if (exit_code == CLI_OK)
        exit_code = evict_all(drain);
    if (exit_code == CLI_OK)
        fprintf(drain->cli->out, "node/%s drained\n", drain->node);
    items_done(&drain->pods);
    str_done(&drain->alone);
    return exit_code;
}

int verb_drain(struct cli *cli, int argc, char **argv)
{
    time_ms timeout = 0;
    char *end = NULL;
    const char *grace = opt_get(&cli->opts, "grace-period");
    long grace_s = strtol(grace, &end, 10);
    if (*grace == '\0' || *end != '\0')
        return cli_usage(cli, "option '--grace-period': '%s' is no number of seconds", grace);
    int exit_code = cli_duration(cli, "timeout", &timeout);
    if (exit_code == CLI_OK)
        exit_code = cli_connect(cli);
    for (int i = 0; i < argc && exit_code == CLI_OK; i++) {
        struct drain drain = {.cli = cli,
                              .node = argv[i],
                              .grace_s = grace_s,
                              .deadline = timeout > 0 ? cli_monotonic(cli) + timeout : TIME_NEVER};
        exit_code = drain_node(&drain);
    }
    return exit_code;
}
