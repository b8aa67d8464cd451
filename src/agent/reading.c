// SPDX-License-Identifier: Apache-2.0
#include "agent/reading.h"
#include "base/mem.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define S SCAN_SEP
#define OBJECT "object" S

enum what {
    TEXT,    /* kept as it is */
    EPOCH,   /* a number, the greatest counts */
    ATTEMPT, /* the same, one less than the epoch */
    FLAG,    /* it is there */
    CODE,
    ENDED, /* not empty: there is a verdict */
};

/* Paths within the object; "type" of an event is the one that is not. */
static const struct row {
    const char *path;
    enum what what;
    size_t at, size;
} ROWS[] = {
#define FIELD(name) offsetof(struct reading, name), sizeof(((struct reading *)0)->name)
    {"metadata" S "resourceVersion", TEXT, FIELD(version)},
    {"metadata" S "uid", TEXT, FIELD(uid)},
    {"metadata" S "annotations" S EPOCH_NOTE, TEXT, FIELD(epoch)},
    {"metadata" S "annotations" S EPOCH_NOTE_LATER, TEXT, FIELD(attempt)},
    {"metadata" S "annotations" S DISABLE_ANNOTATION, FLAG, FIELD(is_disabled)},
    {"spec" S "failurePolicy" S "restartStrategy", TEXT, FIELD(strategy)},
    {"status" S "deprecatedEpoch", EPOCH, FIELD(status.deprecated)},
    {"status" S "syncedEpoch", EPOCH, FIELD(status.synced)},
    {"status" S "previousInPlaceRestartAttempt", ATTEMPT, FIELD(status.deprecated)},
    {"status" S "currentInPlaceRestartAttempt", ATTEMPT, FIELD(status.synced)},
    {"status" S "terminalState", ENDED, FIELD(status.has_verdict)},
    {"status" S "conditions" S "*" S "type", TEXT, FIELD(condition)},
    {"status" S "conditions" S "*" S "status", TEXT, FIELD(condition_status)},
    {"code", CODE, FIELD(code)},
    {"message", TEXT, FIELD(message)},
};

static const struct row *find(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        if (strcmp(ROWS[i].path, path) == 0)
            return &ROWS[i];
    }
    return NULL;
}

/* The path within the object; NULL for what is beside it. */
static const char *inside(const struct reading *reading, const char *path)
{
    if (!reading->is_event)
        return path;
    return strncmp(path, OBJECT, strlen(OBJECT)) == 0 ? path + strlen(OBJECT) : NULL;
}

static void take_text(char *to, size_t size, const struct scan_value *value)
{
    size_t len = strlen(value->text);
    if (value->type != SCAN_STRING)
        return;
    if (len >= size)
        len = 0; /* half a value is worse than none */
    memcpy(to, value->text, len);
    to[len] = '\0';
}

static void take_epoch(int64_t *to, const struct scan_value *value, int64_t more)
{
    int64_t number = value->type == SCAN_NUMBER ? scan_number(value->text) : -1;
    if (number >= 0 && number + more > *to)
        *to = number + more;
}

static void take(struct reading *reading, const struct row *row, const struct scan_value *value)
{
    void *to = (char *)reading + row->at;
    switch (row->what) {
    case TEXT:
        take_text(to, row->size, value);
        break;
    case EPOCH:
        take_epoch(to, value, 0);
        break;
    case ATTEMPT:
        take_epoch(to, value, 1);
        break;
    case FLAG:
        *(bool *)to = value->type != SCAN_NULL;
        break;
    case CODE:
        *(int *)to = value->type == SCAN_NUMBER ? (int)scan_number(value->text) : 0;
        break;
    case ENDED:
        *(bool *)to |= value->type == SCAN_STRING && *value->text != '\0';
        break;
    }
}

static void on_value(void *arg, const char *path, const struct scan_value *value)
{
    struct reader *reader = arg;
    struct reading *reading = &reader->reading;
    if (reading->is_event && strcmp(path, "type") == 0) {
        take_text(reading->type, sizeof(reading->type), value);
        return;
    }
    const char *within = inside(reading, path);
    const struct row *row = within != NULL ? find(within) : NULL;
    if (row == NULL)
        return;
    take(reading, row, value);
    if (row->at == offsetof(struct reading, epoch))
        reading->has_epoch = true;
}

static void on_close(void *arg, const char *path)
{
    struct reading *reading = &((struct reader *)arg)->reading;
    const char *within = inside(reading, path);
    if (within == NULL || strcmp(within, "status" S "conditions" S "*") != 0)
        return;
    if ((strcmp(reading->condition, "Completed") == 0 ||
         strcmp(reading->condition, "Failed") == 0) &&
        strcmp(reading->condition_status, "True") == 0)
        reading->status.has_verdict = true;
    reading->condition[0] = reading->condition_status[0] = '\0';
}

static void on_end(void *arg)
{
    struct reader *reader = arg;
    bool is_event = reader->reading.is_event;
    reader->on_reading(reader->arg, &reader->reading);
    reader->reading = (struct reading){.is_event = is_event};
}

void reader_init(struct reader *reader, bool is_event,
                 void (*on_reading)(void *arg, const struct reading *reading), void *arg)
{
    struct scan_port port = {
        .on_value = on_value, .on_close = on_close, .on_end = on_end, .arg = reader};
    scan_init(&reader->scan, &port);
    reader->reading = (struct reading){.is_event = is_event};
    reader->on_reading = on_reading;
    reader->arg = arg;
}

int reader_feed(struct reader *reader, const char *data, size_t len)
{
    return scan_feed(&reader->scan, data, len);
}

int64_t reading_epoch(const struct reading *reading)
{
    if (reading->has_epoch)
        return member_epoch(reading->epoch);
    return scan_number(reading->attempt) + 1;
}
