// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/jsonpath.h"
#include "cli/target.h"

/* --output: how objects are printed when they are not rows of a table. */
enum output_format {
    OUTPUT_TABLE,
    OUTPUT_WIDE,
    OUTPUT_YAML,
    OUTPUT_JSON,
    OUTPUT_NAME,
    OUTPUT_JSONPATH
};
struct output {
    enum output_format format;
    struct jsonpath *path;
};
extern const char *const OUTPUT_FORMATS[]; /* for the option tables */

/* Reads the verb's --output (NULL is a table). 0 or CLI_USAGE. */
int output_parse(struct cli *cli, struct output *ret_output);
void output_done(struct output *output);
/* One object in any format but the tables. 0 or an exit code. */
int output_object(struct cli *cli, const struct output *output, yyjson_val *object);

/* Several objects, gathered into a List unless `single`. */
struct gather {
    yyjson_mut_doc *doc;
    yyjson_mut_val *items;
};
void gather_init(struct gather *gather);
/* Items of lists lack what their list says; `kind` fills in apiVersion and kind. */
void gather_add(struct gather *gather, const struct kind *kind, yyjson_val *object);
int gather_print(struct cli *cli, struct gather *gather, bool single, const struct output *output);
void gather_done(struct gather *gather);
