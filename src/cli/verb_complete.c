// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/target.h"
#include <stdint.h>
#include <stdlib.h>

/* `muster __complete WORDS...`: what the last word may become, one "word<TAB>meaning" a line. Says
 * nothing rather than an error: it runs while somebody types. */
#define ASK_TIMEOUT "2s"

struct completion {
    struct cli *cli;
    const struct verb *verb;
    struct opt_set set;
    char **words; /* behind the verb, the current one excluded */
    int count;
    const char *current;
    const struct opt *pending; /* its argument is the current word */
    VEC(char *) args;          /* words that are no options */
    bool dashes;               /* "--" stands before */
};

static void offer(struct completion *c, const char *prefix, const char *word, const char *meaning)
{
    scoped_str whole = {0};
    str_addf(&whole, "%s%s", prefix, word);
    if (str_starts(str_text(&whole), c->current))
        fprintf(c->cli->out, "%s\t%s\n", str_text(&whole), meaning);
}

static void offer_verbs(struct completion *c)
{
    for (const struct verb *verb = VERBS; verb->name != NULL; verb++) {
        if (!(verb->flags & VERB_HIDDEN))
            offer(c, "", verb->name, verb->summary);
    }
}

static void offer_kinds(struct completion *c, const char *suffix)
{
    for (const struct kind *const *kind = KINDS; *kind != NULL; kind++) {
        bool again = kind != KINDS && str_eq(kind[-1]->plural, (*kind)->plural);
        scoped_str word = {0};
        str_addf(&word, "%s%s", *suffix ? (*kind)->singular : (*kind)->plural, suffix);
        if (!again)
            offer(c, "", str_text(&word), (*kind)->name);
    }
}

/* A run of the verb that is being typed, with its options so far and nowhere to complain. */
static struct cli borrow_cli(struct completion *c, FILE *silence)
{
    struct cli cli = *c->cli;
    struct opt_values values = {.set = c->set, .dashes = SIZE_MAX};
    struct err ignored = {0};
    cli.err = silence;
    cli.verb = c->verb;
    cli.context_namespace = NULL;
    if (opt_parse(c->set, c->count, c->words, &values, &ignored) < 0)
        values = (struct opt_values){.set = c->set, .dashes = SIZE_MAX};
    const struct opt *timeout = opt_find(&c->set, "request-timeout", strlen("request-timeout"));
    vec_push(&values.given, ((struct opt_given){timeout, ASK_TIMEOUT}));
    cli.opts = values;
    return cli;
}

static void offer_fetched(struct completion *c, struct cli *cli, const struct kind *kind,
                          const char *prefix)
{
    bool has_namespace = opt_find(&c->set, "namespace", strlen("namespace")) != NULL;
    scoped_str url = {0};
    scoped_json *doc = NULL;
    if (cli_connect(cli) != CLI_OK)
        return;
    target_collection(kind, has_namespace ? target_namespace(cli, kind) : "default", &url);
    if (cli_fetch(cli, &(struct request){.target = str_text(&url)}, &doc) != CLI_OK)
        return;
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(yyjson_doc_get_root(doc), "items"), i, n, item)
    {
        const char *name = json_str_at(item, "metadata.name");
        if (name != NULL)
            offer(c, prefix, name, kind->name);
    }
}

static void offer_names(struct completion *c, const struct kind *kind, const char *prefix)
{
    char *text = NULL;
    size_t len = 0;
    FILE *silence = open_memstream(&text, &len);
    if (kind == NULL || silence == NULL || !(c->verb->flags & VERB_SERVER)) {
        if (silence != NULL)
            (void)fclose(silence); /* memory only */
        free(text);
        return;
    }
    bool borrowed = c->cli->remote.self != NULL;
    struct cli cli = borrow_cli(c, silence);
    offer_fetched(c, &cli, kind, prefix);
    if (borrowed)
        cli.remote = (struct remote){0};
    cli_done(&cli);
    (void)fclose(silence);
    free(text);
}

/* "pod/we": the kind, and names behind it. */
static void offer_pairs(struct completion *c)
{
    const char *slash = strchr(c->current, '/');
    if (slash == NULL) {
        offer_kinds(c, "/");
        return;
    }
    scoped_free char *prefix = mem_strndup(c->current, (size_t)(slash - c->current) + 1);
    scoped_free char *word = mem_strndup(c->current, (size_t)(slash - c->current));
    offer_names(c, kind_of_word(word, NULL), prefix);
}

static void offer_kind_names(struct completion *c)
{
    if (strchr(c->current, '/') != NULL ||
        (c->args.len > 0 && strchr(c->args.items[0], '/') != NULL)) {
        offer_pairs(c);
    } else if (c->args.len == 0) {
        offer_kinds(c, "");
        offer(c, "", "all", "the usual kinds");
    } else {
        offer_names(c, kind_of_word(c->args.items[0], NULL), "");
    }
}

static void offer_list(struct completion *c, const char *prefix, const char *const *words,
                       const char *meaning)
{
    for (; *words != NULL; words++)
        offer(c, prefix, *words, meaning);
}

static void offer_pods(struct completion *c)
{
    if (strchr(c->current, '/') == NULL)
        offer_names(c, &KIND_POD, "");
    offer_pairs(c);
}

static void offer_measured(struct completion *c)
{
    if (c->args.len == 0)
        offer_list(c, "", (const char *const[]){"pods", "nodes", NULL}, "what is measured");
    else
        offer_names(c, kind_of_word(c->args.items[0], NULL), "");
}

/* `prefix` is "--output=" when the value stands in the same word. */
static void offer_values(struct completion *c, const struct opt *opt, const char *prefix)
{
    for (const char *const *value = opt->values; value != NULL && *value != NULL; value++)
        offer(c, prefix, *value, opt->doc);
    switch (opt->complete) {
    case COMPLETE_NOTHING:
        break;
    case COMPLETE_FILE:
        fputs(":files\tfiles\n", c->cli->out);
        break;
    case COMPLETE_DIR:
        fputs(":dirs\tfolders\n", c->cli->out);
        break;
    case COMPLETE_NAMESPACE:
        offer_names(c, &KIND_NAMESPACE, prefix);
        break;
    case COMPLETE_KIND_NAME:
        if (*prefix == '\0')
            offer_pairs(c);
        break;
    case COMPLETE_WISH:
        offer_list(c, prefix,
                   (const char *const[]){"condition=", "delete", "create", "jsonpath=", NULL},
                   "what to wait for");
        break;
    }
}

static void offer_options(struct completion *c)
{
    const char *equals = strchr(c->current, '=');
    const char *name = c->current + 2;
    if (equals != NULL && str_starts(c->current, "--")) {
        const struct opt *opt = opt_find(&c->set, name, (size_t)(equals - name));
        scoped_free char *prefix = mem_strndup(c->current, (size_t)(equals - c->current) + 1);
        if (opt != NULL)
            offer_values(c, opt, prefix);
        return;
    }
    for (size_t t = 0; t < OPT_TABLES_MAX; t++) {
        for (const struct opt *opt = c->set.tables[t]; opt != NULL && opt->name != NULL; opt++) {
            bool open = opt->arg != NULL && (opt->flags & OPT_OPTIONAL);
            scoped_str word = {0};
            str_addf(&word, "--%s%s", opt->name, open ? "=" : "");
            offer(c, "", str_text(&word), opt->doc);
        }
    }
}

/* The option that waits for its argument behind this word, or NULL. */
static const struct opt *waiting_option(const struct completion *c, const char *word)
{
    size_t len = strlen(word);
    const struct opt *opt = NULL;
    if (len > 2 && str_starts(word, "--"))
        opt = opt_find(&c->set, word + 2, len - 2);
    else if (len > 1 && word[1] != '-')
        opt = opt_find_letter(&c->set, word[len - 1]);
    return opt != NULL && opt->arg != NULL && !(opt->flags & OPT_OPTIONAL) ? opt : NULL;
}

static void read_words(struct completion *c)
{
    for (int i = 0; i < c->count; i++) {
        char *word = c->words[i];
        if (c->pending != NULL)
            c->pending = NULL;
        else if (c->dashes || word[0] != '-' || word[1] == '\0')
            vec_push(&c->args, word);
        else if (str_eq(word, "--"))
            c->dashes = true;
        else
            c->pending = waiting_option(c, word);
    }
}

static void offer_words(struct completion *c)
{
    static const char *const SHELLS[] = {"bash", "zsh", "fish", NULL};
    switch (c->verb->words) {
    case WORDS_NOTHING:
        break;
    case WORDS_KIND_NAMES:
        offer_kind_names(c);
        break;
    case WORDS_PODS:
        offer_pods(c);
        break;
    case WORDS_NODES:
        offer_names(c, &KIND_NODE, "");
        break;
    case WORDS_QUEUES:
        offer_names(c, &KIND_CLUSTERQUEUE, "");
        break;
    case WORDS_MEASURED:
        offer_measured(c);
        break;
    case WORDS_FILES:
        fputs(":files\tfiles\n", c->cli->out);
        break;
    case WORDS_VERBS:
        offer_verbs(c);
        break;
    case WORDS_SHELLS:
        offer_list(c, "", SHELLS, "a shell");
        break;
    }
}

int verb_complete(struct cli *cli, int argc, char **argv)
{
    struct completion c = {.cli = cli, .current = argc > 0 ? argv[argc - 1] : ""};
    if (argc <= 1) {
        offer_verbs(&c);
        return CLI_OK;
    }
    c.verb = verb_of(argv[0]);
    if (c.verb == NULL)
        return CLI_OK;
    c.set = verb_opts(c.verb);
    c.words = argv + 1;
    c.count = argc - 2;
    read_words(&c);
    if (c.pending != NULL)
        offer_values(&c, c.pending, "");
    else if (!c.dashes && c.current[0] == '-')
        offer_options(&c);
    else
        offer_words(&c);
    vec_done(&c.args);
    return CLI_OK;
}
