// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"

/* What was applied last, kept on the object so that the next apply knows what to take away. The
 * text is byte for byte what kubectl writes, so that both may be used on the same objects: keys
 * sorted, compact, <, > and & escaped, a newline at the end, and metadata.annotations always
 * there, without this one. */
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* Sets the annotation on `object`, which is as the file says but for defaults the tool adds. */
void lastapplied_set(yyjson_mut_doc *doc, yyjson_mut_val *object);
/* The annotation of an object of the server, parsed; NULL when it has none or it is broken. */
yyjson_doc *lastapplied_get(yyjson_mut_val *object);
