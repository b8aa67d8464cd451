// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/inputs.h"

/* Makes the objects of files be on the server: what `apply` and `run` have in common. */
struct applied {
    const struct kind *kind;
    const char *ns; /* NULL: not namespaced */
    const char *name;
    const char *verb; /* "created", "configured" or "unchanged" */
    yyjson_val *object;
};

struct applying {
    struct cli *cli;
    const char *dry_run; /* "none", "client", "server" */
    bool is_strict;      /* the server refuses unknown fields, too */
    bool renew;          /* what is over (a Pod, a Job, a JobSet) is deleted and made again */
    bool is_new;         /* what is there, and is not over, belongs to somebody else: refused */
    /* An object is about to be made; what is added here is not what the file says. Or NULL. */
    void (*before_create)(void *arg, yyjson_mut_doc *doc);
    int (*on_applied)(void *arg, const struct applied *applied); /* gives an exit code */
    void *arg;
    int tries_left; /* for the object at hand */
};

/* Prints every mistake with its file and line. 0 or CLI_FAILED. */
int applying_check(struct cli *cli, const struct manifests *manifests);
/* Changes the documents: namespace and annotation are filled in. The worst exit code. */
int applying_send(struct applying *applying, const struct manifests *manifests);
