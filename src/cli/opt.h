// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/vec.h"
#include <stdbool.h>

/* Options as tables: parsing, `help`, completion and the manual all read the same rows. Options
 * may stand anywhere before "--"; "--name value", "--name=value", "-n value", "-nvalue" and
 * clusters of switches ("-Aw") are understood. Names are never abbreviated: "--name" must not
 * silently become "--namespace". */

enum opt_flags {
    OPT_REPEAT = 1 << 0,   /* may be given several times, all are kept */
    OPT_OPTIONAL = 1 << 1, /* the argument may be left out ("--cascade"); it needs "=" then */
};

enum opt_complete {
    COMPLETE_NOTHING,
    COMPLETE_FILE,
    COMPLETE_DIR,
    COMPLETE_NAMESPACE,
    COMPLETE_KIND_NAME,
    COMPLETE_WISH, /* what to wait for */
};

struct opt {
    const char *name; /* long, without dashes; NULL ends the table */
    char letter;      /* 0: none */
    const char *arg;  /* "FILE"; NULL: a switch, which also takes "=true" and "=false" */
    const char *doc;
    const char *fallback;      /* when not given; shown in the help */
    const char *const *values; /* the allowed ones, NULL-terminated; one that ends in '=' is a
                                  prefix ("jsonpath=TEMPLATE") */
    const char *optional;      /* with OPT_OPTIONAL: what a bare option means */
    unsigned flags;
    enum opt_complete complete;
};

#define OPT_TABLES_MAX 4
struct opt_set {
    const struct opt *tables[OPT_TABLES_MAX]; /* unused ones are NULL */
};

struct opt_given {
    const struct opt *opt;
    const char *value;
};

/* What a command line said. Points into argv. */
struct opt_values {
    struct opt_set set;
    VEC(struct opt_given) given;
    VEC(char *) args; /* what is not an option; items[len] is not terminated */
    size_t dashes;    /* how many args stood before "--"; SIZE_MAX without it */
};

/* argv[0] is not skipped. -EINVAL with the nearest right option in the hint. */
int opt_parse(struct opt_set set, int argc, char **argv, struct opt_values *ret_values,
              struct err *err);
void opt_done(struct opt_values *values);

/* All of these take the long name, which must be in one of the tables. */
const char *opt_get(const struct opt_values *values, const char *name); /* or fallback, or NULL */
bool opt_is_given(const struct opt_values *values, const char *name);
bool opt_flag(const struct opt_values *values, const char *name);
size_t opt_count(const struct opt_values *values, const char *name);
const char *opt_nth(const struct opt_values *values, const char *name, size_t index);

const struct opt *opt_find(const struct opt_set *set, const char *name, size_t len);
const struct opt *opt_find_letter(const struct opt_set *set, char letter);
