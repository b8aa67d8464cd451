// SPDX-License-Identifier: Apache-2.0
/* What somebody asks about himself. Nothing of it is stored. */
#include "model/kind.h"
#include "model/options.h"
#include "model/rules.h"

#define AUTHORIZATION_V1(name) "io.k8s.api.authorization.v1." name

// clang-format off
static const struct field RESOURCE_FIELDS[] = {
    {"namespace", F_STRING, ONE, .pb = 1, .doc = "Where; empty: in all namespaces, or in none."},
    {"verb", F_STRING, ONE, .pb = 2, .doc = "What to do: get, list, create, ..., * for all."},
    {"group", F_STRING, ONE, .pb = 3, .doc = "The group of the resource."},
    {"version", F_STRING, ONE, .pb = 4, .doc = "Its version; rights do not depend on it."},
    {"resource", F_STRING, ONE, .pb = 5, .doc = "Its name: pods."},
    {"subresource", F_STRING, ONE, .pb = 6, .doc = "A part of it: status."},
    {"name", F_STRING, ONE, .pb = 7, .doc = "Which one; empty: any."},
    {0}};
static const struct type TYPE_RESOURCE_ATTRIBUTES = {
    AUTHORIZATION_V1("ResourceAttributes"), "What would be asked of a resource.", RESOURCE_FIELDS};

static const struct field ADDRESS_FIELDS[] = {
    {"path", F_STRING, ONE, .pb = 1, .doc = "The path of an address that is no resource."},
    {"verb", F_STRING, ONE, .pb = 2, .doc = "What to do with it: get."},
    {0}};
static const struct type TYPE_ADDRESS_ATTRIBUTES = {
    AUTHORIZATION_V1("NonResourceAttributes"), "What would be asked of another address.",
    ADDRESS_FIELDS};

static const struct field ACCESS_FIELDS[] = {
    {"resourceAttributes", F_OBJECT, ONE, .of = &TYPE_RESOURCE_ATTRIBUTES, .pb = 1 | PB_ZERO,
     .doc = "What would be asked of a resource."},
    {"nonResourceAttributes", F_OBJECT, ONE, .of = &TYPE_ADDRESS_ATTRIBUTES, .pb = 2 | PB_ZERO,
     .doc = "What would be asked of another address."},
    {0}};
static void check_access(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    (void)rules_one_of(c, val, VALUES("resourceAttributes", "nonResourceAttributes"), "a question");
}

static const struct type TYPE_ACCESS_SPEC = {
    AUTHORIZATION_V1("SelfSubjectAccessReviewSpec"), "One of the two.", ACCESS_FIELDS,
    .check = check_access};

static const struct field RULES_FIELDS[] = {
    {"namespace", F_STRING, ONE, .pb = 1, .doc = "Where."},
    {0}};
static const struct type TYPE_RULES_SPEC = {
    AUTHORIZATION_V1("SelfSubjectRulesReviewSpec"), "Where.", RULES_FIELDS};

/* Clients send an empty answer along. */
static const struct field ACCESS_STATUS_FIELDS[] = {
    {"allowed", F_BOOL, ONE, .pb = 1, .doc = "Yes."},
    {"reason", F_STRING, ONE, .pb = 2, .doc = "Why."},
    {"evaluationError", F_STRING, ONE, .pb = 3, .doc = "Why that cannot be told."},
    {"denied", F_BOOL, ONE, .pb = 4, .doc = "No, whoever else might say yes."},
    {0}};
static const struct type TYPE_ACCESS_STATUS = {
    AUTHORIZATION_V1("SubjectAccessReviewStatus"), "The answer.", ACCESS_STATUS_FIELDS};

static const struct field RULES_STATUS_FIELDS[] = {
    {"incomplete", F_BOOL, ONE, .pb = 3, .doc = "Not all of it can be told."},
    {"evaluationError", F_STRING, ONE, .pb = 4, .doc = "Why not."},
    {0}};
static const struct type TYPE_RULES_STATUS = {
    AUTHORIZATION_V1("SubjectRulesReviewStatus"), "The answer.", RULES_STATUS_FIELDS};

static const struct field USER_FIELDS[] = {
    {"username", F_STRING, ONE, .pb = 1, .doc = "The name in the token."},
    {"uid", F_STRING, ONE, .pb = 2, .doc = "Always empty."},
    {0}};
static const struct type TYPE_USER = {
    "io.k8s.api.authentication.v1.UserInfo", "Who somebody is.", USER_FIELDS};

static const struct field SELF_STATUS_FIELDS[] = {
    {"userInfo", F_OBJECT, ONE, .of = &TYPE_USER, .pb = 1, .doc = "Who somebody is."},
    {0}};
static const struct type TYPE_SELF_STATUS = {
    "io.k8s.api.authentication.v1.SelfSubjectReviewStatus", "The answer.", SELF_STATUS_FIELDS};

static const struct field ACCESS_REVIEW_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_ACCESS_SPEC, .pb = 2, .doc = "The question."},
    {"status", F_OBJECT, ONE, .of = &TYPE_ACCESS_STATUS, .pb = 3, .doc = "The answer."},
    {0}};
static const struct field RULES_REVIEW_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, .of = &TYPE_RULES_SPEC, .pb = 2, .doc = "The question."},
    {"status", F_OBJECT, ONE, .of = &TYPE_RULES_STATUS, .pb = 3, .doc = "The answer."},
    {0}};
static const struct field SELF_REVIEW_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"status", F_OBJECT, ONE, .of = &TYPE_SELF_STATUS, .pb = 2, .doc = "The answer."},
    {0}};
// clang-format on

const struct type TYPE_ACCESS_REVIEW = {
    AUTHORIZATION_V1("SelfSubjectAccessReview"),
    "May I do this?",
    ACCESS_REVIEW_FIELDS,
};
const struct type TYPE_RULES_REVIEW = {
    AUTHORIZATION_V1("SelfSubjectRulesReview"),
    "What may I do?",
    RULES_REVIEW_FIELDS,
};
const struct type TYPE_SELF_REVIEW = {
    "io.k8s.api.authentication.v1.SelfSubjectReview",
    "Who am I?",
    SELF_REVIEW_FIELDS,
};
