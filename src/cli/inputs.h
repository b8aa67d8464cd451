// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"
#include "model/configuration.h"

/* The files of a command line. A folder stands for the .yaml, .yml and .json files in it, by name;
 * "-" for standard input. */
struct inputs {
    VEC(char *) files;
};
int inputs_find(const char *path, struct inputs *inputs, struct err *err);
void inputs_done(struct inputs *inputs);
/* Reads and parses one of them. Errors begin with file:line:column where that is known. */
int inputs_read(struct cli *cli, const char *file, struct manifest *ret_manifest, struct err *err);
int inputs_text(struct cli *cli, const char *file, struct str *out, struct err *err); /* reads it */

/* All files of the verb's --filename, in order, before anything is done with one of them. A
 * Configuration among the documents is no object: it is taken out, for whoever runs a server. */
struct manifests {
    VEC(struct manifest) list;
    struct configuration configuration;
    char *configured; /* the file that had it; NULL: none did */
    int configured_line;
};
int manifests_load(struct cli *cli, struct manifests *manifests); /* 0, or an exit code */
/* The same of any paths. */
int manifests_read(struct cli *cli, const char *const *paths, size_t n,
                   struct manifests *manifests);
void manifests_done(struct manifests *manifests);
/* For whoever has no use for a Configuration: says so on standard error. */
void manifests_pass_over(struct cli *cli, const struct manifests *manifests);
/* Calls back for each document, also after one that failed; stops when the server is gone. The
 * worst exit code. */
typedef int document_fn(void *arg, const struct manifest *manifest, size_t index);
int manifests_each(const struct manifests *manifests, document_fn *each, void *arg);
