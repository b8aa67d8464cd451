// SPDX-License-Identifier: Apache-2.0
#include "cli/opt.h"
#include "base/str.h"
#include <assert.h>
#include <errno.h>
#include <stdint.h>

const struct opt *opt_find(const struct opt_set *set, const char *name, size_t len)
{
    struct sv wanted = {name, len};
    for (size_t t = 0; t < OPT_TABLES_MAX; t++) {
        const struct opt *opt = set->tables[t];
        for (; opt != NULL && opt->name != NULL; opt++) {
            if (sv_is(wanted, opt->name))
                return opt;
        }
    }
    return NULL;
}

const struct opt *opt_find_letter(const struct opt_set *set, char letter)
{
    for (size_t t = 0; t < OPT_TABLES_MAX; t++) {
        const struct opt *opt = set->tables[t];
        for (; opt != NULL && opt->name != NULL; opt++) {
            if (opt->letter == letter && letter != '\0')
                return opt;
        }
    }
    return NULL;
}

static int refuse_name(const struct opt_set *set, struct sv name, struct err *err)
{
    VEC(const char *) names = {0};
    for (size_t t = 0; t < OPT_TABLES_MAX; t++) {
        const struct opt *opt = set->tables[t];
        for (; opt != NULL && opt->name != NULL; opt++)
            vec_push(&names, opt->name);
    }
    scoped_free char *word = mem_strndup(name.ptr, name.len);
    const char *nearest = str_nearest(word, names.items, names.len);
    vec_done(&names);
    (void)err_set(err, -EINVAL, "unknown option '--%s'", word);
    if (nearest != NULL)
        (void)err_hint(err, "did you mean '--%s'?", nearest);
    return -EINVAL;
}

static bool is_allowed(const char *const *values, const char *value)
{
    for (; *values != NULL; values++) {
        bool prefix = str_ends(*values, "=");
        if (prefix ? str_starts(value, *values) : str_eq(value, *values))
            return true;
    }
    return false;
}

static int check_value(const struct opt *opt, const char *value, struct err *err)
{
    static const char *const SWITCH[] = {"true", "false", NULL};
    const char *const *values = opt->arg == NULL ? SWITCH : opt->values;
    if (values == NULL || is_allowed(values, value))
        return 0;
    scoped_str list = {0};
    size_t n = 0;
    for (; values[n] != NULL; n++)
        str_addf(&list, "%s%s%s", n ? ", " : "", values[n], str_ends(values[n], "=") ? "..." : "");
    const char *nearest = str_nearest(value, values, n);
    (void)err_set(err, -EINVAL, "option '--%s': '%s' is not one of %s", opt->name, value,
                  str_text(&list));
    if (nearest != NULL)
        (void)err_hint(err, "did you mean '--%s=%s'?", opt->name, nearest);
    return -EINVAL;
}

static int keep(struct opt_values *values, const struct opt *opt, const char *value,
                struct err *err)
{
    int r = check_value(opt, value, err);
    if (r < 0)
        return r;
    vec_push(&values->given, ((struct opt_given){opt, value}));
    return 0;
}

static int refuse_no_argument(const struct opt *opt, struct err *err)
{
    (void)err_set(err, -EINVAL, "option '--%s' needs an argument", opt->name);
    return err_hint(err, "write it as --%s=%s", opt->name, opt->arg);
}

/* What the command line still holds. */
struct rest {
    int argc;
    char **argv;
    int next;
};

/* `inside`: the argument that stood in the same word, or NULL. */
static int take_value(struct opt_values *values, const struct opt *opt, const char *inside,
                      struct rest *rest, struct err *err)
{
    if (inside != NULL)
        return keep(values, opt, inside, err);
    if (opt->arg == NULL)
        return keep(values, opt, "true", err);
    if (opt->flags & OPT_OPTIONAL)
        return keep(values, opt, opt->optional, err);
    if (rest->next == rest->argc)
        return refuse_no_argument(opt, err);
    return keep(values, opt, rest->argv[rest->next++], err);
}

static int parse_long(struct opt_values *values, const char *word, struct rest *rest,
                      struct err *err)
{
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const struct opt *opt = opt_find(&values->set, word, len);
    if (opt == NULL)
        return refuse_name(&values->set, (struct sv){word, len}, err);
    return take_value(values, opt, equals ? equals + 1 : NULL, rest, err);
}

static int parse_letters(struct opt_values *values, const char *letters, struct rest *rest,
                         struct err *err)
{
    for (; *letters != '\0'; letters++) {
        const struct opt *opt = opt_find_letter(&values->set, *letters);
        if (opt == NULL)
            return err_set(err, -EINVAL, "unknown option '-%c'", *letters);
        const char *inside = NULL;
        if (letters[1] == '=')
            inside = letters + 2;
        else if (opt->arg != NULL && !(opt->flags & OPT_OPTIONAL) && letters[1] != '\0')
            inside = letters + 1;
        int r = take_value(values, opt, inside, rest, err);
        if (r < 0 || inside != NULL)
            return r;
    }
    return 0;
}

static void take_all(struct opt_values *values, struct rest *rest)
{
    values->dashes = values->args.len;
    while (rest->next < rest->argc)
        vec_push(&values->args, rest->argv[rest->next++]);
}

static int parse_word(struct opt_values *values, struct rest *rest, struct err *err)
{
    char *word = rest->argv[rest->next++];
    if (word[0] != '-' || word[1] == '\0') { /* a lone "-" is standard input */
        vec_push(&values->args, word);
        return 0;
    }
    if (word[1] != '-')
        return parse_letters(values, word + 1, rest, err);
    if (word[2] != '\0')
        return parse_long(values, word + 2, rest, err);
    take_all(values, rest);
    return 0;
}

int opt_parse(struct opt_set set, int argc, char **argv, struct opt_values *ret_values,
              struct err *err)
{
    struct opt_values values = {.set = set, .dashes = SIZE_MAX};
    struct rest rest = {argc, argv, 0};
    while (rest.next < rest.argc) {
        int r = parse_word(&values, &rest, err);
        if (r < 0) {
            opt_done(&values);
            return r;
        }
    }
    *ret_values = values;
    return 0;
}

void opt_done(struct opt_values *values)
{
    vec_done(&values->given);
    vec_done(&values->args);
}

static const struct opt *known(const struct opt_values *values, const char *name)
{
    const struct opt *opt = opt_find(&values->set, name, strlen(name));
    assert(opt != NULL);
    return opt;
}

const char *opt_get(const struct opt_values *values, const char *name)
{
    const struct opt *opt = known(values, name);
    for (size_t i = values->given.len; i-- > 0;) {
        if (values->given.items[i].opt == opt)
            return values->given.items[i].value;
    }
    return opt->fallback;
}

bool opt_is_given(const struct opt_values *values, const char *name)
{
    return opt_count(values, name) > 0;
}

bool opt_flag(const struct opt_values *values, const char *name)
{
    return str_eq(opt_get(values, name), "true");
}

size_t opt_count(const struct opt_values *values, const char *name)
{
    const struct opt *opt = known(values, name);
    size_t n = 0;
    for (size_t i = 0; i < values->given.len; i++)
        n += values->given.items[i].opt == opt;
    return n;
}

const char *opt_nth(const struct opt_values *values, const char *name, size_t index)
{
    const struct opt *opt = known(values, name);
    for (size_t i = 0; i < values->given.len; i++) {
        if (values->given.items[i].opt == opt && index-- == 0)
            return values->given.items[i].value;
    }
    assert(!"opt_nth: index is out of range");
    return NULL;
}
