// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* Reads objects as typed Kubernetes clients send them: application/vnd.kubernetes.protobuf. The
 * tables of fields say which number is which field; what is read is the document that the same
 * client would have sent as JSON, less nulls and empty parts. Numbers that no table names are
 * skipped, as Kubernetes does. Errors name the field. */
#define PROTOBUF_MEDIA_TYPE "application/vnd.kubernetes.protobuf"
#define PROTOBUF_VALUES_MAX 100000

/* The kind in the envelope must be the last word of the type's name. */
int protobuf_decode(const struct type *type, struct sv bytes, yyjson_mut_doc **ret_doc,
                    struct err *err);
