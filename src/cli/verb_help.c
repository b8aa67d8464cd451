// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

int verb_help(struct cli *cli, int argc, char **argv)
{
    if (argc == 0) {
        help_overview(cli->color, cli->out);
        return CLI_OK;
    }
    const struct verb *verb = verb_of(argv[0]);
    if (verb == NULL)
        return cli_unknown_verb(cli, argv[0]);
    help_verb(verb, cli->color, cli->out);
    return CLI_OK;
}
