// SPDX-License-Identifier: Apache-2.0
#include "agent/config.h"
#include "generate.h"

void agent_page(struct str *out)
{
    const char *const *env = NULL;
    const char *name = NULL;
    md_head(out, "src/agent/config.c");
    str_add(out, "# muster-agent\n\nWhat it is for: [the agent](../agent.md). `man muster-agent` "
                 "says the same in more words.\n\n");
    str_addf(out, "```\n%s```\n\n## Variables\n\n", CONFIG_HELP_TEXT);
    str_add(out, "They count where the option is not given; of several, the first that is set.\n\n"
                 "| option | variables |\n|---|---|\n");
    for (int i = 0; (name = config_option(i, &env)) != NULL; i++) {
        str_addf(out, "| `--%s` |", name);
        for (int k = 0; k < CONFIG_ENV_MAX && env[k] != NULL; k++)
            str_addf(out, "%s `%s`", k > 0 ? "," : "", env[k]);
        str_add(out, " |\n");
    }
}
