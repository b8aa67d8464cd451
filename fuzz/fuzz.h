// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The one door of a fuzz program: checks a property of any input whatsoever and asserts that it
 * holds. libFuzzer calls it with inputs it invents, replay.c with stored ones. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
