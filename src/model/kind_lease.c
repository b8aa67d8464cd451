// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "model/kind.h"
#include "model/rules.h"

#define COORDINATION_V1(name) "io.k8s.api.coordination.v1." name

// clang-format off
static const struct field SPEC_FIELDS[] = {
    {"holderIdentity", F_STRING, ONE, .pb = 1 | PB_ZERO,
     .doc = "Who holds the lease; empty when it is free."},
    {"leaseDurationSeconds", F_INT32, ONE, RANGE, .min = 1, .pb = 2 | PB_ZERO,
     .doc = "Seconds after renewTime from which others may take it."},
    {"acquireTime", F_MICRO_TIME, ONE, .pb = 3,
     .doc = "When the present holder took it."},
    {"renewTime", F_MICRO_TIME, ONE, .pb = 4,
     .doc = "When the present holder last said that it is alive."},
    {"leaseTransitions", F_INT32, ONE, RANGE, .pb = 5 | PB_ZERO,
     .doc = "How often the lease went from one holder to another."},
    {"strategy", F_STRING, ONE, .pb = 6 | PB_ZERO,
     .doc = "How a holder is chosen by coordinated election; kept, not used."},
    {"preferredHolder", F_STRING, ONE, .pb = 7 | PB_ZERO,
     .doc = "To whom the holder should hand over; kept, not used."},
    {0}};
static const struct type TYPE_LEASE_SPEC = {
    COORDINATION_V1("LeaseSpec"), "Who holds the lease and until when.", SPEC_FIELDS};

static const struct field LEASE_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, .of = &TYPE_LEASE_SPEC, .pb = 2,
     .doc = "Who holds the lease and until when."},
    {0}};

static const struct type TYPE_LEASE = {
    COORDINATION_V1("Lease"),
    "A right that one of several programs has for a while, such as to lead; also a node's sign "
    "of life.", LEASE_FIELDS};
// clang-format on

static void cell_holder(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, root, "spec.holderIdentity", "");
}

// clang-format off
static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Holder", "string", "", "Who holds the lease.", .cell = cell_holder},
    AGE_COLUMN,
    {0}};
// clang-format on

const struct kind KIND_LEASE = {
    .group = "coordination.k8s.io",
    .version = "v1",
    .name = "Lease",
    .plural = "leases",
    .singular = "lease",
    .namespaced = true,
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_LEASE,
    .columns = COLUMNS,
};
