// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/logfeed.h"
#include "cli/podview.h"
#include "cli/target.h"
#include "model/jobset.h"
#include <errno.h>
#include <stdlib.h>

#define FOLLOWED_MAX 256 /* each is a thread here and a stream of the server */
#define TAIL_OF_MANY "10"

const struct opt OPTS_LOGS[] = {
    {"follow", 'f', NULL, "Go on until the containers have ended."},
    {"previous", 'p', NULL, "The life of the container before this one."},
    {"tail", 0, "LINES", "Only the last lines; -1 is all. With --selector 10 unless given."},
    {"since", 0, "DURATION", "Only what is younger than this, as 5m."},
    {"since-time", 0, "TIME", "Only what is younger than this time, as 2026-01-02T03:04:05Z."},
    {"timestamps", 0, NULL, "Begin each line with its time."},
    {"container", 'c', "NAME", "This container of each pod."},
    {"all-containers", 0, NULL, "All containers of each pod, those for its start too."},
    {"selector", 'l', "SELECTOR", "All pods with these labels."},
    {"prefix", 0, NULL, "Begin each line with its pod and container; so it is with several."},
    {"limit-bytes", 0, "BYTES", "Only so many bytes of each container."},
    {"namespace", 'n', "NAMESPACE", "The namespace of the pods.", .complete = COMPLETE_NAMESPACE},
    {0},
};

struct origin { /* what is to be printed */
    char *pod;
    char *container; /* NULL: the one that the server chooses */
};

struct logs_run {
    struct cli *cli;
    const char *ns;
    const char *container;
    bool all_containers;
    VEC(struct origin) origins;
};

/* ---- which containers ---- */

static void add_origin(struct logs_run *run, const char *pod, const char *container)
{
    struct origin origin = {mem_strdup(pod), mem_strdup(container)};
    vec_push(&run->origins, origin);
}

static void add_containers(struct logs_run *run, yyjson_val *pod)
{
    static const char *const LISTS[] = {"spec.initContainers", "spec.containers",
                                        "spec.ephemeralContainers"};
    const char *name = json_str_at(pod, "metadata.name");
    for (size_t list = 0; list < ARRAY_LEN(LISTS); list++) {
        size_t i, n;
        yyjson_val *container;
        yyjson_arr_foreach(json_at(pod, LISTS[list]), i, n, container)
        {
            add_origin(run, name, json_str_at(container, "name"));
        }
    }
}

/* The container is named where it is known, so that the prefix shows it. */
static void add_pod(struct logs_run *run, yyjson_val *pod)
{
    yyjson_val *containers = json_at(pod, "spec.containers");
    const char *only = yyjson_arr_size(containers) == 1
                           ? json_str_at(yyjson_arr_get_first(containers), "name")
                           : NULL;
    if (run->all_containers)
        add_containers(run, pod);
    else
        add_origin(run, json_str_at(pod, "metadata.name"), run->container ? run->container : only);
}

static bool is_owned(yyjson_val *pod, const char *uid)
{
    size_t i, n;
    yyjson_val *owner;
    yyjson_arr_foreach(json_at(pod, "metadata.ownerReferences"), i, n, owner)
    {
        if (str_eq(json_str_at(owner, "uid"), uid))
            return true;
    }
    return false;
}

/* The pods with these labels and this owner, either of which may be NULL. */
static int add_listed(struct logs_run *run, const char *labels, const char *owner_uid)
{
    scoped_str url = {0};
    scoped_json *doc = NULL;
    target_collection(&KIND_POD, run->ns, &url);
    if (labels != NULL)
        target_query(&url, "labelSelector", labels);
    int exit_code = cli_fetch(run->cli, &(struct request){.target = str_text(&url)}, &doc);
    if (exit_code != CLI_OK)
        return exit_code;
    size_t i, n;
    yyjson_val *pod;
    yyjson_arr_foreach(json_at(yyjson_doc_get_root(doc), "items"), i, n, pod)
    {
        if (owner_uid == NULL || is_owned(pod, owner_uid))
            add_pod(run, pod);
    }
    return CLI_OK;
}

/* A job or another owner: its selector tells, or else who its pods belong to. */
static int add_owner(struct logs_run *run, const struct kind *kind, const char *name)
{
    scoped_str url = {0}, labels = {0};
    scoped_json *doc = NULL;
    target_object(kind, kind->namespaced ? run->ns : NULL, name, &url);
    int exit_code = cli_fetch(run->cli, &(struct request){.target = str_text(&url)}, &doc);
    if (exit_code != CLI_OK)
        return exit_code;
    yyjson_val *object = yyjson_doc_get_root(doc);
    podview_selector(object, &labels);
    if (labels.len == 0 && str_eq(kind->name, "JobSet")) /* its pods are its jobs' */
        str_addf(&labels, JOBSET_LABEL_NAME "=%s", name);
    size_t before = run->origins.len;
    exit_code = labels.len > 0 ? add_listed(run, str_text(&labels), NULL)
                               : add_listed(run, NULL, json_str_at(object, "metadata.uid"));
    if (exit_code != CLI_OK || run->origins.len > before)
        return exit_code;
    struct err err = {0};
    (void)err_set(&err, -ENOENT, "%s/%s has no pods", kind->singular, name);
    (void)err_hint(&err, "see 'muster describe %s %s'", kind->singular, name);
    return cli_error(run->cli, CLI_FAILED, &err);
}

static int add_named_pod(struct logs_run *run, const char *name)
{
    if (!run->all_containers) {
        add_origin(run, name, run->container);
        return CLI_OK;
    }
    scoped_str url = {0};
    scoped_json *doc = NULL;
    target_object(&KIND_POD, run->ns, name, &url);
    int exit_code = cli_fetch(run->cli, &(struct request){.target = str_text(&url)}, &doc);
    if (exit_code == CLI_OK)
        add_pod(run, yyjson_doc_get_root(doc));
    return exit_code;
}

static int add_word(struct logs_run *run, const char *word)
{
    const char *slash = strchr(word, '/');
    if (slash == NULL)
        return add_named_pod(run, word);
    scoped_free char *kind_word = mem_strndup(word, (size_t)(slash - word));
    const struct kind *kind = target_kind(run->cli, kind_word);
    if (kind == NULL)
        return CLI_USAGE;
    if (slash[1] == '\0' || strchr(slash + 1, '/') != NULL)
        return cli_usage(run->cli, "'%s' is not KIND/NAME", word);
    return kind == &KIND_POD ? add_named_pod(run, slash + 1) : add_owner(run, kind, slash + 1);
}

static int find_origins(struct logs_run *run, int argc, char **argv)
{
    const char *selector = opt_get(&run->cli->opts, "selector");
    if (selector != NULL) {
        int exit_code = add_listed(run, selector, NULL);
        if (exit_code == CLI_OK && run->origins.len == 0)
            fprintf(run->cli->err, "No pods with these labels in %s namespace.\n", run->ns);
        return exit_code;
    }
    int exit_code = CLI_OK;
    for (int i = 0; i < argc && exit_code == CLI_OK; i++)
        exit_code = add_word(run, argv[i]);
    return exit_code;
}

/* ---- the options ---- */

static bool is_number(const char *text, long long least)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && value >= least;
}

static int parse_options(struct cli *cli, struct logfeed_options *options)
{
    const struct opt_values *opts = &cli->opts;
    time_ms since = 0;
    options->follow = opt_flag(opts, "follow");
    options->previous = opt_flag(opts, "previous");
    options->timestamps = opt_flag(opts, "timestamps");
    options->since = opt_get(opts, "since-time");
    options->limit = opt_get(opts, "limit-bytes");
    options->tail = opt_get(opts, "tail");
    if (options->tail == NULL && opt_is_given(opts, "selector"))
        options->tail = TAIL_OF_MANY;
    if (options->tail != NULL && !is_number(options->tail, -1))
        return cli_usage(cli, "option '--tail': '%s' is not a number of lines", options->tail);
    if (str_eq(options->tail, "-1"))
        options->tail = NULL;
    if (options->limit != NULL && !is_number(options->limit, 1))
        return cli_usage(cli, "option '--limit-bytes': '%s' is not a number above 0",
                         options->limit);
    if (!opt_is_given(opts, "since"))
        return CLI_OK;
    if (options->since != NULL)
        return cli_usage(cli, "--since and --since-time do not go together");
    int exit_code = cli_duration(cli, "since", &since);
    if (exit_code == CLI_OK && since <= 0)
        return cli_usage(cli, "option '--since' must be above 0");
    options->since_s = (since + 999) / 1000;
    return exit_code;
}

static int check_words(struct cli *cli, int argc)
{
    const struct opt_values *opts = &cli->opts;
    if (argc == 0 && !opt_is_given(opts, "selector"))
        return cli_usage(cli, "whose logs? Name a pod, KIND/NAME or --selector");
    if (argc > 0 && opt_is_given(opts, "selector"))
        return cli_usage(cli, "names and --selector do not go together");
    if (opt_flag(opts, "all-containers") && opt_is_given(opts, "container"))
        return cli_usage(cli, "--all-containers and --container do not go together");
    return CLI_OK;
}

static int feed_all(struct logs_run *run, struct logfeed_options *options)
{
    struct cli *cli = run->cli;
    size_t n = run->origins.len;
    if (options->follow && n > FOLLOWED_MAX) {
        struct err err = {0};
        (void)err_set(&err, -E2BIG, "%zu containers are too many to follow at once", n);
        (void)err_hint(&err,
                       "narrow it down to %d with --selector or --container, or leave "
                       "--follow out",
                       FOLLOWED_MAX);
        return cli_error(cli, CLI_FAILED, &err);
    }
    options->prefix = opt_is_given(&cli->opts, "prefix") ? opt_flag(&cli->opts, "prefix") : n > 1;
    struct logfeed *feed = logfeed_new(cli, options);
    for (size_t i = 0; i < n; i++)
        logfeed_add(feed, run->ns, run->origins.items[i].pod, run->origins.items[i].container);
    return logfeed_finish(feed);
}

int verb_logs(struct cli *cli, int argc, char **argv)
{
    struct logfeed_options options = {0};
    int exit_code = check_words(cli, argc);
    if (exit_code == CLI_OK)
        exit_code = parse_options(cli, &options);
    if (exit_code == CLI_OK)
        exit_code = cli_connect(cli);
    if (exit_code != CLI_OK)
        return exit_code;
    struct logs_run run = {.cli = cli,
                           .ns = cli_namespace(cli),
                           .container = opt_get(&cli->opts, "container"),
                           .all_containers = opt_flag(&cli->opts, "all-containers")};
    exit_code = find_origins(&run, argc, argv);
    if (exit_code == CLI_OK)
        exit_code = feed_all(&run, &options);
    for (size_t i = 0; i < run.origins.len; i++) {
        mem_free(run.origins.items[i].pod);
        mem_free(run.origins.items[i].container);
    }
    vec_done(&run.origins);
    return exit_code;
}
