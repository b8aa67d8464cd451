// SPDX-License-Identifier: Apache-2.0
#include "model/selector.h"
#include "base/mem.h"
#include "base/vec.h"
#include "model/schema.h"
#include <assert.h>
#include <errno.h>
#include <stdint.h>

/* Label selectors in Kubernetes' grammar:
 *     selector    = [ requirement { "," requirement } ]
 *     requirement = key | "!" key | key op value | key ("in" | "notin") "(" value {"," value} ")"
 *     op          = "=" | "==" | "!=" | ">" | "<"
 * Values may be empty. "in" and "notin" are ordinary words where a key or a value is expected. */

enum operator{
    OP_EXISTS,
    OP_ABSENT,
    OP_IN,
    OP_NOT_IN,
    OP_GREATER,
    OP_LESS,
};

struct requirement {
    char *key;
    enum operator op;
    VEC(char *) values;
    int64_t number; /* for OP_GREATER and OP_LESS */
};

struct label_selector {
    VEC(struct requirement) list;
};

static void requirement_done(struct requirement *req)
{
    for (size_t i = 0; i < req->values.len; i++)
        mem_free(req->values.items[i]);
    vec_done(&req->values);
    mem_free(req->key);
}

void label_selector_free(struct label_selector *selector)
{
    if (!selector)
        return;
    for (size_t i = 0; i < selector->list.len; i++)
        requirement_done(&selector->list.items[i]);
    vec_done(&selector->list);
    mem_free(selector);
}

/* ---- words ---- */

enum token {
    T_END,
    T_WORD,
    T_COMMA,
    T_OPEN,
    T_CLOSE,
    T_NOT,
    T_EQUAL,
    T_NOT_EQUAL,
    T_GREATER,
    T_LESS,
    T_STRAY, /* "=!" and the like */
};

struct lexer {
    struct sv rest;
    struct sv all;
    struct sv word; /* of the current token, as written */
    enum token token;
    struct err *err;
};

#define SYMBOLS "=!(),<>"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t symbol_len(struct sv text)
{
    bool two = sv_starts(text, "==") || sv_starts(text, "!=");
    return two ? 2 : 1;
}

static enum token symbol_token(struct sv symbol)
{
    static const struct {
        const char *text;
        enum token token;
    } TOKENS[] = {{",", T_COMMA},      {"(", T_OPEN},    {")", T_CLOSE},
                  {"!", T_NOT},        {"=", T_EQUAL},   {"==", T_EQUAL},
                  {"!=", T_NOT_EQUAL}, {">", T_GREATER}, {"<", T_LESS}};
    for (size_t i = 0; i < ARRAY_LEN(TOKENS); i++)
        if (sv_is(symbol, TOKENS[i].text))
            return TOKENS[i].token;
    return T_STRAY;
}

static void next(struct lexer *l)
{
    while (l->rest.len && is_space(l->rest.ptr[0]))
        l->rest = (struct sv){l->rest.ptr + 1, l->rest.len - 1};
    size_t len = 0;
    l->token = T_END;
    if (l->rest.len && memchr(SYMBOLS, l->rest.ptr[0], sizeof(SYMBOLS) - 1)) {
        len = symbol_len(l->rest);
        l->token = symbol_token((struct sv){l->rest.ptr, len});
    } else if (l->rest.len) {
        while (len < l->rest.len && !is_space(l->rest.ptr[len]) &&
               !memchr(SYMBOLS, l->rest.ptr[len], sizeof(SYMBOLS) - 1))
            len++;
        l->token = T_WORD;
    }
    l->word = (struct sv){l->rest.ptr, len};
    l->rest = (struct sv){l->rest.ptr + len, l->rest.len - len};
}

static int unexpected(struct lexer *l, const char *expected)
{
    int shown = l->word.len < 80 ? (int)l->word.len : 80;
    size_t at = (size_t)(l->word.ptr - l->all.ptr) + 1;
    if (l->token == T_END)
        (void)err_set(l->err, -EINVAL, "label selector: it ends where %s was expected", expected);
    else
        (void)err_set(l->err, -EINVAL,
                      "label selector: at character %zu: %s was expected, not '%.*s'", at, expected,
                      shown, l->word.ptr);
    return err_hint(l->err, "for example app=web,tier!=db,zone in (a,b),!canary");
}

/* ---- requirements ---- */

static int check_key(struct sv key, struct err *err)
{
    const char *problem = format_problem(FMT_QUALIFIED, key.ptr, key.len);
    if (!problem)
        return 0;
    int shown = key.len < 100 ? (int)key.len : 100;
    return err_set(err, -EINVAL, "label selector: key '%.*s': %s", shown, key.ptr, problem);
}

static int check_value(const char *key, struct sv value, struct err *err)
{
    const char *problem = format_problem(FMT_LABEL_VALUE, value.ptr, value.len);
    if (!problem)
        return 0;
    int shown = value.len < 100 ? (int)value.len : 100;
    return err_set(err, -EINVAL, "label selector: value '%.*s' of key '%.100s': %s", shown,
                   value.ptr, key, problem);
}

/* An optional sign and digits that fit 64 bits. */
static bool parse_int(struct sv text, int64_t *ret_number)
{
    bool negative = text.len && text.ptr[0] == '-';
    size_t i = text.len && (negative || text.ptr[0] == '+');
    int64_t number = 0;
    if (i == text.len)
        return false;
    for (; i < text.len; i++) {
        int digit = text.ptr[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(number, (int64_t)10, &number) ||
            __builtin_sub_overflow(number, (int64_t)digit, &number))
            return false;
    }
    if (!negative && number == INT64_MIN)
        return false;
    *ret_number = negative ? number : -number;
    return true;
}

static int add_value(struct requirement *req, struct sv value, struct err *err)
{
    if (!value.len)
        value = SV("");
    if (req->op == OP_GREATER || req->op == OP_LESS) {
        if (!parse_int(value, &req->number))
            return err_set(err, -EINVAL, "label selector: the value of '%.100s' must be an integer",
                           req->key);
        return 0;
    }
    int r = check_value(req->key, value, err);
    if (r < 0)
        return r;
    vec_push(&req->values, mem_strndup(value.ptr, value.len));
    return 0;
}

/* The value of key=value; nothing before a comma or the end is an empty one. */
static int parse_value(struct lexer *l, struct requirement *req)
{
    next(l);
    if (l->token == T_WORD) {
        int r = add_value(req, l->word, l->err);
        next(l);
        return r;
    }
    if (l->token != T_END && l->token != T_COMMA)
        return unexpected(l, "a value");
    return add_value(req, SV(""), l->err);
}

static int parse_values(struct lexer *l, struct requirement *req)
{
    next(l);
    if (l->token != T_OPEN)
        return unexpected(l, "'('");
    do {
        struct sv value = SV("");
        next(l);
        if (l->token == T_WORD) {
            value = l->word;
            next(l);
        }
        if (l->token != T_COMMA && l->token != T_CLOSE)
            return unexpected(l, "',' or ')'");
        int r = add_value(req, value, l->err);
        if (r < 0)
            return r;
    } while (l->token == T_COMMA);
    next(l);
    return 0;
}

/* What follows a key. */
static int parse_operation(struct lexer *l, struct requirement *req)
{
    switch (l->token) {
    case T_END:
    case T_COMMA:
        req->op = OP_EXISTS;
        return 0;
    case T_EQUAL:
        req->op = OP_IN;
        return parse_value(l, req);
    case T_NOT_EQUAL:
        req->op = OP_NOT_IN;
        return parse_value(l, req);
    case T_GREATER:
    case T_LESS:
        req->op = l->token == T_GREATER ? OP_GREATER : OP_LESS;
        return parse_value(l, req);
    case T_WORD:
        if (!sv_is(l->word, "in") && !sv_is(l->word, "notin"))
            break;
        req->op = sv_is(l->word, "in") ? OP_IN : OP_NOT_IN;
        return parse_values(l, req);
    case T_OPEN:
    case T_CLOSE:
    case T_NOT:
    case T_STRAY:
        break;
    }
    return unexpected(l, "an operator (= == != in notin > <)");
}

static int parse_requirement(struct lexer *l, struct requirement *req)
{
    bool absent = l->token == T_NOT;
    if (absent)
        next(l);
    if (l->token != T_WORD)
        return unexpected(l, "a key");
    int r = check_key(l->word, l->err);
    if (r < 0)
        return r;
    req->key = mem_strndup(l->word.ptr, l->word.len);
    next(l);
    if (!absent)
        return parse_operation(l, req);
    req->op = OP_ABSENT;
    return l->token == T_END || l->token == T_COMMA ? 0 : unexpected(l, "','");
}

static int parse_all(struct lexer *l, struct label_selector *selector)
{
    next(l);
    if (l->token == T_END)
        return 0;
    for (;;) {
        struct requirement req = {0};
        int r = parse_requirement(l, &req);
        vec_push(&selector->list, req);
        if (r < 0)
            return r;
        if (l->token == T_END)
            return 0;
        if (l->token != T_COMMA)
            return unexpected(l, "','");
        next(l);
    }
}

int label_selector_parse(struct sv text, struct label_selector **ret_selector, struct err *err)
{
    struct lexer l = {.rest = text, .all = text, .err = err};
    struct label_selector *selector = mem_zalloc(sizeof(*selector));
    int r = parse_all(&l, selector);
    if (r < 0) {
        label_selector_free(selector);
        return r;
    }
    *ret_selector = selector;
    return 0;
}

/* ---- metav1.LabelSelector ---- */

static struct sv text_of(yyjson_val *val)
{
    return (struct sv){yyjson_get_str(val), yyjson_get_len(val)};
}

static int start_requirement(struct label_selector *selector, yyjson_val *key, enum operator op,
                             struct err *err)
{
    if (!yyjson_is_str(key))
        return err_set(err, -EINVAL, "label selector: a key must be a string");
    int r = check_key(text_of(key), err);
    if (r < 0)
        return r;
    struct requirement req = {.op = op};
    req.key = mem_strndup(yyjson_get_str(key), yyjson_get_len(key));
    vec_push(&selector->list, req);
    return 0;
}

static int add_json_value(struct label_selector *selector, yyjson_val *value, struct err *err)
{
    struct requirement *req = vec_last(&selector->list);
    if (!yyjson_is_str(value))
        return err_set(err, -EINVAL, "label selector: a value of '%.100s' must be a string",
                       req->key);
    return add_value(req, text_of(value), err);
}

static int add_labels(struct label_selector *selector, yyjson_val *labels, struct err *err)
{
    if (!labels || yyjson_is_null(labels))
        return 0;
    if (!yyjson_is_obj(labels))
        return err_set(err, -EINVAL, "label selector: matchLabels must be an object");
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(labels, i, n, key, value)
    {
        int r = start_requirement(selector, key, OP_IN, err);
        if (r == 0)
            r = add_json_value(selector, value, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int parse_operator(yyjson_val *name, enum operator* ret_op, struct err *err)
{
    static const struct {
        const char *name;
        enum operator op;
    } NAMES[] = {
        {"In", OP_IN}, {"NotIn", OP_NOT_IN}, {"Exists", OP_EXISTS}, {"DoesNotExist", OP_ABSENT}};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        if (yyjson_equals_str(name, NAMES[i].name)) {
            *ret_op = NAMES[i].op;
            return 0;
        }
    (void)err_set(err, -EINVAL, "label selector: unknown operator '%.60s'",
                  yyjson_is_str(name) ? yyjson_get_str(name) : "");
    (void)err_hint(err, "one of In, NotIn, Exists, DoesNotExist");
    return -EINVAL;
}

static int add_expression(struct label_selector *selector, yyjson_val *expression, struct err *err)
{
    enum operator op;
    int r = parse_operator(yyjson_obj_get(expression, "operator"), &op, err);
    if (r == 0)
        r = start_requirement(selector, yyjson_obj_get(expression, "key"), op, err);
    if (r < 0)
        return r;
    yyjson_val *values = yyjson_obj_get(expression, "values"), *value;
    bool takes_values = op == OP_IN || op == OP_NOT_IN;
    if (takes_values != (yyjson_arr_size(values) > 0))
        return err_set(err, -EINVAL, "label selector: operator %s of key '%.100s' takes %s values",
                       yyjson_get_str(yyjson_obj_get(expression, "operator")),
                       vec_last(&selector->list)->key, takes_values ? "one or more" : "no");
    size_t i, n;
    yyjson_arr_foreach(values, i, n, value)
    {
        r = add_json_value(selector, value, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_expressions(struct label_selector *selector, yyjson_val *list, struct err *err)
{
    if (list && !yyjson_is_null(list) && !yyjson_is_arr(list))
        return err_set(err, -EINVAL, "label selector: matchExpressions must be a list");
    size_t i, n;
    yyjson_val *expression;
    yyjson_arr_foreach(list, i, n, expression)
    {
        int r = add_expression(selector, expression, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int label_selector_of(yyjson_val *object, struct label_selector **ret_selector, struct err *err)
{
    struct label_selector *selector = mem_zalloc(sizeof(*selector));
    int r = add_labels(selector, yyjson_obj_get(object, "matchLabels"), err);
    if (r == 0)
        r = add_expressions(selector, yyjson_obj_get(object, "matchExpressions"), err);
    if (r < 0) {
        label_selector_free(selector);
        return r;
    }
    *ret_selector = selector;
    return 0;
}

/* ---- matching ---- */

static bool has_value(const struct requirement *req, yyjson_val *label)
{
    for (size_t i = 0; i < req->values.len; i++)
        if (yyjson_equals_str(label, req->values.items[i]))
            return true;
    return false;
}

static bool compares(const struct requirement *req, yyjson_val *label)
{
    int64_t number;
    if (!yyjson_is_str(label) || !parse_int(text_of(label), &number))
        return false;
    return req->op == OP_GREATER ? number > req->number : number < req->number;
}

static bool holds(const struct requirement *req, yyjson_val *label)
{
    switch (req->op) {
    case OP_EXISTS:
        return label;
    case OP_ABSENT:
        return !label;
    case OP_IN:
        return label && has_value(req, label);
    case OP_NOT_IN:
        return !label || !has_value(req, label);
    case OP_GREATER:
    case OP_LESS:
        return compares(req, label);
    }
    return false;
}

bool label_selector_matches(const struct label_selector *selector, yyjson_val *labels)
{
    for (size_t i = 0; i < selector->list.len; i++) {
        const struct requirement *req = &selector->list.items[i];
        if (!holds(req, yyjson_obj_get(labels, req->key)))
            return false;
    }
    return true;
}
