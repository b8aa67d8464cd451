// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"
#include "clitest.h"

/* A run of the program against a server that follows a script: each request must be the next one
 * of the script, and all of them must come. */
#define ARGS_MAX 12
#define STEPS_MAX 10

struct step {
    const char *method; /* "GET", "WATCH" for a stream; NULL ends the script */
    const char *target; /* path and query, whole */
    const char *body;   /* must be in the request's body; NULL: any */
    int result;         /* HTTP status, or a negative errno */
    const char *answer; /* body; of WATCH the lines */
};

struct scene {
    const char *name;
    const char *args[ARGS_MAX]; /* without "muster" */
    struct step steps[STEPS_MAX];
    int exit_code;
    const char *out; /* whole; NULL: any */
    const char *err; /* whole; NULL: any */
    const char *in;  /* standard input */
    bool terminal;   /* standard output is one */
};

/* The time of all scenes. */
#define SCENE_NOW 1767323045000 /* 2026-01-02T03:04:05Z */

void scene_play(const struct scene *scene);
