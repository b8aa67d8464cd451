// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/inputs.h"
#include "store/store.h"

/* `muster up -f`: applies manifests straight to the store of this process, with the same result
 * as `muster apply` over the API. Calls back once all are durable, with the number refused; what
 * was refused has been printed. */
void preload_start(struct cli *cli, struct store *store, struct manifests *manifests,
                   void (*finished)(void *arg, size_t refused), void *arg);
