// SPDX-License-Identifier: Apache-2.0
#include "node/prober_http.h"
#include "base/mem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODY_SHOWN_MAX 200
#define HEADER_MAX 8192

/* ---- the request ---- */

void probe_target_done(struct probe_target *target)
{
    mem_free(target->host);
    mem_free(target->path);
    *target = (struct probe_target){0};
}

static void add_authority(const struct probe_target *target, struct str *out)
{
    const char *form = strchr(target->host, ':') != NULL ? "[%s]:%d" : "%s:%d";
    str_addf(out, form, target->host, target->port);
}

void probe_target_name(const struct probe_target *target, struct str *out)
{
    if (target->path != NULL)
        str_add(out, target->is_tls ? "https://" : "http://");
    add_authority(target, out);
    str_add(out, target->path);
}

static bool has_header(const char *const *headers, const char *name)
{
    size_t len = strlen(name);
    for (; headers != NULL && *headers != NULL; headers++) {
        if (strncasecmp(*headers, name, len) == 0 && (*headers)[len] == ':')
            return true;
    }
    return false;
}

/* Neither headers nor a path may end a line of the request and begin another. */
static void add_line(struct str *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text >= ' ')
            str_addc(out, *text);
    }
    str_add(out, "\r\n");
}

void probe_request(const struct probe_target *target, const char *const *headers, struct str *out)
{
    str_add(out, "GET ");
    if (*target->path != '/')
        str_addc(out, '/');
    for (const char *at = target->path; *at != '\0'; at++) {
        if ((unsigned char)*at > ' ')
            str_addc(out, *at);
        else
            str_addf(out, "%%%02X", (unsigned char)*at);
    }
    str_add(out, " HTTP/1.1\r\n");
    if (!has_header(headers, "Host")) {
        str_add(out, "Host: ");
        add_authority(target, out);
        str_add(out, "\r\n");
    }
    if (!has_header(headers, "User-Agent"))
        str_add(out, "User-Agent: muster-probe\r\n");
    if (!has_header(headers, "Accept"))
        str_add(out, "Accept: */*\r\n");
    for (; headers != NULL && *headers != NULL; headers++)
        add_line(out, *headers);
    str_add(out, "Connection: close\r\n\r\n");
}

/* ---- the answer ---- */

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
    struct probe_answer *answer = parser->data;
    str_addn(&answer->name, at, len);
    return answer->name.len > HEADER_MAX ? HPE_USER : 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
    struct probe_answer *answer = parser->data;
    str_addn(&answer->value, at, len);
    return answer->value.len > HEADER_MAX ? HPE_USER : 0;
}

static int on_value_complete(llhttp_t *parser)
{
    struct probe_answer *answer = parser->data;
    if (strcasecmp(str_text(&answer->name), "location") == 0) {
        str_clear(&answer->location);
        str_addn(&answer->location, str_text(&answer->value), answer->value.len);
    }
    str_clear(&answer->name);
    str_clear(&answer->value);
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct probe_answer *answer = parser->data;
    answer->body_bytes += len;
    size_t room = BODY_SHOWN_MAX - answer->body.len;
    str_addn(&answer->body, at, len < room ? len : room);
    if (answer->body_bytes <= PROBE_BODY_MAX)
        return 0;
    answer->status = parser->status_code;
    answer->is_long = true;
    return HPE_PAUSED; /* what else comes is not read */
}

/* 100 and 103 only announce the answer. */
static int on_complete(llhttp_t *parser)
{
    struct probe_answer *answer = parser->data;
    if (parser->status_code >= 100 && parser->status_code < 200)
        return 0;
    answer->status = parser->status_code;
    answer->is_complete = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t SETTINGS = {
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

void probe_answer_init(struct probe_answer *answer)
{
    *answer = (struct probe_answer){0};
    llhttp_init(&answer->parser, HTTP_RESPONSE, &SETTINGS);
    answer->parser.data = answer;
}

void probe_answer_done(struct probe_answer *answer)
{
    str_done(&answer->name);
    str_done(&answer->value);
    str_done(&answer->location);
    str_done(&answer->body);
}

int probe_answer_feed(struct probe_answer *answer, const char *data, size_t len, struct err *err)
{
    if (answer->is_complete || answer->is_long)
        return 0;
    llhttp_errno_t code =
        len > 0 ? llhttp_execute(&answer->parser, data, len) : llhttp_finish(&answer->parser);
    if (answer->is_complete || answer->is_long)
        return 0;
    if (len == 0)
        return err_set(err, -EPIPE, "the connection ended before the answer was complete");
    if (code == HPE_OK)
        return 0;
    const char *why = llhttp_get_error_reason(&answer->parser);
    return err_set(err, -EBADMSG, "the answer is not HTTP: %s",
                   why != NULL && *why != '\0' ? why : llhttp_errno_name(code));
}

/* ---- redirects ---- */

static int scheme_of(struct sv *url, bool *ret_tls)
{
    static const struct {
        const char *text;
        bool is_tls;
    } SCHEMES[] = {{"http://", false}, {"https://", true}};
    for (size_t i = 0; i < ARRAY_LEN(SCHEMES); i++) {
        size_t len = strlen(SCHEMES[i].text);
        if (url->len < len || strncasecmp(url->ptr, SCHEMES[i].text, len) != 0)
            continue;
        *url = (struct sv){url->ptr + len, url->len - len};
        *ret_tls = SCHEMES[i].is_tls;
        return 0;
    }
    return -EINVAL;
}

/* Cuts "host:port" into two; the host of an IPv6 address stands in brackets. */
static int split_authority(struct sv authority, struct sv *ret_host, int *port)
{
    bool is_v6 = authority.len > 0 && authority.ptr[0] == '[';
    const char *end = is_v6 ? memchr(authority.ptr, ']', authority.len) : NULL;
    if (is_v6 && end == NULL)
        return -EINVAL;
    struct sv host, rest;
    if (is_v6) {
        host = (struct sv){authority.ptr + 1, (size_t)(end - authority.ptr) - 1};
        rest = (struct sv){end + 1, authority.len - host.len - 2};
    } else {
        rest = authority;
        host = sv_cut(&rest, ':');
        rest = (struct sv){host.ptr + host.len, authority.len - host.len};
    }
    if (rest.len > 6 || (rest.len > 0 && rest.ptr[0] != ':'))
        return -EINVAL;
    *ret_host = host;
    if (rest.len < 2)
        return 0;
    char digits[8] = "";
    memcpy(digits, rest.ptr + 1, rest.len - 1);
    char *after = NULL;
    long number = strtol(digits, &after, 10);
    if (*after != '\0' || number < 1 || number > 65535)
        return -EINVAL;
    *port = (int)number;
    return 0;
}

static void go_to(struct probe_target *target, struct sv path)
{
    struct sv plain = sv_cut(&path, '#');
    char *text = mem_printf("%s%.*s", plain.len > 0 && plain.ptr[0] == '/' ? "" : "/",
                            (int)plain.len, plain.ptr != NULL ? plain.ptr : "");
    mem_free(target->path);
    target->path = text;
}

/* A path that does not begin with a slash replaces the last part of the one before. */
static void go_beside(struct probe_target *target, struct sv path)
{
    struct sv old = sv_of(target->path);
    size_t keep = strcspn(target->path, "?#");
    old.len = keep;
    while (old.len > 0 && old.ptr[old.len - 1] != '/')
        old.len--;
    scoped_free char *text = mem_printf("%.*s%.*s", (int)old.len, old.ptr, (int)path.len, path.ptr);
    go_to(target, sv_of(text));
}

static bool go_elsewhere(struct probe_target *target, struct sv url, bool is_tls)
{
    struct sv authority = url, host = {0};
    size_t len = 0;
    while (len < url.len && strchr("/?#", url.ptr[len]) == NULL)
        len++;
    authority.len = len;
    int port = is_tls ? 443 : 80;
    if (split_authority(authority, &host, &port) < 0 || host.len != strlen(target->host) ||
        strncasecmp(host.ptr, target->host, host.len) != 0)
        return false;
    target->port = port;
    target->is_tls = is_tls;
    go_to(target, (struct sv){url.ptr + len, url.len - len});
    return true;
}

bool probe_redirect(struct probe_target *target, const char *location)
{
    struct sv url = sv_trim(sv_of(location));
    bool is_tls = target->is_tls;
    if (url.len == 0)
        return false;
    if (sv_starts(url, "//"))
        return go_elsewhere(target, (struct sv){url.ptr + 2, url.len - 2}, is_tls);
    if (scheme_of(&url, &is_tls) >= 0)
        return go_elsewhere(target, url, is_tls);
    size_t scheme = 0; /* mailto: and the like */
    while (scheme < url.len && strchr(":/?#", url.ptr[scheme]) == NULL)
        scheme++;
    if (scheme < url.len && url.ptr[scheme] == ':')
        return false;
    if (url.ptr[0] == '/')
        go_to(target, url);
    else
        go_beside(target, url);
    return true;
}
