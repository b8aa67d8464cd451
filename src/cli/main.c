// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "node/spawner.h"
#include <stdlib.h>
#include <unistd.h>

#define RETRY_MS 1000

static bool is_screen(void)
{
    return isatty(STDOUT_FILENO) && !str_eq(getenv("TERM"), "dumb");
}

static bool wants_color(void)
{
    const char *no_color = getenv("NO_COLOR");
    return is_screen() && (no_color == NULL || *no_color == '\0');
}

int main(int argc, char **argv)
{
    /* Not a verb: what a server starts for itself, "spawner SOCKET". */
    if (argc == 3 && str_eq(argv[1], "spawner"))
        return spawner_main(argv[2]);
    struct cli cli = {.in = stdin,
                      .out = stdout,
                      .err = stderr,
                      .color = wants_color(),
                      .terminal = is_screen(),
                      .retry_ms = RETRY_MS};
    int exit_code = cli_main(&cli, argc, argv);
    cli_done(&cli);
    return exit_code;
}
