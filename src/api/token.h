// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/timetext.h"
#include <stdbool.h>

/* Bearer tokens that say who somebody is and prove it: claims and an HMAC under the key of this
 * data directory. Nothing is stored per token; a new key revokes all of them. */
enum role { ROLE_NONE, ROLE_ADMIN, ROLE_VIEW, ROLE_NODE, ROLE_AGENT };

struct identity {
    enum role role;
    char name[128];   /* who, for the log and in refusals; of ROLE_NODE: the node */
    char ns[64];      /* ROLE_AGENT: where its JobSet and pod are */
    char jobset[254]; /* ROLE_AGENT */
    char pod[254];    /* ROLE_AGENT */
    time_ms expires;  /* 0: never */
};

struct token_key {
    unsigned char bytes[32];
};

const char *role_name(enum role role); /* "admin" */
enum role role_of(const char *name);   /* ROLE_NONE when unknown */

/* Reads the key, or makes it when the file is not there (0600). */
int token_key_open(const char *path, struct token_key *ret_key, struct err *err);
void token_make(const struct token_key *key, const struct identity *who, struct str *out);
/* False for anything that is not a token of this key or has expired. */
bool token_check(const struct token_key *key, const char *token, time_ms now,
                 struct identity *ret_who);
