// SPDX-License-Identifier: Apache-2.0
/* Makes a token from the key in the data directory: whoever may read that key may be anybody. No
 * server is asked, and none has to run. */
#include "api/token.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "os/fd.h"
#include <errno.h>
#include <string.h>

static const char *const ROLES[] = {"admin", "view", "node", "agent", NULL};

const struct opt OPTS_TOKEN[] = {
    {"role", 0, "ROLE", "What its holder may do.", .fallback = "view", .values = ROLES},
    {"name", 0, "NAME", "Who it is for, as logs show it; of a node: the node's name."},
    {"namespace", 'n', "NAMESPACE", "Of an agent: where its JobSet and pod are.",
     .fallback = "default", .complete = COMPLETE_NAMESPACE},
    {"jobset", 0, "NAME", "Of an agent: the JobSet that it may read."},
    {"pod", 0, "NAME", "Of an agent: its own pod."},
    {"ttl", 0, "DURATION", "How long it is good for; 0 is for ever.", .fallback = "0"},
    {"data", 0, "DIR", "The server's data directory.", .complete = COMPLETE_DIR},
    {0},
};

static int copy_option(struct cli *cli, const char *option, char *out, size_t size)
{
    const char *value = opt_get(&cli->opts, option);
    int n = snprintf(out, size, "%s", value ? value : "");
    return n >= 0 && (size_t)n < size ? CLI_OK : cli_usage(cli, "--%s is too long", option);
}

/* A token that could do nothing is more likely a forgotten option. */
static int check_complete(struct cli *cli, struct identity *who)
{
    if (who->role == ROLE_NODE && who->name[0] == '\0')
        return cli_usage(cli, "a token of role node needs --name, the name of its node");
    if (who->role == ROLE_AGENT && (who->jobset[0] == '\0' || who->pod[0] == '\0'))
        return cli_usage(cli, "a token of role agent needs --jobset and --pod");
    if (who->role != ROLE_AGENT && (who->jobset[0] != '\0' || who->pod[0] != '\0'))
        return cli_usage(cli, "--jobset and --pod are for --role agent");
    if (who->name[0] == '\0')
        (void)snprintf(who->name, sizeof(who->name), "%s%s%.100s", role_name(who->role),
                       who->pod[0] ? ":" : "", who->pod);
    return CLI_OK;
}

static int read_identity(struct cli *cli, struct identity *who)
{
    who->role = role_of(opt_get(&cli->opts, "role"));
    int r = copy_option(cli, "name", who->name, sizeof(who->name));
    if (r == CLI_OK)
        r = copy_option(cli, "jobset", who->jobset, sizeof(who->jobset));
    if (r == CLI_OK)
        r = copy_option(cli, "pod", who->pod, sizeof(who->pod));
    if (r == CLI_OK && who->role == ROLE_AGENT)
        r = copy_option(cli, "namespace", who->ns, sizeof(who->ns));
    time_ms ttl = 0;
    if (r == CLI_OK)
        r = cli_duration(cli, "ttl", &ttl);
    if (r == CLI_OK && ttl < 0)
        r = cli_usage(cli, "--ttl cannot be negative");
    if (r != CLI_OK)
        return r;
    who->expires = ttl > 0 ? cli_now(cli) + ttl : 0;
    return check_complete(cli, who);
}

static int read_key(struct cli *cli, struct token_key *key, struct err *err)
{
    scoped_str path = {0};
    int r = cli_data_dir(cli, &path, err);
    if (r < 0)
        return r;
    str_add(&path, "/token.key");
    if (!file_exists(str_text(&path))) {
        (void)err_set(err, -ENOENT, "there is no '%s'", str_text(&path));
        return err_hint(err, "the first 'muster up' makes it; --data names the directory");
    }
    return token_key_open(str_text(&path), key, err);
}

int verb_token(struct cli *cli, int argc, char **argv)
{
    (void)argc;
    if (strcmp(argv[0], "create") != 0)
        return cli_usage(cli, "'%s' is not known: write 'muster token create'", argv[0]);
    struct identity who = {0};
    int r = read_identity(cli, &who);
    if (r != CLI_OK)
        return r;
    struct err err = {0};
    struct token_key key;
    if (read_key(cli, &key, &err) < 0)
        return cli_error(cli, CLI_FAILED, &err);
    scoped_str token = {0};
    token_make(&key, &who, &token);
    fprintf(cli->out, "%s\n", str_text(&token));
    return CLI_OK;
}
