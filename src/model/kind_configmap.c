// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "model/kind.h"
#include "model/podspec.h"
#include "model/rules.h"

#define SIZE_MAX_BYTES (1024 * 1024)

// clang-format off
static const struct field CONFIGMAP_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"data", F_STRING, MAP, KEY_FORMAT, .format = FMT_CONFIG_KEY, .pb = 2,
     .doc = "Entries that are text."},
    {"binaryData", F_BYTES, MAP, KEY_FORMAT, .format = FMT_CONFIG_KEY, .pb = 3,
     .doc = "Entries of any bytes, in base64. No key may be in data as well."},
    {"immutable", F_BOOL, ONE, .pb = 4 | PB_ZERO,
     .doc = "True when nothing of it may change any more; this cannot be taken back."},
    {0}};
// clang-format on

static void check_keys_and_size(struct check *c, yyjson_mut_val *val)
{
    yyjson_mut_val *data = yyjson_mut_obj_get(val, "data");
    yyjson_mut_val *binary = yyjson_mut_obj_get(val, "binaryData");
    scoped_names names = {0};
    size_t i, n, total = 0;
    yyjson_mut_val *key, *item;
    yyjson_mut_obj_foreach(data, i, n, key, item)
    {
        rules_add_name(&names, key);
        total += yyjson_mut_get_len(item);
    }
    size_t mark = check_enter(c, "binaryData");
    yyjson_mut_obj_foreach(binary, i, n, key, item)
    {
        total += yyjson_mut_get_len(item) / 4 * 3;
        if (!rules_knows(&names, yyjson_mut_get_str(key)))
            continue;
        size_t inner = check_enter_member(c, yyjson_mut_get_str(key), item);
        check_invalid(c, NULL, key, "duplicate of a key in data");
        check_leave(c, inner);
    }
    check_leave(c, mark);
    if (total > SIZE_MAX_BYTES)
        check_forbidden(c, NULL, "all entries together may have 1048576 bytes");
}

static void configmap_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    static const char *const FROZEN[] = {"data", "binaryData", "immutable"};
    check_keys_and_size(c, val);
    if (!yyjson_mut_get_bool(yyjson_mut_obj_get(old, "immutable")))
        return;
    for (size_t i = 0; i < ARRAY_LEN(FROZEN); i++) {
        if (rules_same(yyjson_mut_obj_get(val, FROZEN[i]), yyjson_mut_obj_get(old, FROZEN[i])))
            continue;
        check_forbidden(c, FROZEN[i], "field is immutable when `immutable` is set");
        check_hint(c, "delete the ConfigMap and create it anew, or use another name");
    }
}

static const struct type TYPE_CONFIGMAP = {
    CORE_V1("ConfigMap"),
    "Settings for pods, as files or as variables of their environment.",
    CONFIGMAP_FIELDS,
    .check = configmap_check,
};

static void cell_data(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    str_addf(out, "%zu",
             yyjson_obj_size(json_at(root, "data")) + yyjson_obj_size(json_at(root, "binaryData")));
}

// clang-format off
static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Data", "string", "", "Number of entries.", .cell = cell_data},
    AGE_COLUMN,
    {0}};
// clang-format on

const struct kind KIND_CONFIGMAP = {
    .group = "",
    .version = "v1",
    .name = "ConfigMap",
    .plural = "configmaps",
    .singular = "configmap",
    .short_names = VALUES("cm"),
    .namespaced = true,
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_CONFIGMAP,
    .columns = COLUMNS,
};
