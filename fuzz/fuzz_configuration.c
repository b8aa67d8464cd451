// SPDX-License-Identifier: Apache-2.0
/* Any text is a configuration or is refused with a reason. */
#include "fuzz.h"
#include "model/configuration.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct configuration configuration = {0};
    scoped_str warnings = {0};
    struct err err = {0};
    struct sv text = {(const char *)data, size};
    if (configuration_read("fuzz", text, &configuration, &warnings, &err) < 0) {
        assert(err.text[0] != '\0');
        return 0;
    }
    const struct wait_for_ready *ready = &configuration.ready;
    assert(ready->timeout_ms > 0 && ready->recovery_ms >= 0 && ready->limit_count >= -1);
    assert(ready->base_ms >= 0 && ready->base_ms <= ready->max_ms);
    configuration_done(&configuration);
    return 0;
}
