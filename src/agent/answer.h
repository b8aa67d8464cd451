// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An HTTP/1.1 answer as it arrives, in pieces of any size: the head is understood line by line, the
 * body handed on at once, so that no answer needs memory. */
#define ANSWER_LINE_MAX 512 /* a longer header line is passed over */
#define ANSWER_HEAD_MAX 65536

struct answer {
    int status;        /* 0 until the first line is there */
    bool is_close;     /* the connection cannot be used again */
    int retry_after_s; /* 0: not said */
    bool is_chunked;
    int64_t left; /* of the body, or of the chunk; -1: until the connection ends */
    int mode;     /* enum mode of answer.c */
    bool is_long; /* the line does not fit */
    size_t line_len, head_len;
    char line[ANSWER_LINE_MAX];
    /* A value other than 0 ends everything: answer_feed() returns it. */
    int (*on_body)(void *arg, const char *data, size_t len);
    void *arg;
};

void answer_init(struct answer *answer, int (*on_body)(void *arg, const char *data, size_t len),
                 void *arg);
/* 1: the answer is whole, *ret_used bytes belong to it. 0: more must come. -EBADMSG: not HTTP. */
int answer_feed(struct answer *answer, const char *data, size_t len, size_t *ret_used);
/* The connection has ended: 1 when that is how this answer ends, else -ECONNRESET. */
int answer_eof(struct answer *answer);
