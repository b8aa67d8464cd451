// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>

/* SHA-1 in hexadecimal, for labels whose value others compute as well. Not against malice. */
#define SHA1_HEX 41
void sha1_hex(const void *data, size_t len, char out[SHA1_HEX]);
