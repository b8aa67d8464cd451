// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include <openssl/crypto.h>

static const char *const FORMATS[] = {"text", "json", NULL};
const struct opt OPTS_VERSION[] = {
    {"output", 'o', "FORMAT", "How to print.", .fallback = "text", .values = FORMATS},
    {0},
};

int verb_version(struct cli *cli, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    if (str_eq(opt_get(&cli->opts, "output"), "text")) {
        fprintf(cli->out, "muster %s\n", MUSTER_VERSION);
        return CLI_OK;
    }
    fprintf(cli->out,
            "{\"version\":\"%s\",\"compiler\":\"%s\",\"libraries\":{\"yyjson\":\"%s\","
            "\"openssl\":\"%s\"}}\n",
            MUSTER_VERSION, __VERSION__, YYJSON_VERSION_STRING,
            OpenSSL_version(OPENSSL_VERSION_STRING));
    return CLI_OK;
}
