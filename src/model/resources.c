// SPDX-License-Identifier: Apache-2.0
/* What a container asks for and what it may use at most. */
#include "model/podspec.h"
#include "model/rules.h"

// clang-format off
static const struct field CLAIM_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "Name of an entry in the pod's resourceClaims."},
    {"request", F_STRING, ONE, .pb = 2,
     .doc = "Which request of the claim; without it, all of them."},
    {0}};
static const struct type TYPE_CLAIM = {
    CORE_V1("ResourceClaim"), "A claimed device that the container may use.", CLAIM_FIELDS};

static const struct field RESOURCES_FIELDS[] = {
    {"limits", F_QUANTITY, MAP, RANGE | KEY_FORMAT, .format = FMT_QUALIFIED, .pb = 1,
     .doc = "The most that may be used, such as cpu: 500m and memory: 1Gi."},
    {"requests", F_QUANTITY, MAP, RANGE | KEY_FORMAT, .format = FMT_QUALIFIED, .pb = 2,
     .doc = "What is set aside on the node; as much as the limits where nothing is given."},
    {"claims", F_OBJECT, LIST, .of = &TYPE_CLAIM, .merge_key = "name", .pb = 3,
     .doc = "Claimed devices that the container may use; each is an entry of the pod's "
            "resourceClaims."},
    {0}};
// clang-format on

bool resources_amount(yyjson_mut_val *val, quantity *ret_amount)
{
    scoped_str text = {0};
    if (yyjson_mut_is_str(val))
        str_add(&text, yyjson_mut_get_str(val));
    else if (yyjson_mut_is_num(val))
        json_write(val, &text);
    else
        return false;
    return quantity_parse(sv_of(str_text(&text)), ret_amount, NULL) >= 0;
}

/* Devices cannot be shared out beyond what is there, so request and limit are one number. */
static bool is_exact(const char *name)
{
    if (str_starts(name, "hugepages-"))
        return true;
    return strchr(name, '/') != NULL && strstr(name, "kubernetes.io/") == NULL;
}

static void check_request(struct check *c, const char *name, yyjson_mut_val *request,
                          yyjson_mut_val *limit)
{
    quantity wanted, most;
    if (limit == NULL && is_exact(name)) {
        check_invalid(c, NULL, request, "needs an equal limit: devices cannot be overcommitted");
        return;
    }
    if (!resources_amount(request, &wanted) || !resources_amount(limit, &most))
        return;
    scoped_str limit_text = {0};
    json_write(limit, &limit_text);
    scoped_free char *why = NULL;
    if (is_exact(name) && quantity_cmp(wanted, most) != 0)
        why = mem_printf("must be equal to %s limit of %s", name, str_text(&limit_text));
    else if (quantity_cmp(wanted, most) > 0)
        why =
            mem_printf("must be less than or equal to %s limit of %s", name, str_text(&limit_text));
    if (why != NULL)
        check_invalid(c, NULL, request, why);
}

static void resources_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    yyjson_mut_val *limits = yyjson_mut_obj_get(val, "limits");
    size_t mark = check_enter(c, "requests");
    size_t i, n;
    yyjson_mut_val *key, *request;
    yyjson_mut_obj_foreach(yyjson_mut_obj_get(val, "requests"), i, n, key, request)
    {
        const char *name = yyjson_mut_get_str(key);
        size_t inner = check_enter_member(c, name, request);
        check_request(c, name, request, yyjson_mut_obj_get(limits, name));
        check_leave(c, inner);
    }
    check_leave(c, mark);
}

const struct type TYPE_RESOURCES = {
    CORE_V1("ResourceRequirements"),
    "What a container asks for and what it may use at most.",
    RESOURCES_FIELDS,
    .check = resources_check,
};
