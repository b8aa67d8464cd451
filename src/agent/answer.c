// SPDX-License-Identifier: Apache-2.0
#include "agent/answer.h"
#include <errno.h>
#include <string.h>
#include <strings.h>

enum mode {
    MODE_FIRST,
    MODE_HEADER,
    MODE_BODY,
    MODE_SIZE,
    MODE_CHUNK,
    MODE_CHUNK_END,
    MODE_TRAILER,
    MODE_DONE
};

void answer_init(struct answer *answer, int (*on_body)(void *arg, const char *data, size_t len),
                 void *arg)
{
    *answer = (struct answer){.on_body = on_body, .arg = arg, .left = -1};
}

static int64_t number_of(const char *text, int base)
{
    int64_t number = 0;
    const char *at = text;
    for (;; at++) {
        int digit = *at >= '0' && *at <= '9' ? *at - '0'
                    : base == 16 && (*at | 0x20) >= 'a' && (*at | 0x20) <= 'f'
                        ? (*at | 0x20) - 'a' + 10
                        : -1;
        if (digit < 0)
            break;
        if (number > INT32_MAX)
            return -1; /* nothing here is that long */
        number = number * base + digit;
    }
    bool is_end = *at == '\0' || *at == ' ' || *at == '\t' || (base == 16 && *at == ';');
    return at > text && is_end ? number : -1;
}

static int first_line(struct answer *answer)
{
    const char *line = answer->line;
    if (strncmp(line, "HTTP/1.", 7) != 0 || line[7] == '\0' || line[8] != ' ')
        return -EBADMSG;
    int64_t status = number_of(line + 9, 10);
    if (status < 100 || status > 999)
        return -EBADMSG;
    answer->status = (int)status;
    answer->is_close = line[7] == '0';
    answer->mode = MODE_HEADER;
    return 0;
}

/* The value of the header if the line has this name. */
static const char *value_of(const char *line, const char *name)
{
    size_t len = strlen(name);
    if (strncasecmp(line, name, len) != 0 || line[len] != ':')
        return NULL;
    const char *value = line + len + 1;
    while (*value == ' ' || *value == '\t')
        value++;
    return value;
}

static int header_line(struct answer *answer)
{
    const char *value = value_of(answer->line, "content-length");
    if (value != NULL) {
        answer->left = number_of(value, 10);
        return answer->left < 0 ? -EBADMSG : 0;
    }
    value = value_of(answer->line, "transfer-encoding");
    if (value != NULL)
        answer->is_chunked = strcasecmp(value, "chunked") == 0;
    value = value_of(answer->line, "connection");
    if (value != NULL && strcasecmp(value, "close") == 0)
        answer->is_close = true;
    value = value_of(answer->line, "retry-after");
    if (value != NULL) {
        int64_t seconds = number_of(value, 10);
        answer->retry_after_s = seconds > 0 && seconds < 3600 ? (int)seconds : 0;
    }
    return 0;
}

static void head_is_over(struct answer *answer)
{
    if (answer->status < 200) { /* 100 Continue: the answer is still to come */
        answer->mode = MODE_FIRST;
        return;
    }
    if (answer->is_chunked)
        answer->mode = MODE_SIZE;
    else if (answer->status == 204 || answer->status == 304 || answer->left == 0)
        answer->mode = MODE_DONE;
    else
        answer->mode = MODE_BODY;
    if (answer->mode == MODE_BODY && answer->left < 0)
        answer->is_close = true;
}

static int size_line(struct answer *answer)
{
    answer->left = number_of(answer->line, 16);
    if (answer->left < 0 || answer->is_long)
        return -EBADMSG;
    answer->mode = answer->left == 0 ? MODE_TRAILER : MODE_CHUNK;
    return 0;
}

static int whole_line(struct answer *answer)
{
    switch (answer->mode) {
    case MODE_FIRST:
        return first_line(answer);
    case MODE_SIZE:
        return size_line(answer);
    case MODE_CHUNK_END:
        answer->mode = MODE_SIZE;
        return answer->line_len == 0 ? 0 : -EBADMSG;
    case MODE_TRAILER:
        if (answer->line_len == 0)
            answer->mode = MODE_DONE;
        return 0;
    default:
        if (answer->line_len > 0 || answer->is_long)
            return answer->is_long ? 0 : header_line(answer);
        head_is_over(answer);
        return 0;
    }
}

static int in_line(struct answer *answer, char c)
{
    if (answer->mode != MODE_CHUNK_END && answer->mode != MODE_SIZE &&
        ++answer->head_len > ANSWER_HEAD_MAX)
        return -EBADMSG;
    if (c != '\n') {
        if (answer->line_len + 1 < sizeof(answer->line))
            answer->line[answer->line_len++] = c;
        else
            answer->is_long = true;
        return 0;
    }
    if (answer->line_len > 0 && answer->line[answer->line_len - 1] == '\r')
        answer->line_len--;
    answer->line[answer->line_len] = '\0';
    int r = whole_line(answer);
    answer->line_len = 0;
    answer->is_long = false;
    return r;
}

/* How much of `len` was taken; negative: an error. */
static int64_t in_body(struct answer *answer, const char *data, size_t len)
{
    size_t part = len;
    if (answer->left >= 0 && (int64_t)part > answer->left)
        part = (size_t)answer->left;
    int r = answer->on_body(answer->arg, data, part);
    if (r != 0)
        return r;
    if (answer->left >= 0)
        answer->left -= (int64_t)part;
    if (answer->left == 0)
        answer->mode = answer->mode == MODE_CHUNK ? MODE_CHUNK_END : MODE_DONE;
    return (int64_t)part;
}

int answer_feed(struct answer *answer, const char *data, size_t len, size_t *ret_used)
{
    size_t at = 0;
    while (at < len && answer->mode != MODE_DONE) {
        int64_t n = 1;
        if (answer->mode == MODE_BODY || answer->mode == MODE_CHUNK)
            n = in_body(answer, data + at, len - at);
        else
            n = in_line(answer, data[at]) < 0 ? -EBADMSG : 1;
        if (n < 0)
            return (int)n;
        at += (size_t)n;
    }
    *ret_used = at;
    return answer->mode == MODE_DONE;
}

int answer_eof(struct answer *answer)
{
    return answer->mode == MODE_BODY && answer->left < 0 ? 1 : -ECONNRESET;
}
