// SPDX-License-Identifier: Apache-2.0
#include "node/spawn_wire.h"
#include <endian.h>
#include <errno.h>
#include <string.h>

/* A message is its size (with these eight bytes), its type, and its fields in the order in which
 * the functions below put them. New fields go to the end: an older reader does not look there, and
 * a newer one must do without them.
 *
 *  1. A count is believed only if that many of the smallest elements fit into what is left, so a
 *     lie costs no memory.
 *  2. A text has no NUL inside: what was checked is what the kernel will see. */

#define HEAD_BYTES 8
#define NO_TEXT UINT32_MAX
#define TEXT_BYTES_MIN 5 /* length and NUL */

static void put_u32(struct str *out, uint32_t value)
{
    uint32_t le = htole32(value);
    str_addn(out, (const char *)&le, sizeof(le));
}

static void put_u64(struct str *out, uint64_t value)
{
    uint64_t le = htole64(value);
    str_addn(out, (const char *)&le, sizeof(le));
}

static void put_text(struct str *out, const char *text)
{
    if (text == NULL) {
        put_u32(out, NO_TEXT);
        return;
    }
    size_t len = strlen(text);
    put_u32(out,
            len < NO_TEXT ? (uint32_t)len : NO_TEXT); /* such a message is refused as a whole */
    str_addn(out, text, len + 1);
}

static void put_texts(struct str *out, const char *const *texts)
{
    uint32_t n = 0;
    while (texts && texts[n])
        n++;
    put_u32(out, n);
    for (uint32_t i = 0; i < n; i++)
        put_text(out, texts[i]);
}

static void put_start(struct str *out, const struct spawn_request *start)
{
    put_text(out, start->id);
    put_texts(out, start->argv);
    put_texts(out, start->envp);
    put_text(out, start->dir);
    put_text(out, start->out);
    put_text(out, start->cgroup);
    put_texts(out, start->join);
    put_u64(out, (uint64_t)start->uid);
    put_u64(out, (uint64_t)start->gid);
    put_u32(out, (uint32_t)start->n_groups);
    for (size_t i = 0; i < start->n_groups; i++)
        put_u64(out, (uint64_t)start->groups[i]);
    put_u64(out, (uint64_t)start->nofile_soft);
    put_u32(out, (uint32_t)start->oom_score_adj);
    put_u32(out, start->is_transient);
    put_u32(out, (uint32_t)start->n_mounts);
    for (size_t i = 0; i < start->n_mounts; i++) {
        put_text(out, start->mounts[i].source);
        put_text(out, start->mounts[i].target);
        put_u32(out, start->mounts[i].is_read_only);
    }
}

static size_t message_open(struct str *out, enum spawn_msg type)
{
    size_t begin = out->len;
    put_u32(out, 0);
    put_u32(out, (uint32_t)type);
    return begin;
}

static int message_close(struct str *out, size_t begin)
{
    size_t size = out->len - begin;
    if (size > SPAWN_WIRE_MAX) {
        out->len = begin;
        out->data[begin] = '\0';
        return -EMSGSIZE;
    }
    uint32_t le = htole32((uint32_t)size);
    memcpy(out->data + begin, &le, sizeof(le));
    return 0;
}

int spawn_wire_put_order(struct str *out, const struct spawn_order *order)
{
    size_t begin = message_open(out, order->type);
    if (order->type == SPAWN_HELLO) {
        put_u32(out, (uint32_t)order->version);
        put_u32(out, (uint32_t)order->pid);
    } else if (order->type == SPAWN_START) {
        put_start(out, &order->start);
    } else if (order->type == SPAWN_SIGNAL) {
        put_text(out, order->id);
        put_u32(out, (uint32_t)order->signo);
        put_u32(out, order->to_group);
    } else if (order->type == SPAWN_FORGET) {
        put_text(out, order->id);
    }
    return message_close(out, begin);
}

int spawn_wire_put_reply(struct str *out, const struct spawn_reply *reply)
{
    size_t begin = message_open(out, reply->type);
    put_text(out, reply->id ? reply->id : "");
    put_u32(out, (uint32_t)reply->version);
    put_u32(out, (uint32_t)reply->pid);
    put_u64(out, reply->ident);
    put_u32(out, (uint32_t)reply->error);
    put_text(out, reply->what ? reply->what : "");
    put_text(out, reply->path ? reply->path : "");
    put_u32(out, (uint32_t)reply->code);
    put_u32(out, (uint32_t)reply->status);
    put_u64(out, (uint64_t)reply->at_ms);
    return message_close(out, begin);
}

/* One message being read; the first thing that does not fit makes it bad, and it stays so. */
struct reading {
    const char *at, *end;
    struct arena *arena;
    bool is_bad;
};

static size_t left_of(const struct reading *in)
{
    return (size_t)(in->end - in->at);
}

static const char *cut(struct reading *in, size_t len)
{
    if (in->is_bad || left_of(in) < len) {
        in->is_bad = true;
        return NULL;
    }
    const char *at = in->at;
    in->at += len;
    return at;
}

static uint32_t get_u32(struct reading *in)
{
    const char *at = cut(in, sizeof(uint32_t));
    uint32_t le = 0;
    if (at)
        memcpy(&le, at, sizeof(le));
    return le32toh(le);
}

static uint64_t get_u64(struct reading *in)
{
    const char *at = cut(in, sizeof(uint64_t));
    uint64_t le = 0;
    if (at)
        memcpy(&le, at, sizeof(le));
    return le64toh(le);
}

static bool get_bool(struct reading *in)
{
    uint32_t value = get_u32(in);
    in->is_bad |= value > 1;
    return value == 1;
}

static const char *get_text_or_null(struct reading *in)
{
    uint32_t len = get_u32(in);
    if (len == NO_TEXT)
        return NULL;
    const char *text = cut(in, (size_t)len + 1);
    if (text && memchr(text, '\0', (size_t)len + 1) != text + len)
        in->is_bad = true;
    return in->is_bad ? NULL : text;
}

static const char *get_text(struct reading *in)
{
    const char *text = get_text_or_null(in);
    in->is_bad |= text == NULL;
    return text;
}

static const char *get_id(struct reading *in)
{
    const char *id = get_text(in);
    in->is_bad |= id && *id == '\0';
    return id;
}

static uint32_t get_count(struct reading *in, size_t element_bytes_min)
{
    uint32_t n = get_u32(in);
    if (n > left_of(in) / element_bytes_min)
        in->is_bad = true;
    return in->is_bad ? 0 : n;
}

static const char *const *get_texts(struct reading *in)
{
    uint32_t n = get_count(in, TEXT_BYTES_MIN);
    const char **texts = arena_alloc(in->arena, ((size_t)n + 1) * sizeof(*texts));
    for (uint32_t i = 0; i < n; i++)
        texts[i] = get_text(in);
    return texts;
}

static void get_groups(struct reading *in, struct spawn_request *start)
{
    uint32_t n = get_count(in, sizeof(uint64_t));
    int64_t *groups = arena_alloc(in->arena, n * sizeof(*groups) + 1);
    for (uint32_t i = 0; i < n; i++)
        groups[i] = (int64_t)get_u64(in);
    start->groups = groups;
    start->n_groups = n;
}

static void get_mounts(struct reading *in, struct spawn_request *start)
{
    uint32_t n = get_count(in, 2 * TEXT_BYTES_MIN + sizeof(uint32_t));
    struct spawn_mount *mounts = arena_alloc(in->arena, n * sizeof(*mounts) + 1);
    for (uint32_t i = 0; i < n; i++) {
        mounts[i].source = get_text(in);
        mounts[i].target = get_text(in);
        mounts[i].is_read_only = get_bool(in);
    }
    start->mounts = mounts;
    start->n_mounts = n;
}

static void get_start(struct reading *in, struct spawn_request *start)
{
    start->id = get_id(in);
    start->argv = get_texts(in);
    start->envp = get_texts(in);
    start->dir = get_text_or_null(in);
    start->out = get_text_or_null(in);
    start->cgroup = get_text_or_null(in);
    start->join = get_texts(in);
    start->uid = (int64_t)get_u64(in);
    start->gid = (int64_t)get_u64(in);
    get_groups(in, start);
    start->nofile_soft = (int64_t)get_u64(in);
    start->oom_score_adj = (int32_t)get_u32(in);
    start->is_transient = get_bool(in);
    get_mounts(in, start);
}

size_t spawn_wire_size(struct sv bytes)
{
    uint32_t le;
    if (bytes.len < HEAD_BYTES)
        return 0;
    memcpy(&le, bytes.ptr, sizeof(le));
    size_t size = le32toh(le);
    return size >= HEAD_BYTES && size <= SPAWN_WIRE_MAX && size <= bytes.len ? size : 0;
}

/* The fields of the next message, and its type. */
static int next_message(struct sv *rest, struct reading *ret_in, uint32_t *ret_type)
{
    if (rest->len == 0)
        return 0;
    size_t size = spawn_wire_size(*rest);
    if (size == 0)
        return -EBADMSG;
    *ret_in = (struct reading){.at = rest->ptr + sizeof(uint32_t), .end = rest->ptr + size};
    *ret_type = get_u32(ret_in);
    *rest = (struct sv){rest->ptr + size, rest->len - size};
    return 1;
}

static void get_order(struct reading *in, struct spawn_order *order)
{
    if (order->type == SPAWN_HELLO) {
        order->version = (int32_t)get_u32(in);
        order->pid = (int32_t)get_u32(in);
    } else if (order->type == SPAWN_START) {
        get_start(in, &order->start);
        order->id = order->start.id;
    } else if (order->type == SPAWN_SIGNAL) {
        order->id = get_id(in);
        order->signo = (int32_t)get_u32(in);
        order->to_group = get_bool(in);
    } else if (order->type == SPAWN_FORGET) {
        order->id = get_id(in);
    }
}

int spawn_wire_next_order(struct sv *rest, struct arena *arena, struct spawn_order *ret)
{
    struct reading in;
    uint32_t type = 0;
    int r;
    do
        r = next_message(rest, &in, &type);
    while (r > 0 && (type < SPAWN_HELLO || type > SPAWN_QUIT));
    if (r <= 0)
        return r;
    struct spawn_order order = {.type = (enum spawn_msg)type};
    in.arena = arena;
    get_order(&in, &order);
    if (in.is_bad)
        return -EBADMSG;
    *ret = order;
    return 1;
}

int spawn_wire_next_reply(struct sv *rest, struct spawn_reply *ret)
{
    struct reading in;
    uint32_t type = 0;
    int r;
    do
        r = next_message(rest, &in, &type);
    while (r > 0 && type != SPAWN_HELLO && (type < SPAWN_STARTED || type > SPAWN_LISTED));
    if (r <= 0)
        return r;
    struct spawn_reply reply = {.type = (enum spawn_msg)type};
    reply.id = get_text(&in);
    reply.version = (int32_t)get_u32(&in);
    reply.pid = (int32_t)get_u32(&in);
    reply.ident = get_u64(&in);
    reply.error = (int32_t)get_u32(&in);
    reply.what = get_text(&in);
    reply.path = get_text(&in);
    reply.code = (int32_t)get_u32(&in);
    reply.status = (int32_t)get_u32(&in);
    reply.at_ms = (int64_t)get_u64(&in);
    if (in.is_bad)
        return -EBADMSG;
    *ret = reply;
    return 1;
}
