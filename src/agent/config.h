// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "agent/where.h"
#include "base/err.h"
#include <stdbool.h>

/* What the agent was told: options first, then the environment of JobSet's in-place restart
 * proposal, then that of upstream's agent, then what a pod of Kubernetes has anyway. */
#define SECRETS "/var/run/secrets/kubernetes.io/serviceaccount"
#define CODES_MAX 32

enum config_what { CONFIG_RUN, CONFIG_HELP, CONFIG_VERSION };

struct config {
    enum config_what what;
    struct where where;
    const char *ns, *pod, *jobset;
    const char *pod_uid;       /* NULL: not told */
    int exit_code;             /* sidecar: asks for the restart of the pod */
    const char *probe_address; /* NULL: all */
    const char *probe_path;
    int probe_port;
    int grace_s, restart_grace_s;
    int terminate_on[CODES_MAX]; /* exit codes of the worker that no restart can help */
    int n_terminate_on;
    bool is_quiet;
    bool is_sidecar;
    char **command;   /* NULL-terminated; NULL: sidecar */
    char *shell[4];   /* of WORKER_COMMAND */
    char ns_text[64]; /* of the service account's file */
};

struct config_source {
    int argc;
    char **argv;
    const char *(*env)(const char *name); /* NULL or "" when not set */
    const char *secrets;                  /* SECRETS, but for tests */
};

/* 0, or -EINVAL: wrong usage, and err says what is wrong and what to do. */
int config_read(struct config *config, const struct config_source *source, struct err *err);
bool config_terminates_on(const struct config *config, int code);
extern const char CONFIG_HELP_TEXT[];

/* For pages and tests: the options that have variables, one after the other, NULL after the last.
 * *ret_env are CONFIG_ENV_MAX names; those that are not used are NULL. */
#define CONFIG_ENV_MAX 3
const char *config_option(int index, const char *const **ret_env);
