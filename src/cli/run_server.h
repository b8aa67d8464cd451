// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <stdbool.h>
#include <sys/types.h>

/* A server that lives as long as one `run`: a child in a session of its own, so that the
 * terminal's ^C reaches only us, with its data in a temporary folder. When we die, it gets a
 * SIGTERM and stops its pods. */
struct run_server {
    char *dir;
    pid_t pid;
    int pidfd;  /* readable when it has ended */
    int out_fd; /* its standard output */
    struct str said;
};

/* Files that say what it shall be; NULL: none does. */
struct run_wishes {
    const char *nodes;  /* Node objects that it shall have */
    const char *config; /* its Configuration */
};
int run_server_start(struct run_server *server, const struct run_wishes *wishes, struct err *err);
/* Reads what it said. 1: it is ready; 0: not yet; -EPIPE: it will not be. */
int run_server_look(struct run_server *server);
void run_server_signal(const struct run_server *server, int signo);
/* Its exit code once pidfd is readable; 128 + signal. */
int run_server_reap(struct run_server *server);
/* The last lines of its log, for an error message. */
void run_server_tail(const struct run_server *server, size_t lines, struct str *out);
/* Why it has no control groups, once it is ready; NULL: it has. To be freed. */
char *run_server_warning(const struct run_server *server);
/* It must have been reaped, or never been started. Removes the folder. */
void run_server_done(struct run_server *server);
