// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "api/logport.h"
#include "node/logs.h"

/* The logs of this machine as the API's source of logs. `logs` must live longer than the API. */
struct log_source logsource_of(struct logs *logs);
