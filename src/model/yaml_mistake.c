// SPDX-License-Identifier: Apache-2.0
#include "model/yaml_mistake.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>

struct remedy {
    const char *problem; /* the beginning of libyaml's words */
    const char *text;    /* ours */
    const char *hint;
};

static const struct remedy REMEDIES[] = {
    {"mapping values are not allowed", "a second ': ' on a line, or a line indented too far",
     "text that contains ': ' needs quotes; the keys of one mapping begin in the same column"},
    {"did not find expected key", "a key was expected here",
     "the keys of one mapping begin in the same column; check the indentation above"},
    {"did not find expected '-' indicator", "a list item beginning with '- ' was expected here",
     "the items of one list begin in the same column; check the indentation above"},
    {"block sequence entries are not allowed", "a list item cannot stand here",
     "put '- ' on a line of its own below the key"},
    {"could not find expected ':'", "a ':' is missing after this key",
     "write 'key: value', with a space after the colon"},
    {"did not find expected ',' or '}'", "',' or '}' was expected here",
     "a '{' above is not closed, or a value needs quotes"},
    {"did not find expected ',' or ']'", "',' or ']' was expected here",
     "a '[' above is not closed, or a value needs quotes"},
    {"found unexpected end of stream", "the text ends inside quotes",
     "close the quotes that are opened above"},
    {"found unexpected document indicator", "a document ends inside quotes",
     "close the quotes that are opened above"},
    {"found unknown escape character", "there is no such escape in double quotes",
     "write \\\\ for a backslash, or use single quotes"},
    {"found a tab character where an indentation space", "a tab stands in the indentation",
     "YAML is indented with spaces; replace the tabs"},
    {"found a tab character that violates indentation", "a tab stands in the indentation",
     "YAML is indented with spaces; replace the tabs"},
    {"found undefined tag handle", "the tag is not defined", "leave the tag out"},
    {"did not find expected <document start>", "this belongs to no document",
     "write --- between documents, and check the indentation above"},
    {"control characters are not allowed", "a control character stands in the text",
     "remove it, or write it as an escape in double quotes"},
    {"found duplicate", "a directive stands twice", "remove one of the two"},
};

/* Reader errors come with an offset and no mark. */
static struct place place_of_offset(struct sv text, size_t offset)
{
    struct place at = {1, 1};
    for (size_t i = 0; i < offset && i < text.len; i++) {
        if (text.ptr[i] == '\n')
            at = (struct place){at.line + 1, 1};
        else if (((unsigned char)text.ptr[i] & 0xC0) != 0x80)
            at.column++;
    }
    return at;
}

/* The character at a place, '\0' when there is none. */
static char char_at(struct sv text, struct place at)
{
    struct sv rest = text, line = {0};
    for (int i = 0; i < at.line; i++)
        line = sv_cut(&rest, '\n');
    size_t i = 0;
    for (int column = 1; i < line.len; i++) {
        if (((unsigned char)line.ptr[i] & 0xC0) == 0x80)
            continue;
        if (column++ == at.column)
            return line.ptr[i];
    }
    return '\0';
}

/* From the text that was read to the file it is of. */
static struct place in_file(const struct source *source, struct place at)
{
    return (struct place){source->lines_before + at.line, at.column};
}

static int cannot_start(const struct source *source, struct place at, struct err *err)
{
    char c = char_at(source->text, at);
    at = in_file(source, at);
    if (c == '\t') {
        (void)manifest_fail(err, source->file, at, "a tab stands in the indentation");
        return err_hint(err, "YAML is indented with spaces; replace the tabs");
    }
    (void)manifest_fail(err, source->file, at, "text cannot begin with %c", c ? c : '?');
    if (c == '%')
        return err_hint(err, "this looks like a template; render it first, or put it in quotes");
    return err_hint(err, "put it in quotes");
}

/* Braces twice: a template that was not rendered. */
static bool is_template(struct sv text, struct place at)
{
    struct sv rest = text, line = {0};
    for (int i = 0; i < at.line; i++)
        line = sv_cut(&rest, '\n');
    return line.len && memmem(line.ptr, line.len, "{{", 2);
}

int yaml_mistake(const struct source *source, const yaml_parser_t *parser, struct err *err)
{
    const char *problem = parser->problem ? parser->problem : "unknown problem";
    struct place at = {(int)parser->problem_mark.line + 1, (int)parser->problem_mark.column + 1};
    if (parser->error == YAML_READER_ERROR)
        at = place_of_offset(source->text, parser->problem_offset);
    if (str_starts(problem, "found character that cannot start any token"))
        return cannot_start(source, at, err);
    const struct remedy *remedy = NULL;
    for (size_t i = 0; !remedy && i < ARRAY_LEN(REMEDIES); i++)
        if (str_starts(problem, REMEDIES[i].problem))
            remedy = &REMEDIES[i];
    int r = manifest_fail(err, source->file, in_file(source, at), "%s",
                          remedy ? remedy->text : problem);
    if (is_template(source->text, at))
        (void)err_hint(err, "this looks like a template; render it before it is used");
    else if (remedy)
        (void)err_hint(err, "%s", remedy->hint);
    return r;
}
