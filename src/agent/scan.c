// SPDX-License-Identifier: Apache-2.0
/* 1. `path` is the path of the value that is being read; while it is lost, of what it is in.
 * 2. `base[d]` is how long the path to the container at depth d is. */
#include "agent/scan.h"
#include <errno.h>
#include <string.h>

enum mode {
    MODE_VALUE,      /* a value must come */
    MODE_FIRST_ITEM, /* after '[': a value or ']' */
    MODE_FIRST_KEY,  /* after '{': a name or '}' */
    MODE_KEY,        /* after ',' in an object */
    MODE_COLON,      /* after a name */
    MODE_AFTER,      /* after a value: ',' or the end of what it is in */
    MODE_STRING,     /* in a string or a name */
    MODE_ESCAPE,     /* after a backslash */
    MODE_HEX,        /* in \uXXXX */
    MODE_WORD,       /* in a number, true, false or null */
};

static int bad(struct scan *scan)
{
    scan->is_dead = true;
    return -EBADMSG;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* ---- the path ---- */

static void path_cut(struct scan *scan, size_t len)
{
    scan->path_len = len;
    scan->path[len] = '\0';
}

/* The next value of the container at this depth is called so; NULL: it has no name we keep. */
static void path_name(struct scan *scan, const char *name)
{
    if (scan->lost != 0 && scan->lost < scan->depth)
        return; /* already lost further up */
    scan->lost = 0;
    path_cut(scan, scan->base[scan->depth]);
    size_t len = name != NULL ? strlen(name) : 0;
    size_t sep = scan->path_len > 0 ? 1 : 0;
    if (name == NULL || len == 0 || scan->path_len + sep + len >= sizeof(scan->path)) {
        scan->lost = scan->depth; /* the path stays that of the container */
        return;
    }
    memcpy(scan->path + scan->path_len, SCAN_SEP, sep);
    memcpy(scan->path + scan->path_len + sep, name, len);
    path_cut(scan, scan->path_len + sep + len);
}

static const char *path_told(const struct scan *scan)
{
    return scan->lost == 0 ? scan->path : "";
}

static void path_leave(struct scan *scan)
{
    if (scan->lost >= scan->depth)
        scan->lost = 0; /* it was lost in here; the container itself has a path */
    path_cut(scan, scan->base[scan->depth]);
    scan->depth--;
}

/* ---- containers and ends ---- */

static int open_container(struct scan *scan, bool is_list)
{
    if (scan->depth == SCAN_DEPTH_MAX)
        return bad(scan);
    scan->depth++;
    scan->base[scan->depth] = (uint16_t)scan->path_len;
    scan->is_list[scan->depth] = is_list;
    scan->mode = is_list ? MODE_FIRST_ITEM : MODE_FIRST_KEY;
    if (is_list)
        path_name(scan, "*");
    return 0;
}

static void value_is_over(struct scan *scan)
{
    scan->mode = MODE_AFTER;
    if (scan->depth > 0)
        return;
    scan->mode = MODE_VALUE;
    scan->port.on_end(scan->port.arg);
}

static int close_container(struct scan *scan, char c)
{
    if (scan->depth == 0 || scan->is_list[scan->depth] != (c == ']'))
        return bad(scan);
    path_leave(scan);
    scan->port.on_close(scan->port.arg, path_told(scan));
    value_is_over(scan);
    return 0;
}

/* ---- values ---- */

static void tell(struct scan *scan, enum scan_type type)
{
    struct scan_value value = {.type = type, .text = scan->text, .is_cut = scan->is_cut};
    scan->port.on_value(scan->port.arg, path_told(scan), &value);
    value_is_over(scan);
}

static void add_char(struct scan *scan, char c)
{
    if (scan->text_len + 1 >= sizeof(scan->text))
        scan->is_cut = true;
    else
        scan->text[scan->text_len++] = c;
}

static void begin_text(struct scan *scan, int mode, bool is_key)
{
    scan->mode = mode;
    scan->is_key = is_key;
    scan->is_cut = scan->is_escaped = false;
    scan->text_len = 0;
}

static void end_string(struct scan *scan)
{
    scan->text[scan->text_len] = '\0';
    if (!scan->is_key) {
        tell(scan, SCAN_STRING);
        return;
    }
    bool is_plain = !scan->is_cut && !scan->is_escaped;
    path_name(scan, is_plain ? scan->text : NULL);
    scan->mode = MODE_COLON;
}

static const char *digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

static bool is_number(const char *at)
{
    at += *at == '-';
    const char *end = digits(at);
    if (end == at || (*at == '0' && end - at > 1))
        return false;
    if (*end == '.') {
        at = end + 1;
        end = digits(at);
        if (end == at)
            return false;
    }
    if (*end == 'e' || *end == 'E') {
        at = end + 1;
        at += *at == '+' || *at == '-';
        end = digits(at);
        if (end == at)
            return false;
    }
    return *end == '\0';
}

static int end_word(struct scan *scan)
{
    scan->text[scan->text_len] = '\0';
    if (scan->is_cut)
        return bad(scan);
    if (strcmp(scan->text, "true") == 0 || strcmp(scan->text, "false") == 0)
        tell(scan, SCAN_BOOL);
    else if (strcmp(scan->text, "null") == 0)
        tell(scan, SCAN_NULL);
    else if (is_number(scan->text))
        tell(scan, SCAN_NUMBER);
    else
        return bad(scan);
    return 0;
}

/* ---- one character ---- */

static int in_string(struct scan *scan, char c)
{
    if ((unsigned char)c < 0x20)
        return bad(scan);
    if (c == '"')
        end_string(scan);
    else if (c == '\\')
        scan->mode = MODE_ESCAPE;
    else
        add_char(scan, c);
    return 0;
}

static int in_escape(struct scan *scan, char c)
{
    static const char NAMES[] = "\"\\/bfnrt";
    static const char MEANT[] = "\"\\/\b\f\n\r\t";
    const char *at = c != '\0' ? strchr(NAMES, c) : NULL;
    scan->is_escaped = true;
    scan->mode = MODE_STRING;
    if (at != NULL) {
        add_char(scan, MEANT[at - NAMES]);
    } else if (c == 'u') {
        scan->mode = MODE_HEX;
        scan->hex_left = 4;
        scan->hex = 0;
    } else {
        return bad(scan);
    }
    return 0;
}

/* What is beyond ASCII is never compared, only shown. */
static int in_hex(struct scan *scan, char c)
{
    uint32_t digit;
    if (c >= '0' && c <= '9')
        digit = (uint32_t)(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        digit = (uint32_t)((c | 0x20) - 'a' + 10);
    else
        return bad(scan);
    scan->hex = scan->hex << 4 | digit;
    if (--scan->hex_left > 0)
        return 0;
    add_char(scan, scan->hex >= 0x20 && scan->hex < 0x7f ? (char)scan->hex : '?');
    scan->mode = MODE_STRING;
    return 0;
}

static int begin_value(struct scan *scan, char c)
{
    if (c == '{' || c == '[')
        return open_container(scan, c == '[');
    if (c == '"') {
        begin_text(scan, MODE_STRING, false);
        return 0;
    }
    if (c != '-' && (c < '0' || c > '9') && c != 't' && c != 'f' && c != 'n')
        return bad(scan);
    begin_text(scan, MODE_WORD, false);
    add_char(scan, c);
    return 0;
}

static int begin_key(struct scan *scan, char c)
{
    if (c != '"')
        return bad(scan);
    begin_text(scan, MODE_STRING, true);
    return 0;
}

static int after_value(struct scan *scan, char c)
{
    if (c == '}' || c == ']')
        return close_container(scan, c);
    if (c != ',')
        return bad(scan);
    if (scan->is_list[scan->depth])
        path_name(scan, "*");
    scan->mode = scan->is_list[scan->depth] ? MODE_VALUE : MODE_KEY;
    return 0;
}

static int between(struct scan *scan, char c)
{
    if (is_space(c))
        return 0;
    switch (scan->mode) {
    case MODE_FIRST_ITEM:
        return c == ']' ? close_container(scan, c) : begin_value(scan, c);
    case MODE_FIRST_KEY:
        return c == '}' ? close_container(scan, c) : begin_key(scan, c);
    case MODE_KEY:
        return begin_key(scan, c);
    case MODE_COLON:
        scan->mode = MODE_VALUE;
        return c == ':' ? 0 : bad(scan);
    case MODE_AFTER:
        return after_value(scan, c);
    default:
        return begin_value(scan, c);
    }
}

static int one(struct scan *scan, char c)
{
    switch (scan->mode) {
    case MODE_STRING:
        return in_string(scan, c);
    case MODE_ESCAPE:
        return in_escape(scan, c);
    case MODE_HEX:
        return in_hex(scan, c);
    case MODE_WORD:
        if (!is_space(c) && c != ',' && c != '}' && c != ']') {
            add_char(scan, c);
            return 0;
        }
        if (end_word(scan) < 0)
            return -EBADMSG;
        return between(scan, c);
    default:
        return between(scan, c);
    }
}

void scan_init(struct scan *scan, const struct scan_port *port)
{
    memset(scan, 0, sizeof(*scan));
    scan->port = *port;
    scan->mode = MODE_VALUE;
}

int scan_feed(struct scan *scan, const char *data, size_t len)
{
    for (size_t i = 0; i < len && !scan->is_dead; i++) {
        if (one(scan, data[i]) < 0)
            break;
    }
    return scan->is_dead ? -EBADMSG : 0;
}

int64_t scan_number(const char *text)
{
    int64_t number = 0;
    if (*text == '\0')
        return -1;
    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (*text - '0');
        if (number > INT32_MAX)
            return -1;
    }
    return *text == '\0' ? number : -1;
}
