// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/str.h"
#include "cli/jsonpath.h"

/* A template is a list of nodes; a path a list of steps; each step turns the values found so far
 * into the next ones. Everything lives in one arena. */

struct part {
    struct part *next;
    struct sv name;
};
struct pick { /* one part of [a,b,c] */
    struct pick *next;
    bool is_name;
    struct sv name;
    struct part *parts; /* of 'metadata.name', when there is no field of the whole name; or NULL */
    bool has_start, has_end;
    int64_t start, end, step;
};

enum operand_type { OPERAND_PATH, OPERAND_TEXT, OPERAND_NUMBER, OPERAND_BOOL };
struct path {
    bool from_root; /* begins with $ */
    struct step *first;
};
struct operand {
    enum operand_type type;
    struct path path;
    struct sv text;
    long double number; /* holds every int64 exactly */
    bool truth;
};

enum compare {
    COMPARE_EXISTS,
    COMPARE_EQ,
    COMPARE_NE,
    COMPARE_LT,
    COMPARE_LE,
    COMPARE_GT,
    COMPARE_GE
};
struct filter {
    struct operand left, right;
    enum compare op;
};

enum step_type { STEP_PICK, STEP_ALL, STEP_RECURSE, STEP_FILTER };
struct step {
    struct step *next;
    enum step_type type;
    struct pick *picks;
    struct filter *filter;
};

enum node_type { NODE_TEXT, NODE_PATH, NODE_RANGE };
struct node {
    struct node *next;
    enum node_type type;
    struct sv text;
    struct path path;
    struct node *children; /* of a range */
};

struct jsonpath {
    struct arena arena;
    struct node *nodes;
};
