// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/object.h"

/* What that is, though it is no kind of its own: its fields, and the columns of its table. */
extern const struct kind KIND_SCALE;
/* The Scale sub-resource of an object whose kind has one, as a document of its own. */
yyjson_mut_doc *scale_view(const struct obj *obj);
