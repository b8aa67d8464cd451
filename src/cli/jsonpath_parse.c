// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/jsonpath_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define JSONPATH_BYTES_MAX (16u << 10)
#define NESTING_MAX 16 /* ranges in ranges, filters in filters */

struct parser {
    struct arena *arena;
    const char *start, *at, *end;
    int depth;
    struct err *err;
};

static int fail(struct parser *p, const char *what)
{
    return err_set(p->err, -EINVAL, "jsonpath, character %zu: %s", (size_t)(p->at - p->start) + 1,
                   what);
}

static char peek(const struct parser *p)
{
    return p->at < p->end ? *p->at : '\0';
}

static bool accept(struct parser *p, char c)
{
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool accept_word(struct parser *p, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0)
        return false;
    p->at += len;
    return true;
}

static void skip_spaces(struct parser *p)
{
    while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\n')
        p->at++;
}

static char unescape(char c)
{
    static const char FROM[] = "ntr0", TO[] = "\n\t\r\0";
    const char *found = c ? strchr(FROM, c) : NULL;
    return found ? TO[found - FROM] : c;
}

/* How far a token runs that ends where `ends` says; a backslash hides the next character. */
static size_t token_len(const struct parser *p, bool (*ends)(char c, char quote), char quote)
{
    const char *at = p->at;
    while (at < p->end && !ends(*at, quote))
        at += *at == '\\' && at + 1 < p->end ? 2 : 1;
    return (size_t)(at - p->at);
}

static bool ends_quoted(char c, char quote)
{
    return c == quote;
}

/* 'text' or "text", at its opening quote. */
static int parse_quoted(struct parser *p, struct sv *ret_text)
{
    char quote = *p->at++;
    size_t raw = token_len(p, ends_quoted, quote);
    char *text = arena_alloc(p->arena, raw + 1);
    size_t len = 0;
    for (const char *stop = p->at + raw; p->at < stop;) {
        char c = *p->at++;
        if (c == '\\' && p->at < stop)
            c = unescape(*p->at++);
        text[len++] = c;
    }
    if (!accept(p, quote))
        return fail(p, "a quote is not closed");
    *ret_text = (struct sv){text, len};
    return 0;
}

static bool ends_part(char c, char quote)
{
    return c == '.' || c == quote;
}

/* kubectl takes a quoted name for a path: its dots part it, unless a backslash stands before. */
static void parse_parts(struct parser *p, struct pick *pick)
{
    struct parser quoted = *p;
    struct part **tail = &pick->parts;
    char quote = *quoted.at++;
    bool is_more = true;
    for (size_t n = 0; is_more; n++) {
        size_t raw = token_len(&quoted, ends_part, quote);
        struct part *part = *tail = arena_alloc(p->arena, sizeof(*part));
        char *text = arena_alloc(p->arena, raw + 1);
        size_t len = 0;
        for (const char *stop = quoted.at + raw; quoted.at < stop; quoted.at++) {
            quoted.at += *quoted.at == '\\' && quoted.at + 1 < stop;
            text[len++] = *quoted.at;
        }
        part->name = (struct sv){text, len};
        tail = &part->next;
        is_more = accept(&quoted, '.');
        if (!is_more && n == 0)
            pick->parts = NULL;
    }
}

static bool ends_name(char c, char quote)
{
    (void)quote;
    return c == '\0' || strchr(".[]{}() ,=<>!\t\n'\"", c) != NULL;
}

/* The name of a field; a backslash takes the next character as it is ("kubernetes\.io"). */
static int parse_name(struct parser *p, struct sv *ret_name)
{
    size_t raw = token_len(p, ends_name, '\0');
    if (raw == 0)
        return fail(p, "a field name is expected");
    char *text = arena_alloc(p->arena, raw + 1);
    size_t len = 0;
    for (const char *stop = p->at + raw; p->at < stop; p->at++) {
        if (*p->at == '\\' && p->at + 1 < stop)
            p->at++;
        text[len++] = *p->at;
    }
    *ret_name = (struct sv){text, len};
    return 0;
}

static struct step *add_step(struct parser *p, struct step ***tail, enum step_type type)
{
    struct step *step = arena_alloc(p->arena, sizeof(*step));
    step->type = type;
    **tail = step;
    *tail = &step->next;
    return step;
}

static struct pick *add_pick(struct parser *p, struct step *step)
{
    struct pick **tail = &step->picks;
    while (*tail != NULL)
        tail = &(*tail)->next;
    *tail = arena_alloc(p->arena, sizeof(**tail));
    (*tail)->step = 1;
    return *tail;
}

/* An optional whole number. */
static int parse_int(struct parser *p, bool *ret_has, int64_t *ret_value)
{
    bool negative = accept(p, '-');
    int64_t value = 0;
    const char *digits = p->at;
    for (; peek(p) >= '0' && peek(p) <= '9'; p->at++) {
        value = value * 10 + (*p->at - '0');
        if (value > INT32_MAX)
            return fail(p, "the index is too large");
    }
    *ret_has = p->at > digits;
    if (negative && !*ret_has)
        return fail(p, "a number is expected");
    *ret_value = negative ? -value : value;
    return 0;
}

/* 3, -1, 1:3, :2, ::2 */
static int parse_slice(struct parser *p, struct pick *pick)
{
    int r = parse_int(p, &pick->has_start, &pick->start);
    if (r < 0)
        return r;
    if (!accept(p, ':')) {
        pick->has_end = pick->start != -1; /* [-1] runs to the end */
        pick->end = pick->start + 1;
        return pick->has_start ? 0 : fail(p, "an index, a name, '*' or '?(' is expected");
    }
    r = parse_int(p, &pick->has_end, &pick->end);
    if (r < 0 || !accept(p, ':'))
        return r;
    bool has_step = false;
    r = parse_int(p, &has_step, &pick->step);
    if (r == 0 && (!has_step || pick->step < 1))
        return fail(p, "the step of a slice is at least 1");
    return r;
}

static int parse_picks(struct parser *p, struct step *step)
{
    do {
        skip_spaces(p);
        struct pick *pick = add_pick(p, step);
        pick->is_name = peek(p) == '\'' || peek(p) == '"';
        if (pick->is_name)
            parse_parts(p, pick);
        int r = pick->is_name ? parse_quoted(p, &pick->name) : parse_slice(p, pick);
        if (r < 0)
            return r;
        skip_spaces(p);
    } while (accept(p, ','));
    return 0;
}

static int parse_path(struct parser *p, struct path *path);

static int parse_literal(struct parser *p, struct operand *operand)
{
    operand->type = OPERAND_BOOL;
    operand->truth = accept_word(p, "true");
    if (operand->truth || accept_word(p, "false"))
        return 0;
    char digits[64];
    size_t len = strspn(p->at, "+-.0123456789eE"); /* the text is NUL-terminated */
    if (len == 0 || len >= sizeof(digits) || p->at + len > p->end)
        return fail(p, "a path, a quoted text, a number, true or false is expected");
    memcpy(digits, p->at, len);
    digits[len] = '\0';
    char *end = NULL;
    operand->type = OPERAND_NUMBER;
    operand->number = strtold(digits, &end);
    if (*end != '\0')
        return fail(p, "the number is malformed");
    p->at += len;
    return 0;
}

static int parse_operand(struct parser *p, struct operand *operand)
{
    skip_spaces(p);
    char c = peek(p);
    if (c == '@' || c == '$' || c == '.') {
        operand->type = OPERAND_PATH;
        return parse_path(p, &operand->path);
    }
    if (c == '\'' || c == '"') {
        operand->type = OPERAND_TEXT;
        return parse_quoted(p, &operand->text);
    }
    return parse_literal(p, operand);
}

static enum compare parse_compare(struct parser *p)
{
    static const struct {
        const char *text;
        enum compare op;
    } OPS[] = {{"==", COMPARE_EQ}, {"!=", COMPARE_NE}, {"<=", COMPARE_LE},
               {">=", COMPARE_GE}, {"<", COMPARE_LT},  {">", COMPARE_GT}};
    skip_spaces(p);
    for (size_t i = 0; i < ARRAY_LEN(OPS); i++) {
        if (accept_word(p, OPS[i].text))
            return OPS[i].op;
    }
    return COMPARE_EXISTS;
}

static int parse_filter(struct parser *p, struct step *step)
{
    struct filter *filter = step->filter = arena_alloc(p->arena, sizeof(*filter));
    step->type = STEP_FILTER;
    int r = parse_operand(p, &filter->left);
    if (r < 0)
        return r;
    filter->op = parse_compare(p);
    if (filter->op != COMPARE_EXISTS)
        r = parse_operand(p, &filter->right);
    skip_spaces(p);
    if (r == 0 && !accept(p, ')'))
        return fail(p, "')' is expected at the end of a filter");
    return r;
}

static int parse_bracket(struct parser *p, struct step *step)
{
    int r = 0;
    skip_spaces(p);
    if (accept(p, '*'))
        step->type = STEP_ALL;
    else if (accept_word(p, "?("))
        r = parse_filter(p, step);
    else
        r = parse_picks(p, step);
    if (r < 0)
        return r;
    skip_spaces(p);
    return accept(p, ']') ? 0 : fail(p, "']' is expected");
}

static int parse_field(struct parser *p, struct step ***tail)
{
    if (accept(p, '*')) {
        (void)add_step(p, tail, STEP_ALL);
        return 0;
    }
    struct pick *pick = add_pick(p, add_step(p, tail, STEP_PICK));
    pick->is_name = true;
    return parse_name(p, &pick->name);
}

/* What may follow a dot: nothing ("{.}" is the value itself), a name, or a bracket. */
static int parse_dot(struct parser *p, struct step ***tail, bool first)
{
    bool recurse = accept(p, '.');
    if (recurse)
        (void)add_step(p, tail, STEP_RECURSE);
    if (peek(p) == '[')
        return 0;
    if (first && !recurse && (p->at == p->end || strchr("} )=!<>", peek(p)) != NULL))
        return 0;
    return parse_field(p, tail);
}

static int parse_steps(struct parser *p, struct path *path)
{
    struct step **tail = &path->first;
    const char *begin = p->at;
    for (;;) {
        int r = 0;
        bool first = p->at == begin;
        if (accept(p, '.'))
            r = parse_dot(p, &tail, first);
        else if (accept(p, '['))
            r = parse_bracket(p, add_step(p, &tail, STEP_PICK));
        else
            return 0;
        if (r < 0)
            return r;
    }
}

static int parse_path(struct parser *p, struct path *path)
{
    if (++p->depth > NESTING_MAX)
        return fail(p, "nested too deeply");
    path->from_root = accept(p, '$');
    if (!path->from_root)
        (void)accept(p, '@'); /* the value at hand is also where other paths begin */
    int r = parse_steps(p, path);
    p->depth--;
    return r;
}

static struct node *add_node(struct parser *p, struct node ***tail, enum node_type type)
{
    struct node *node = arena_alloc(p->arena, sizeof(*node));
    node->type = type;
    **tail = node;
    *tail = &node->next;
    return node;
}

static int parse_nodes(struct parser *p, struct node **first, bool in_range);

static int close_brace(struct parser *p)
{
    skip_spaces(p);
    return accept(p, '}') ? 0 : fail(p, "'}' is expected");
}

static int parse_range(struct parser *p, struct node *node)
{
    skip_spaces(p);
    int r = parse_path(p, &node->path);
    if (r == 0)
        r = close_brace(p);
    if (r == 0 && ++p->depth > NESTING_MAX)
        r = fail(p, "nested too deeply");
    if (r == 0)
        r = parse_nodes(p, &node->children, true);
    p->depth--;
    return r;
}

/* Behind '{'. Returns 1 at {end}. */
static int parse_action(struct parser *p, struct node ***tail)
{
    skip_spaces(p);
    char c = peek(p);
    int r = 0;
    if (accept_word(p, "range "))
        return parse_range(p, add_node(p, tail, NODE_RANGE));
    if (accept_word(p, "end")) {
        r = close_brace(p);
        return r < 0 ? r : 1;
    }
    if (c == '\'' || c == '"')
        r = parse_quoted(p, &add_node(p, tail, NODE_TEXT)->text);
    else if (c == '.' || c == '$' || c == '@' || c == '[')
        r = parse_path(p, &add_node(p, tail, NODE_PATH)->path);
    else
        return fail(p, "a path begins with '.', '$', '@' or '['");
    return r < 0 ? r : close_brace(p);
}

static int parse_nodes(struct parser *p, struct node **first, bool in_range)
{
    struct node **tail = first;
    while (p->at < p->end) {
        const char *brace = memchr(p->at, '{', (size_t)(p->end - p->at));
        const char *stop = brace ? brace : p->end;
        if (stop > p->at)
            add_node(p, &tail, NODE_TEXT)->text = (struct sv){p->at, (size_t)(stop - p->at)};
        p->at = stop;
        if (brace == NULL)
            break;
        p->at++;
        int r = parse_action(p, &tail);
        if (r == 1 && !in_range)
            return fail(p, "{end} without {range}");
        if (r != 0)
            return r < 0 ? r : 0;
    }
    return 0; /* a {range} ends where the template does */
}

/* ".status.phase" without its braces: what else could it be. */
static int parse_bare(struct parser *p, struct node **first)
{
    int r = parse_path(p, &add_node(p, &first, NODE_PATH)->path);
    if (r < 0)
        return r;
    return p->at == p->end ? 0 : fail(p, "the path should end here");
}

int jsonpath_parse(struct sv text, struct jsonpath **ret_path, struct err *err)
{
    if (text.len > JSONPATH_BYTES_MAX)
        return err_set(err, -E2BIG, "the jsonpath is longer than %u bytes", JSONPATH_BYTES_MAX);
    struct jsonpath *path = mem_zalloc(sizeof(*path));
    arena_init(&path->arena);
    const char *copy = arena_strndup(&path->arena, text.ptr, text.len);
    struct parser p = {&path->arena, copy, copy, copy + text.len, 0, err};
    bool bare = text.len > 0 && strchr(".$", copy[0]) != NULL && copy[0] != '\0' &&
                memchr(copy, '{', text.len) == NULL;
    int r = bare ? parse_bare(&p, &path->nodes) : parse_nodes(&p, &path->nodes, false);
    if (r < 0) {
        jsonpath_free(path);
        return r;
    }
    *ret_path = path;
    return 0;
}

void jsonpath_free(struct jsonpath *path)
{
    if (path == NULL)
        return;
    arena_done(&path->arena);
    mem_free(path);
}
