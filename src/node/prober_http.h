// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <llhttp.h>
#include <stdbool.h>

/* The texts of a GET that asks a container: what is sent, what comes back, where a redirect leads.
 * No sockets here. */
#define PROBE_BODY_MAX 10240 /* more of an answer is not read */

struct probe_target {
    char *host; /* without brackets */
    int port;
    char *path;
    bool is_tls;
};
void probe_target_done(struct probe_target *target);
void probe_target_name(const struct probe_target *target, struct str *out); /* "http://a:1/x" */

/* `headers`: "Name: value", NULL-terminated; they win over our own. NULL is none. */
void probe_request(const struct probe_target *target, const char *const *headers, struct str *out);

struct probe_answer {
    llhttp_t parser;
    int status; /* of the final answer */
    bool is_complete;
    bool is_long; /* complete as far as we are concerned */
    size_t body_bytes;
    struct str name, value; /* of the header being read */
    struct str location;
    struct str body; /* the beginning of it, for people */
};
void probe_answer_init(struct probe_answer *answer);
void probe_answer_done(struct probe_answer *answer);
/* -EBADMSG: not HTTP. len 0 is the end of the stream: then the answer is complete or -EPIPE. */
int probe_answer_feed(struct probe_answer *answer, const char *data, size_t len, struct err *err);

/* Follows `location` from target. False when it leads to another host or is no address that we
 * understand; target is then as it was. */
bool probe_redirect(struct probe_target *target, const char *location);
