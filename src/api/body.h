// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "api/call.h"

/* The one object of a body. JSON names its fields, protobuf numbers them: `of` tells which is
 * which. `repeated`: told of the fields that JSON had twice, a line each; NULL: nobody asks. */
bool body_object(const struct call *call, const struct type *of, char **repeated,
                 yyjson_mut_doc **ret_doc, struct status *status);
/* A patch, into the write. */
bool body_patch(const struct call *call, struct write *write, struct status *status);
