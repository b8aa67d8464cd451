// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "model/manifest.h"
#include "model/scalar.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* YAML as kubectl prints it: keys sorted (digits inside them by value), lists at the indentation of
 * their key, words that some reader could misread in double quotes, other text that cannot stand
 * bare in single quotes, lines in block scalars. Two deliberate differences: long lines are not
 * folded, and text with tabs may be a block too, which keeps scripts readable. */

#define INDENT 2
#define SIMPLE_KEY_MAX 128 /* longer keys need "? "; readers give up looking for ':' at 1024 */

enum style {
    STYLE_PLAIN,
    STYLE_SINGLE,
    STYLE_DOUBLE,
    STYLE_BLOCK,
};

/* ---- what is in a text ---- */

struct traits {
    bool special;    /* must be escaped */
    bool tab;        /* must be escaped outside of blocks */
    bool newline;    /* somewhere */
    bool blank_line; /* a blank before a line's end, which a block would hide */
    bool indicator;  /* a plain scalar would be read as syntax */
    bool content;    /* anything but newlines */
};

/* Decodes one character; returns its length, 0 for bytes that are not UTF-8. */
static size_t decode(struct sv text, uint32_t *ret_c)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)text.ptr[0];
    size_t len = first < 0x80             ? 1
                 : (first & 0xE0) == 0xC0 ? 2
                 : (first & 0xF0) == 0xE0 ? 3
                 : (first & 0xF8) == 0xF0 ? 4
                                          : 0;
    if (len == 0 || len > text.len)
        return 0;
    uint32_t c = len == 1 ? first : first & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (((unsigned char)text.ptr[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | ((unsigned char)text.ptr[i] & 0x3F);
    }
    if (c < LEAST[len] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *ret_c = c;
    return len;
}

static bool is_special(uint32_t c)
{
    if (c == '\n' || c == '\t')
        return false;
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || c == 0xFEFF ||
           c == 0xFFFE || c == 0xFFFF;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_blank_or_end(struct sv text, size_t at)
{
    return at >= text.len || is_blank(text.ptr[at]) || text.ptr[at] == '\n';
}

static bool starts_as_syntax(struct sv text)
{
    if (!text.len)
        return true;
    if (sv_starts(text, "---") || sv_starts(text, "..."))
        return true;
    char first = text.ptr[0];
    if (first == '-' || first == '?' || first == ':')
        return is_blank_or_end(text, 1);
    return memchr("#,[]{}&*!|>'\"%@` \t\n", first, 20);
}

static bool holds_syntax(struct sv text)
{
    if (starts_as_syntax(text) || is_blank_or_end(text, text.len - 1))
        return true;
    for (size_t i = 1; i < text.len; i++) {
        if (text.ptr[i] == '#' && is_blank(text.ptr[i - 1]))
            return true;
        if (text.ptr[i] == ':' && is_blank_or_end(text, i + 1))
            return true;
    }
    return false;
}

static struct traits inspect(struct sv text)
{
    struct traits traits = {.indicator = holds_syntax(text)};
    for (size_t i = 0; i < text.len;) {
        uint32_t c;
        size_t len = decode((struct sv){text.ptr + i, text.len - i}, &c);
        traits.special |= len == 0 || is_special(c);
        traits.tab |= text.ptr[i] == '\t';
        traits.newline |= text.ptr[i] == '\n';
        traits.content |= text.ptr[i] != '\n';
        traits.blank_line |= is_blank(text.ptr[i]) && is_blank_or_end(text, i + 1) &&
                             (i + 1 == text.len || text.ptr[i + 1] == '\n');
        i += len ? len : 1;
    }
    return traits;
}

static enum style style_of(struct sv text, bool is_key)
{
    struct traits traits = inspect(text);
    if (traits.special)
        return STYLE_DOUBLE;
    if (traits.newline)
        return is_key || traits.blank_line || !traits.content ? STYLE_DOUBLE : STYLE_BLOCK;
    if (traits.tab || scalar_is_ambiguous(text))
        return STYLE_DOUBLE;
    return traits.indicator ? STYLE_SINGLE : STYLE_PLAIN;
}

/* ---- texts ---- */

static void pad(struct str *out, size_t columns)
{
    for (size_t i = 0; i < columns; i++)
        str_addc(out, ' ');
}

static void write_single(struct sv text, struct str *out)
{
    str_addc(out, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'')
            str_addc(out, '\'');
        str_addc(out, text.ptr[i]);
    }
    str_addc(out, '\'');
}

static void write_escape(uint32_t c, struct str *out)
{
    static const struct {
        uint32_t c;
        char letter;
    } LETTERS[] = {{'\0', '0'},  {'\a', 'a'}, {'\b', 'b'},   {'\t', 't'},  {'\n', 'n'},
                   {'\v', 'v'},  {'\f', 'f'}, {'\r', 'r'},   {0x1B, 'e'},  {'"', '"'},
                   {'\\', '\\'}, {0x85, 'N'}, {0x2028, 'L'}, {0x2029, 'P'}};
    for (size_t i = 0; i < ARRAY_LEN(LETTERS); i++)
        if (LETTERS[i].c == c) {
            str_addf(out, "\\%c", LETTERS[i].letter);
            return;
        }
    str_addf(out, c < 0x100 ? "\\x%02X" : "\\u%04X", c);
}

static void write_double(struct sv text, struct str *out)
{
    str_addc(out, '"');
    for (size_t i = 0; i < text.len;) {
        uint32_t c = 0;
        size_t len = decode((struct sv){text.ptr + i, text.len - i}, &c);
        if (len == 0)
            write_escape(0xFFFD, out);
        else if (is_special(c) || c == '\n' || c == '\t' || c == '"' || c == '\\')
            write_escape(c, out);
        else
            str_addn(out, text.ptr + i, len);
        i += len ? len : 1;
    }
    str_addc(out, '"');
}

static void write_block(struct sv text, size_t indent, struct str *out)
{
    str_addc(out, '|');
    if (is_blank_or_end(text, 0)) /* else the first line's blanks would count as indentation */
        str_addf(out, "%d", INDENT);
    if (text.ptr[text.len - 1] != '\n')
        str_addc(out, '-');
    else if (text.ptr[text.len - 2] == '\n')
        str_addc(out, '+');
    while (text.len) {
        struct sv line = sv_cut(&text, '\n');
        str_addc(out, '\n');
        pad(out, line.len ? indent : 0);
        str_addn(out, line.ptr, line.len);
    }
}

/* `indent`: where a block's lines begin. */
static void write_text(struct sv text, size_t indent, struct str *out)
{
    switch (style_of(text, false)) {
    case STYLE_PLAIN:
        str_addn(out, text.ptr, text.len);
        break;
    case STYLE_SINGLE:
        write_single(text, out);
        break;
    case STYLE_DOUBLE:
        write_double(text, out);
        break;
    case STYLE_BLOCK:
        write_block(text, indent, out);
        break;
    }
}

static void write_key(struct sv key, size_t indent, struct str *out)
{
    enum style style = style_of(key, true);
    bool complex = key.len > SIMPLE_KEY_MAX;
    if (complex)
        str_add(out, "? ");
    if (style == STYLE_PLAIN)
        str_addn(out, key.ptr, key.len);
    else if (style == STYLE_SINGLE)
        write_single(key, out);
    else
        write_double(key, out);
    if (complex) {
        str_addc(out, '\n');
        pad(out, indent);
    }
    str_addc(out, ':');
}

/* ---- order of keys ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A key is compared as a row of tokens, each a number or one character: "p2" before "p10". */
enum token_class {
    TOKEN_OTHER,
    TOKEN_NUMBER,
    TOKEN_LETTER,
};

static enum token_class class_of(char c)
{
    if (is_digit(c))
        return TOKEN_NUMBER;
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
    return letter ? TOKEN_LETTER : TOKEN_OTHER;
}

static struct sv take_token(struct sv *rest)
{
    struct sv token = {rest->ptr, 1};
    while (is_digit(rest->ptr[0]) && token.len < rest->len && is_digit(rest->ptr[token.len]))
        token.len++;
    *rest = (struct sv){rest->ptr + token.len, rest->len - token.len};
    return token;
}

static struct sv skip_zeros(struct sv digits)
{
    while (digits.len && digits.ptr[0] == '0')
        digits = (struct sv){digits.ptr + 1, digits.len - 1};
    return digits;
}

static int compare_tokens(struct sv a, struct sv b)
{
    enum token_class class_a = class_of(a.ptr[0]), class_b = class_of(b.ptr[0]);
    if (class_a != class_b)
        return class_a < class_b ? -1 : 1;
    if (class_a != TOKEN_NUMBER)
        return sv_cmp(a, b);
    struct sv digits_a = skip_zeros(a), digits_b = skip_zeros(b);
    if (digits_a.len != digits_b.len)
        return digits_a.len < digits_b.len ? -1 : 1;
    int order = sv_cmp(digits_a, digits_b);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static struct sv text_of(yyjson_val *string)
{
    return (struct sv){yyjson_get_str(string), yyjson_get_len(string)};
}

static int compare_keys(const void *a_, const void *b_)
{
    struct sv a = text_of(*(yyjson_val *const *)a_), b = text_of(*(yyjson_val *const *)b_);
    while (a.len && b.len) {
        int order = compare_tokens(take_token(&a), take_token(&b));
        if (order)
            return order;
    }
    return (a.len > b.len) - (a.len < b.len);
}

static yyjson_val **sorted_keys(yyjson_val *object)
{
    size_t n = yyjson_obj_size(object), i = 0;
    yyjson_val **keys = mem_alloc((n + 1) * sizeof(yyjson_val *));
    yyjson_obj_iter iter = yyjson_obj_iter_with(object);
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&iter)))
        keys[i++] = key;
    qsort(keys, n, sizeof(yyjson_val *), compare_keys);
    return keys;
}

/* ---- values ---- */

struct writer {
    struct str *out;
    int depth;
};

static void write_lines(struct writer *w, yyjson_val *val, size_t indent);

static bool is_block(yyjson_val *val)
{
    return yyjson_is_ctn(val) && unsafe_yyjson_get_len(val) > 0;
}

/* What fits behind "key: " or "- ". */
static void write_inline(struct writer *w, yyjson_val *val, size_t indent)
{
    if (yyjson_is_str(val))
        write_text(text_of(val), indent, w->out);
    else
        json_write_val(val, w->out);
}

static void write_member(struct writer *w, yyjson_val *key, size_t indent)
{
    yyjson_val *val = yyjson_obj_iter_get_val(key);
    write_key(text_of(key), indent, w->out);
    if (!is_block(val)) {
        str_addc(w->out, ' ');
        write_inline(w, val, indent + INDENT);
        return;
    }
    size_t inner = yyjson_is_arr(val) ? indent : indent + INDENT;
    str_addc(w->out, '\n');
    pad(w->out, inner);
    write_lines(w, val, inner);
}

static void write_object(struct writer *w, yyjson_val *object, size_t indent)
{
    scoped_free yyjson_val **keys = sorted_keys(object);
    for (size_t i = 0, n = yyjson_obj_size(object); i < n; i++) {
        if (i > 0) {
            str_addc(w->out, '\n');
            pad(w->out, indent);
        }
        write_member(w, keys[i], indent);
    }
}

static void write_array(struct writer *w, yyjson_val *array, size_t indent)
{
    yyjson_val *item;
    size_t i, n;
    yyjson_arr_foreach(array, i, n, item)
    {
        if (i > 0) {
            str_addc(w->out, '\n');
            pad(w->out, indent);
        }
        str_add(w->out, "- ");
        if (is_block(item))
            write_lines(w, item, indent + INDENT);
        else
            write_inline(w, item, indent + INDENT);
    }
}

/* The cursor stands at `indent` already, and stays at the end of the last line. */
static void write_lines(struct writer *w, yyjson_val *val, size_t indent)
{
    assert(w->depth < JSON_DEPTH_MAX);
    w->depth++;
    if (yyjson_is_obj(val))
        write_object(w, val, indent);
    else
        write_array(w, val, indent);
    w->depth--;
}

void yaml_write(yyjson_val *root, struct str *out)
{
    struct writer w = {.out = out};
    if (is_block(root))
        write_lines(&w, root, 0);
    else
        write_inline(&w, root, INDENT);
    str_addc(out, '\n');
}
