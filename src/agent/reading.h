// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "agent/scan.h"
#include "core/recover/epoch.h"
#include "core/recover/member.h"

/* The few facts an agent needs of what a server says: of a JobSet in a watch event, of its own pod,
 * of a Status that refuses. Both the names of JobSet's proposal and upstream's are understood;
 * where an object has both, the greater epoch counts, as epochs never go down. */
#define DISABLE_ANNOTATION "jobset.sigs.k8s.io/disable-in-place-restart"

#define VERSION_MAX 32 /* resourceVersion */
#define UID_MAX 64
#define TEXT_MAX 32
#define MESSAGE_MAX SCAN_TEXT_MAX

struct reading {
    bool is_event; /* the object is in "object", beside a "type" */
    char type[16]; /* ADDED, MODIFIED, DELETED, BOOKMARK, ERROR */
    char version[VERSION_MAX];
    char uid[UID_MAX];
    char strategy[TEXT_MAX];
    bool is_disabled; /* DISABLE_ANNOTATION is there */
    struct member_status status;
    char epoch[TEXT_MAX];   /* of a pod: EPOCH_NOTE as it is written; "" when too long */
    bool has_epoch;         /* it is there */
    char attempt[TEXT_MAX]; /* of a pod: EPOCH_NOTE_LATER */
    int code;               /* of a Status */
    char message[MESSAGE_MAX];
    /* The condition that is being read. */
    char condition[TEXT_MAX], condition_status[TEXT_MAX];
};

/* One document after the other; each is told when it is whole. */
struct reader {
    struct scan scan;
    struct reading reading;
    void (*on_reading)(void *arg, const struct reading *reading);
    void *arg;
};

void reader_init(struct reader *reader, bool is_event,
                 void (*on_reading)(void *arg, const struct reading *reading), void *arg);
int reader_feed(struct reader *reader, const char *data, size_t len); /* as scan_feed() */
/* The epoch on a pod, in upstream's notation only where ours is missing; 0: none, or nothing that
 * an agent wrote. */
int64_t reading_epoch(const struct reading *reading);
