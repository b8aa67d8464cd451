// SPDX-License-Identifier: Apache-2.0
/* generate FOLDER: writes the reference pages into FOLDER and FOLDER/kinds, which must be there,
 * and what the state machines do to standard output. scripts/docs calls it. */
#include "base/mem.h"
#include "generate.h"
#include <stdio.h>

static void write_with(const char *folder, const char *name, void (*make)(struct str *out))
{
    scoped_str text = {0};
    make(&text);
    page_write(folder, name, &text);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: generate FOLDER\n", stderr);
        return 2;
    }
    scoped_free char *kinds = mem_printf("%s/kinds", argv[1]);
    scoped_str machines = {0};
    kinds_write(kinds);
    write_with(argv[1], "configuration.md", configuration_page);
    write_with(argv[1], "cli.md", verbs_page);
    write_with(argv[1], "agent.md", agent_page);
    machines_list(&machines);
    fputs(str_text(&machines), stdout);
    return 0;
}
