// SPDX-License-Identifier: Apache-2.0
#include "cli/target.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>

static void escape(const char *text, struct str *out)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || strchr("-._~", *c) != NULL;
        if (plain)
            str_addc(out, (char)*c);
        else
            str_addf(out, "%%%02X", *c);
    }
}

void target_collection(const struct kind *kind, const char *ns, struct str *out)
{
    if (kind->group[0] == '\0')
        str_addf(out, "/api/%s", kind->version);
    else
        str_addf(out, "/apis/%s/%s", kind->group, kind->version);
    if (kind->namespaced && ns != NULL) {
        str_add(out, "/namespaces/");
        escape(ns, out);
    }
    str_addf(out, "/%s", kind->plural);
}

void target_object(const struct kind *kind, const char *ns, const char *name, struct str *out)
{
    target_collection(kind, ns, out);
    str_addc(out, '/');
    escape(name, out);
}

void target_query(struct str *target, const char *key, const char *value)
{
    str_addc(target, strchr(str_text(target), '?') ? '&' : '?');
    str_addf(target, "%s=", key);
    escape(value, target);
}

const char *target_namespace(const struct cli *cli, const struct kind *kind)
{
    if (!kind->namespaced)
        return NULL;
    bool has_all = opt_find(&cli->opts.set, "all-namespaces", strlen("all-namespaces")) != NULL;
    return has_all && opt_flag(&cli->opts, "all-namespaces") ? NULL : cli_namespace(cli);
}

void target_label(const struct kind *kind, struct str *out)
{
    str_add(out, kind->singular);
    if (kind->group[0] != '\0')
        str_addf(out, ".%s", kind->group);
}

void target_resource(const struct kind *kind, struct str *out)
{
    str_add(out, kind->plural);
    if (kind->group[0] != '\0')
        str_addf(out, ".%s", kind->group);
}

const struct kind *target_kind(struct cli *cli, const char *word)
{
    const char *nearest = NULL;
    const struct kind *kind = kind_of_word(word, &nearest);
    if (kind != NULL)
        return kind;
    struct err err = {0};
    (void)err_set(&err, -EINVAL, "unknown kind '%s'", word);
    if (nearest != NULL)
        (void)err_hint(&err, "did you mean '%s'?", nearest);
    else
        (void)err_hint(&err,
                       "some are pod, job, jobset, workload, node, statefulset and configmap");
    (void)cli_error(cli, CLI_USAGE, &err);
    return NULL;
}

static void add_target(struct targets *targets, const struct kind *kind, const char *name)
{
    vec_push(&targets->list, ((struct target){kind, name}));
    if (targets->list.items[0].kind != kind)
        targets->several_kinds = true;
}

/* A kind that is served in several versions counts once. */
static bool is_listed(const struct targets *targets, const struct kind *kind)
{
    for (size_t i = 0; i < targets->list.len; i++) {
        const struct kind *other = targets->list.items[i].kind;
        if (str_eq(other->plural, kind->plural) && str_eq(other->group, kind->group))
            return true;
    }
    return false;
}

static bool add_category(struct targets *targets, const char *category)
{
    bool any = false;
    for (const struct kind *const *kind = KINDS; *kind != NULL; kind++) {
        if (!kind_in_category(*kind, category))
            continue;
        any = true;
        if (!is_listed(targets, *kind))
            add_target(targets, *kind, NULL);
    }
    return any;
}

static int add_named(struct cli *cli, struct targets *targets, const char *kind_word, int argc,
                     char **argv)
{
    const struct kind *kind = target_kind(cli, kind_word);
    if (kind == NULL)
        return CLI_USAGE;
    for (int i = 0; i < argc; i++) {
        if (argv[i][0] == '\0' || strchr(argv[i], '/') != NULL)
            return cli_usage(cli, "'%s' is not a name of one of the %s", argv[i], kind->plural);
        add_target(targets, kind, argv[i]);
    }
    if (argc == 0)
        add_target(targets, kind, NULL);
    return CLI_OK;
}

/* pods,jobs and categories; `argv` are names, which fit to exactly one kind. */
static int parse_kinds(struct cli *cli, struct targets *targets, int argc, char **argv)
{
    char *rest = targets->words;
    if (strchr(rest, ',') != NULL && argc > 0)
        return cli_usage(cli, "names need one kind, not '%s'", rest);
    if (argc > 0)
        return add_named(cli, targets, rest, argc, argv);
    for (char *word; (word = strsep(&rest, ",")) != NULL;) {
        if (add_category(targets, word))
            continue;
        int exit_code = add_named(cli, targets, word, 0, NULL);
        if (exit_code != CLI_OK)
            return exit_code;
    }
    return CLI_OK;
}

static int parse_pairs(struct cli *cli, struct targets *targets, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        const char *slash = strchr(argv[i], '/');
        if (slash == NULL)
            return cli_usage(cli, "'%s' is not KIND/NAME like the others", argv[i]);
        scoped_free char *kind = mem_strndup(argv[i], (size_t)(slash - argv[i]));
        char *name = argv[i] + (slash - argv[i]) + 1;
        int exit_code = add_named(cli, targets, kind, 1, &name);
        if (exit_code != CLI_OK)
            return exit_code;
    }
    return CLI_OK;
}

int targets_parse(struct cli *cli, int argc, char **argv, struct targets *ret_targets)
{
    struct targets targets = {0};
    int exit_code = CLI_OK;
    if (argc == 0) {
        exit_code = cli_usage(cli, "'muster %s' needs %s", cli->verb->name, cli->verb->args);
    } else if (strchr(argv[0], '/') != NULL) {
        exit_code = parse_pairs(cli, &targets, argc, argv);
    } else {
        targets.words = mem_strdup(argv[0]);
        exit_code = parse_kinds(cli, &targets, argc - 1, argv + 1);
    }
    if (exit_code != CLI_OK) {
        targets_done(&targets);
        return exit_code;
    }
    *ret_targets = targets;
    return CLI_OK;
}

void targets_done(struct targets *targets)
{
    vec_done(&targets->list);
    mem_free(targets->words);
    *targets = (struct targets){0};
}

void items_add(struct items *items, const struct kind *kind, const char *ns, const char *name)
{
    vec_push(&items->list, ((struct item){kind, kind->namespaced ? mem_strdup(ns) : NULL,
                                          mem_strdup(name), NULL}));
}

void items_done(struct items *items)
{
    for (size_t i = 0; i < items->list.len; i++) {
        mem_free(items->list.items[i].ns);
        mem_free(items->list.items[i].name);
        mem_free(items->list.items[i].uid);
    }
    vec_done(&items->list);
}

static int list_items(struct cli *cli, const struct kind *kind, struct items *items)
{
    scoped_str path = {0};
    target_collection(kind, target_namespace(cli, kind), &path);
    const char *labels = opt_get(&cli->opts, "selector");
    if (labels != NULL)
        target_query(&path, "labelSelector", labels);
    bool has_fields = opt_find(&cli->opts.set, "field-selector", strlen("field-selector")) != NULL;
    const char *fields = has_fields ? opt_get(&cli->opts, "field-selector") : NULL;
    if (fields != NULL)
        target_query(&path, "fieldSelector", fields);
    scoped_json *doc = NULL;
    int exit_code = cli_fetch(cli, &(struct request){.target = str_text(&path)}, &doc);
    if (exit_code != CLI_OK)
        return exit_code;
    size_t i, n;
    yyjson_val *object;
    yyjson_arr_foreach(json_at(yyjson_doc_get_root(doc), "items"), i, n, object)
    {
        const char *name = json_str_at(object, "metadata.name");
        if (name != NULL)
            items_add(items, kind, json_str_at(object, "metadata.namespace"), name);
    }
    return CLI_OK;
}

int items_find(struct cli *cli, const struct targets *targets, struct items *items)
{
    for (size_t i = 0; i < targets->list.len; i++) {
        const struct target *target = &targets->list.items[i];
        int exit_code = CLI_OK;
        if (target->name != NULL)
            items_add(items, target->kind, cli_namespace(cli), target->name);
        else
            exit_code = list_items(cli, target->kind, items);
        if (exit_code != CLI_OK)
            return exit_code;
    }
    return CLI_OK;
}
