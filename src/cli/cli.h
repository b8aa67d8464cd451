// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/timetext.h"
#include "cli/opt.h"
#include "cli/remote.h"
#include <stdio.h>

/* One run of the program. Streams and server are fields, so that tests run verbs on memory and on
 * a scripted server. A verb prints its result to `out`, everything else to `err`, and returns an
 * exit code. */

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* the server said no, a file is wrong, a wait timed out */
    CLI_USAGE = 2,       /* the command line is wrong */
    CLI_UNREACHABLE = 3, /* no server */
};

struct cli {
    FILE *in, *out, *err;
    const struct verb *verb;
    struct opt_values opts;
    struct remote remote;    /* made by the first request unless it is there */
    char *context_namespace; /* of the kubeconfig, or NULL */
    bool color;
    bool terminal;     /* out is a screen that can be drawn over */
    int retry_ms;      /* pause before a broken stream is asked for again */
    time_ms fixed_now; /* tests: the time; 0: ask the clock */
};

enum verb_flags {
    VERB_SERVER = 1 << 0, /* talks to a server: has the connection options */
    VERB_HIDDEN = 1 << 1, /* for our own scripts; not in help, completion and manual */
    VERB_RAW = 1 << 2,    /* gets its words as they are, options included */
};

enum verb_words {
    WORDS_NOTHING,
    WORDS_KIND_NAMES,
    WORDS_PODS, /* and KIND/NAME */
    WORDS_NODES,
    WORDS_QUEUES,
    WORDS_MEASURED, /* pods or nodes, then names of them */
    WORDS_FILES,
    WORDS_VERBS,
    WORDS_SHELLS
};

/* `argv` holds what was not an option (`argc` between args_min and args_max); options are asked
 * for with opt_get(&cli->opts, "name"). */
typedef int verb_fn(struct cli *cli, int argc, char **argv);

struct verb {
    const char *name;
    const char *args;       /* "KIND [NAME...]" */
    const char *summary;    /* one line */
    const char *help;       /* paragraphs, separated by blank lines */
    const char *examples;   /* "what it does\tcommand\n", a line each */
    int args_min, args_max; /* -1: no limit */
    const struct opt *opts;
    unsigned flags;
    enum verb_words words; /* what its arguments complete to */
    verb_fn *run;
};

extern const struct verb VERBS[]; /* name NULL ends it */
const struct verb *verb_of(const char *name);
struct opt_set verb_opts(const struct verb *verb);

verb_fn verb_cordon, verb_uncordon, verb_drain;
extern const struct opt OPTS_CORDON[], OPTS_DRAIN[];
verb_fn verb_get, verb_describe, verb_apply, verb_delete, verb_events, verb_wait, verb_validate,
    verb_version, verb_help, verb_completion, verb_complete, verb_logs, verb_man, verb_place,
    verb_run, verb_backup, verb_restore, verb_timeline, verb_token, verb_top, verb_up, verb_why,
    verb_queue;
extern const struct opt OPTS_GET[], OPTS_DESCRIBE[], OPTS_APPLY[], OPTS_DELETE[], OPTS_EVENTS[],
    OPTS_WAIT[], OPTS_LOGS[], OPTS_PLACE[], OPTS_RUN[], OPTS_BACKUP[], OPTS_TIMELINE[],
    OPTS_TOKEN[], OPTS_TOP[], OPTS_UP[], OPTS_VALIDATE[], OPTS_VERSION[], OPTS_WHY[], OPTS_SERVER[],
    OPTS_COMMON[], OPTS_QUEUE[];
verb_fn verb_simulate;
extern const struct opt OPTS_SIMULATE[];
verb_fn verb_restart;
extern const struct opt OPTS_RESTART[];

/* The program: parses, dispatches, gives the exit code. argv[0] is the program's name. */
int cli_main(struct cli *cli, int argc, char **argv);
void cli_done(struct cli *cli);

/* Error first, remedy second; returns the exit code that was given. */
int cli_error(struct cli *cli, int exit_code, const struct err *err);
int cli_usage(struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* How wide a drawing may be: --width, else the terminal, else 100 columns. 0 or an exit code. */
int cli_width(struct cli *cli, size_t *ret_width);
int cli_unknown_verb(struct cli *cli, const char *word); /* names the nearest; CLI_USAGE */

/* One request. 0: *res is filled, whatever its status (the caller frees it); else an exit code,
 * the error has been printed. Warnings of the server are printed. */
int cli_call(struct cli *cli, const struct request *req, struct client_response *res);
/* The same, with any answer above 299 printed as an error; else *ret_doc is the answer. */
int cli_fetch(struct cli *cli, const struct request *req, yyjson_doc **ret_doc);
/* "Error from server (NotFound): ..."; returns CLI_FAILED. */
int cli_refusal(struct cli *cli, int status, struct sv body);
/* "cannot reach the server at ..."; returns CLI_UNREACHABLE. */
int cli_unreachable(struct cli *cli, struct err *err);
/* Makes cli->remote from the options. 0 or an exit code. */
int cli_connect(struct cli *cli);

time_ms cli_now(const struct cli *cli); /* wall clock */
time_ms cli_monotonic(const struct cli *cli);
/* --namespace, else the kubeconfig's, else "default". */
const char *cli_namespace(const struct cli *cli);
/* --data, else $MUSTER_DATA, else $XDG_STATE_HOME/muster, else ~/.local/state/muster. */
int cli_data_dir(const struct cli *cli, struct str *out, struct err *err);
/* --timeout and the like; 0 or CLI_USAGE. */
int cli_duration(struct cli *cli, const char *option, time_ms *ret_ms);
void cli_print(struct cli *cli, const struct str *text); /* to out */
