// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include "base/vec.h"
#include <stdint.h>

/* A request of fixed length in which only a few digits change from one sending to the next: the
 * number of the object and a counter that makes every write a real one. */
#define REQUEST_KEYS_MAX 1000000

enum request_type {
    REQUEST_CREATE,   /* POST of a pod of about 3 KB */
    REQUEST_PUT,      /* the same pod whole, one annotation changed */
    REQUEST_PATCH,    /* strategic merge patch of its status, as a node sends it */
    REQUEST_NOTE,     /* merge patch of one of its annotations, as an agent announces an epoch */
    REQUEST_CONFIG,   /* POST of a ConfigMap of about 2 KB */
    REQUEST_RECONFIG, /* PUT of it */
    REQUEST_GET,      /* of `path` */
    REQUEST_ETCD,     /* put of `value_bytes` through etcd's JSON gateway */
    REQUEST_TYPE_COUNT
};

struct request_options {
    enum request_type type;
    const char *path;   /* of REQUEST_GET; one object's may hold "%k" for the key */
    const char *token;  /* or NULL */
    size_t value_bytes; /* of REQUEST_ETCD */
};

struct request {
    struct str bytes;
    VEC(size_t) keys;   /* where digits of the key stand */
    VEC(size_t) codes;  /* where the key stands in base 64 */
    VEC(size_t) counts; /* where the counter stands */
};

void request_init(struct request *request, const struct request_options *options);
void request_done(struct request *request);
/* The same bytes in memory of its own. */
void request_copy(struct request *request, const struct request *from);
void request_number(struct request *request, uint64_t key, uint64_t count);

/* Only the body of REQUEST_PUT, REQUEST_PATCH and REQUEST_NOTE, for tests of the store alone. */
void request_pod(struct request *request);
void request_status(struct request *request);
void request_note(struct request *request);
