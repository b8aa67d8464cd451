// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "base/mem.h"
#include "cli/help.h"
#include "os/clock.h"
#include "os/fd.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define WIDTH_DEFAULT 100
#define WIDTH_MIN 40
#define WIDTH_MAX 1000

#define CA_BYTES_MAX (1u << 20)

const struct opt OPTS_COMMON[] = {
    {"help", 'h', NULL, "Explain this verb and its options."},
    {0},
};

const struct opt OPTS_SERVER[] = {
    {"server", 's', "URL", "The server: unix:PATH or https://HOST:PORT."},
    {"kubeconfig", 0, "FILE",
     "Take server, certificate authority, token and namespace from the current context of this "
     "file.",
     .complete = COMPLETE_FILE},
    {"data", 0, "DIR", "The data directory of the server; its socket is in it.",
     .complete = COMPLETE_DIR},
    {"token", 0, "TOKEN", "The bearer token to show to the server."},
    {"certificate-authority", 0, "FILE", "Trust the certificates in this file, with https.",
     .complete = COMPLETE_FILE},
    {"request-timeout", 0, "DURATION", "How long to wait for one answer.", .fallback = "30s"},
    {0},
};

struct opt_set verb_opts(const struct verb *verb)
{
    struct opt_set set = {{verb->opts, OPTS_COMMON}};
    if (verb->flags & VERB_SERVER)
        set.tables[2] = OPTS_SERVER;
    return set;
}

const struct verb *verb_of(const char *name)
{
    for (const struct verb *verb = VERBS; verb->name != NULL; verb++) {
        if (str_eq(verb->name, name))
            return verb;
    }
    return NULL;
}

int cli_error(struct cli *cli, int exit_code, const struct err *err)
{
    fprintf(cli->err, "error: %s\n", err->text);
    if (err->hint[0] != '\0')
        fprintf(cli->err, "hint: %s\n", err->hint);
    return exit_code;
}

int cli_usage(struct cli *cli, const char *fmt, ...)
{
    fputs("error: ", cli->err);
    va_list args;
    va_start(args, fmt);
    vfprintf(cli->err, fmt, args);
    va_end(args);
    fprintf(cli->err, "\nhint: see 'muster help%s%s'\n", cli->verb ? " " : "",
            cli->verb ? cli->verb->name : "");
    return CLI_USAGE;
}

int cli_width(struct cli *cli, size_t *ret_width)
{
    const char *text = opt_get(&cli->opts, "width");
    struct winsize size = {0};
    *ret_width = WIDTH_DEFAULT;
    if (text == NULL) {
        bool is_known = cli->terminal && ioctl(fileno(cli->out), TIOCGWINSZ, &size) == 0;
        if (is_known && size.ws_col >= WIDTH_MIN)
            *ret_width = size.ws_col;
        return CLI_OK;
    }
    char *end = NULL;
    long width = strtol(text, &end, 10);
    if (end == text || *end != '\0' || width < WIDTH_MIN || width > WIDTH_MAX)
        return cli_usage(cli, "option '--width' must be a number from %d to %d, not '%s'",
                         WIDTH_MIN, WIDTH_MAX, text);
    *ret_width = (size_t)width;
    return CLI_OK;
}

void cli_print(struct cli *cli, const struct str *text)
{
    fwrite(str_text(text), 1, text->len, cli->out);
}

time_ms cli_now(const struct cli *cli)
{
    return cli->fixed_now ? cli->fixed_now : clock_wall();
}

time_ms cli_monotonic(const struct cli *cli)
{
    return cli->fixed_now ? cli->fixed_now : clock_monotonic();
}

const char *cli_namespace(const struct cli *cli)
{
    const char *given = opt_get(&cli->opts, "namespace");
    if (given != NULL && *given != '\0')
        return given;
    return cli->context_namespace ? cli->context_namespace : "default";
}

/* An unset variable and an empty one mean the same. */
static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

int cli_data_dir(const struct cli *cli, struct str *out, struct err *err)
{
    const char *given = opt_get(&cli->opts, "data");
    given = given ? given : env("MUSTER_DATA");
    if (given != NULL)
        str_add(out, given);
    else if (env("XDG_STATE_HOME") != NULL)
        str_addf(out, "%s/muster", env("XDG_STATE_HOME"));
    else if (env("HOME") != NULL)
        str_addf(out, "%s/.local/state/muster", env("HOME"));
    else {
        (void)err_set(err, -ENOENT, "there is no data directory: $HOME is not set");
        return err_hint(err, "name one with --data DIR or $MUSTER_DATA");
    }
    return 0;
}

int cli_duration(struct cli *cli, const char *option, time_ms *ret_ms)
{
    struct err err = {0};
    const char *text = opt_get(&cli->opts, option);
    if (duration_parse(sv_of(text), ret_ms, &err) == 0)
        return CLI_OK;
    (void)err_wrap(&err, "option '--%s'", option);
    if (err.hint[0] == '\0')
        (void)err_hint(&err, "write it as 30s, 5m or 1h30m");
    return cli_error(cli, CLI_USAGE, &err);
}

static int default_address(const struct cli *cli, struct address *address, struct err *err)
{
    scoped_str path = {0};
    str_add(&path, "unix:");
    int r = cli_data_dir(cli, &path, err);
    if (r < 0)
        return r;
    str_add(&path, "/muster.sock");
    address->server = str_take(&path);
    return 0;
}

static void replace(char **text, const char *with)
{
    if (with == NULL)
        return;
    mem_free(*text);
    *text = mem_strdup(with);
}

static int find_address(struct cli *cli, struct address *address, struct err *err)
{
    const char *config = opt_get(&cli->opts, "kubeconfig");
    int r = config ? kubeconfig_read(config, address, err) : 0;
    if (r < 0)
        return r;
    replace(&address->server, opt_get(&cli->opts, "server"));
    replace(&address->token, opt_get(&cli->opts, "token"));
    const char *ca = opt_get(&cli->opts, "certificate-authority");
    if (ca != NULL) {
        scoped_str pem = {0};
        r = file_read(ca, CA_BYTES_MAX, &pem, err);
        if (r < 0)
            return r;
        replace(&address->ca_pem, str_text(&pem));
    }
    replace(&cli->context_namespace, address->namespace_);
    return address->server ? 0 : default_address(cli, address, err);
}

int cli_connect(struct cli *cli)
{
    if (cli->remote.self != NULL)
        return CLI_OK;
    struct err err = {0};
    struct address address = {0};
    time_ms timeout = 0;
    int exit_code = cli_duration(cli, "request-timeout", &timeout);
    if (exit_code != CLI_OK)
        return exit_code;
    address.timeout_ms = timeout > INT32_MAX ? INT32_MAX : (int)timeout;
    if (find_address(cli, &address, &err) < 0)
        exit_code = cli_error(cli, CLI_FAILED, &err);
    else if (remote_open(&address, &cli->remote, &err) < 0)
        exit_code = cli_error(cli, CLI_USAGE, &err);
    address_done(&address);
    return exit_code;
}

int cli_unreachable(struct cli *cli, struct err *err)
{
    bool local = str_starts(cli->remote.label, "unix:");
    (void)err_wrap(err, "cannot reach the server at %s", cli->remote.label);
    if (local && (err->code == -ENOENT || err->code == -ECONNREFUSED))
        (void)err_hint(err, "start one with: muster up");
    else if (err->hint[0] == '\0')
        (void)err_hint(err, "is it running, and is %s its address?", cli->remote.label);
    return cli_error(cli, CLI_UNREACHABLE, err);
}

static void print_warnings(struct cli *cli, const struct client_response *res)
{
    struct sv rest = {str_text(&res->warnings), res->warnings.len};
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        if (line.len > 0)
            fprintf(cli->err, "Warning: %.*s\n", (int)line.len, line.ptr);
    }
}

int cli_call(struct cli *cli, const struct request *req, struct client_response *res)
{
    int exit_code = cli_connect(cli);
    if (exit_code != CLI_OK)
        return exit_code;
    struct err err = {0};
    *res = (struct client_response){0};
    int r = cli->remote.call(cli->remote.self, req, res, &err);
    if (r < 0) {
        client_response_done(res);
        return cli_unreachable(cli, &err);
    }
    print_warnings(cli, res);
    return CLI_OK;
}

int cli_refusal(struct cli *cli, int status, struct sv body)
{
    struct err ignored = {0};
    scoped_json *doc = NULL;
    const char *message = NULL, *reason = NULL;
    if (json_parse(body, &doc, &ignored) == 0) {
        message = json_str_at(yyjson_doc_get_root(doc), "message");
        reason = json_str_at(yyjson_doc_get_root(doc), "reason");
    }
    if (message != NULL && reason != NULL && *reason != '\0')
        fprintf(cli->err, "Error from server (%s): %s\n", reason, message);
    else
        fprintf(cli->err, "Error from server: %s (HTTP %d)\n",
                message ? message : "it gave no reason", status);
    if (status == 401)
        fprintf(cli->err, "hint: show a token with --token or --kubeconfig\n");
    return CLI_FAILED;
}

static int parse_answer(struct cli *cli, const struct client_response *res, yyjson_doc **ret_doc)
{
    struct err err = {0};
    struct sv body = {str_text(&res->body), res->body.len};
    if (res->status > 299)
        return cli_refusal(cli, res->status, body);
    if (json_parse(body, ret_doc, &err) == 0)
        return CLI_OK;
    (void)err_wrap(&err, "the server's answer is not JSON");
    return cli_error(cli, CLI_FAILED, &err);
}

int cli_fetch(struct cli *cli, const struct request *req, yyjson_doc **ret_doc)
{
    struct client_response res = {0};
    int exit_code = cli_call(cli, req, &res);
    if (exit_code != CLI_OK)
        return exit_code;
    exit_code = parse_answer(cli, &res, ret_doc);
    client_response_done(&res);
    return exit_code;
}

static int check_arity(struct cli *cli)
{
    const struct verb *verb = cli->verb;
    int n = (int)cli->opts.args.len;
    if (n < verb->args_min)
        return cli_usage(cli, "'muster %s' needs %s", verb->name, verb->args);
    if (verb->args_max >= 0 && n > verb->args_max)
        return cli_usage(cli, "'muster %s' does not take '%s'", verb->name,
                         cli->opts.args.items[verb->args_max]);
    return CLI_OK;
}

static int run_verb(struct cli *cli, int argc, char **argv)
{
    struct err err = {0};
    if (cli->verb->flags & VERB_RAW)
        return cli->verb->run(cli, argc, argv);
    if (opt_parse(verb_opts(cli->verb), argc, argv, &cli->opts, &err) < 0) {
        if (err.hint[0] == '\0')
            (void)err_hint(&err, "see 'muster help %s'", cli->verb->name);
        return cli_error(cli, CLI_USAGE, &err);
    }
    if (opt_flag(&cli->opts, "help")) {
        help_verb(cli->verb, cli->color, cli->out);
        return CLI_OK;
    }
    int exit_code = check_arity(cli);
    if (exit_code != CLI_OK)
        return exit_code;
    return cli->verb->run(cli, (int)cli->opts.args.len, cli->opts.args.items);
}

/* Words of kubectl for which there is no verb here, since kubectl does it with this server too. */
static bool is_of_kubectl(const char *word)
{
    static const char *const WORDS[] = {"annotate", "api-resources", "api-versions", "auth",
                                        "create",   "diff",          "edit",         "explain",
                                        "label",    "patch",         "proxy",        "replace",
                                        "rollout",  "scale",         "set",          "taint"};
    for (size_t i = 0; i < ARRAY_LEN(WORDS); i++) {
        if (str_eq(word, WORDS[i]))
            return true;
    }
    return false;
}

int cli_unknown_verb(struct cli *cli, const char *word)
{
    VEC(const char *) names = {0};
    for (const struct verb *verb = VERBS; verb->name != NULL; verb++) {
        if (!(verb->flags & VERB_HIDDEN))
            vec_push(&names, verb->name);
    }
    const char *nearest = str_nearest(word, names.items, names.len);
    vec_done(&names);
    struct err err = {0};
    (void)err_set(&err, -EINVAL, "unknown %s '%s'", word[0] == '-' ? "option" : "verb", word);
    if (is_of_kubectl(word))
        (void)err_hint(&err,
                       "'kubectl %s' does that here too, with the kubeconfig that 'muster up' "
                       "names",
                       word);
    else
        (void)err_hint(&err, nearest ? "did you mean '%s'?" : "see 'muster help'", nearest);
    return cli_error(cli, CLI_USAGE, &err);
}

int cli_main(struct cli *cli, int argc, char **argv)
{
    if (argc < 2) {
        help_overview(cli->color, cli->err);
        return CLI_USAGE;
    }
    const char *word = argv[1];
    if (str_eq(word, "--help") || str_eq(word, "-h"))
        word = "help";
    else if (str_eq(word, "--version"))
        word = "version";
    cli->verb = verb_of(word);
    if (cli->verb == NULL)
        return cli_unknown_verb(cli, word);
    int exit_code = run_verb(cli, argc - 2, argv + 2);
    bool had_failed = ferror(cli->out) != 0; /* of what, nobody knows any more */
    bool fails = fflush(cli->out) != 0;
    /* A full disk must not look like success. */
    if (!fails && !had_failed)
        return exit_code;
    fprintf(cli->err, "error: cannot write the output%s%s\n", had_failed ? "" : ": ",
            had_failed ? "" : strerror(errno));
    return exit_code == CLI_OK ? CLI_FAILED : exit_code;
}

void cli_done(struct cli *cli)
{
    opt_done(&cli->opts);
    remote_close(&cli->remote);
    mem_free(cli->context_namespace);
}
