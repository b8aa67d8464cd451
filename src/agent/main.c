// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"
#include "agent/say.h"
#include "agent/tls.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAILED 1
#define WRONG_USAGE 2

static const char *env(const char *name)
{
    return getenv(name);
}

static int print(const char *text)
{
    size_t len = strlen(text);
    return write(STDOUT_FILENO, text, len) == (ssize_t)len ? 0 : FAILED;
}

static int problem(const struct err *err, int exit_code)
{
    say_problem(err);
    return exit_code;
}

int main(int argc, char **argv)
{
    static struct config config;
    static struct agent agent; /* not on the stack: pages that nobody touches cost nothing */
    struct err err = {0};
    struct config_source source = {.argc = argc, .argv = argv, .env = env, .secrets = SECRETS};
    if (config_read(&config, &source, &err) < 0)
        return problem(&err, WRONG_USAGE);
    if (config.what == CONFIG_HELP)
        return print(CONFIG_HELP_TEXT);
    if (config.what == CONFIG_VERSION)
        return print("muster-agent " MUSTER_VERSION "\n");
    say_quietly(config.is_quiet);
    if (tls_prepare(&config.where, argv, &err) < 0)
        return problem(&err, FAILED);
    int code = agent_run(&agent, &config, &err);
    return code < 0 ? problem(&err, FAILED) : code;
}
