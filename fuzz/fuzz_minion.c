// SPDX-License-Identifier: Apache-2.0
/* A MinionConfig that is accepted is a NodeConfig without findings, and its settings are numbers
 * that the throttle can use; one that is refused says why, and leaves nothing behind. */
#include "control/pods/minion.h"
#include "control/pods/settings.h"
#include "fuzz.h"
#include <assert.h>

static void check_object(yyjson_mut_doc *doc)
{
    struct findings findings = {0};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    schema_unknown(KIND_NODECONFIG.type, root, &findings);
    schema_check(KIND_NODECONFIG.type, root, NULL, &findings);
    assert(findings.list.len == 0);
    assert(format_problem(FMT_DNS_SUBDOMAIN, json_mut_str_at(root, "metadata.name"),
                          yyjson_mut_get_len(json_mut_at(root, "metadata.name"))) == NULL);
    findings_done(&findings);
}

static void check_settings(yyjson_mut_doc *doc)
{
    scoped_json *read = yyjson_mut_doc_imut_copy(doc, NULL);
    struct node_settings settings;
    node_settings_default(&settings, 2);
    node_settings_add(&settings, yyjson_doc_get_root(read));
    const struct gate_settings *gate = &settings.start.gate;
    const double counts[] = {gate->max_starting_per_core, gate->max_starting, gate->max_rate,
                             gate->min_rate, gate->max_load};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        assert(counts[i] >= GATE_OFF && counts[i] <= 1e6);
    const double percents[] = {gate->max_cpu, gate->max_io, gate->max_pressure};
    for (size_t i = 0; i < ARRAY_LEN(percents); i++)
        assert(percents[i] >= GATE_OFF && percents[i] <= 100);
    assert(gate->burst >= 1 && gate->cpu_window_ms >= 1000 &&
           settings.start.start_timeout_ms >= 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    scoped_str warnings = {0};
    scoped_json_mut *doc = NULL;
    int r = minion_read((struct sv){(const char *)data, size}, "m", &doc, &warnings, &err);
    if (r < 0) {
        assert(doc == NULL && warnings.len == 0 && err.code == r);
        assert(str_starts(err.text, "m:"));
        return 0;
    }
    check_object(doc);
    check_settings(doc);
    return 0;
}
