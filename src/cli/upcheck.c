// SPDX-License-Identifier: Apache-2.0
/* What the store would refuse when nobody reads the answer is refused here, by its option. */
#include "cli/upcheck.h"
#include "base/mem.h"
#include "model/kind.h"
#include "os/socket.h"
#include <string.h>

static int check_name(struct cli *cli)
{
    const char *name = opt_get(&cli->opts, "node");
    if (name == NULL)
        return CLI_OK;
    const char *problem = format_problem(KIND_NODE.name_format, name, strlen(name));
    if (problem == NULL) /* it is the value of kubernetes.io/hostname as well */
        problem = format_problem(FMT_LABEL_VALUE, name, strlen(name));
    return problem == NULL
               ? CLI_OK
               : cli_usage(cli, "option '--node': '%s' is no name of a node: %s", name, problem);
}

static int check_label(struct cli *cli, const char *label)
{
    const char *equals = strchr(label, '=');
    if (equals == NULL)
        return cli_usage(cli, "option '--node-label': '%s' is not KEY=VALUE", label);
    const char *problem = format_problem(FMT_QUALIFIED, label, (size_t)(equals - label));
    if (problem != NULL)
        return cli_usage(cli, "option '--node-label': '%.*s' is no key of a label: %s",
                         (int)(equals - label), label, problem);
    problem = format_problem(FMT_LABEL_VALUE, equals + 1, strlen(equals + 1));
    if (problem != NULL)
        return cli_usage(cli, "option '--node-label': '%s' is no value of a label: %s", equals + 1,
                         problem);
    return CLI_OK;
}

static int check_labels(struct cli *cli)
{
    int r = CLI_OK;
    for (size_t i = 0; r == CLI_OK && i < opt_count(&cli->opts, "node-label"); i++)
        r = check_label(cli, opt_nth(&cli->opts, "node-label", i));
    return r;
}

/* Of the node that is not to be. */
static int check_no_node(struct cli *cli)
{
    static const char *const ITS[] = {"node", "node-label"};
    for (size_t i = 0; opt_flag(&cli->opts, "no-node") && i < ARRAY_LEN(ITS); i++) {
        if (opt_is_given(&cli->opts, ITS[i]))
            return cli_usage(cli, "option '--%s': there is no node with --no-node", ITS[i]);
    }
    return CLI_OK;
}

static int check_listen(struct cli *cli)
{
    struct err err = {0};
    if (socket_check_tcp(opt_get(&cli->opts, "listen"), &err) == 0)
        return CLI_OK;
    (void)err_wrap(&err, "option '--listen'");
    return cli_error(cli, CLI_USAGE, &err);
}

int upcheck_options(struct cli *cli)
{
    int r = check_listen(cli);
    if (r == CLI_OK)
        r = check_name(cli);
    if (r == CLI_OK)
        r = check_labels(cli);
    return r == CLI_OK ? check_no_node(cli) : r;
}
