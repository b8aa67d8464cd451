// SPDX-License-Identifier: Apache-2.0
/* Users, groups and privileges of containers and pods. */
#include "model/container.h"
#include "model/podspec.h"
#include "model/rules.h"

// clang-format off
static const struct field SELINUX_FIELDS[] = {
    {"user", F_STRING, ONE, .doc = "User part of the label."},
    {"role", F_STRING, ONE, .doc = "Role part of the label."},
    {"type", F_STRING, ONE, .doc = "Type part of the label."},
    {"level", F_STRING, ONE, .doc = "Level part of the label."},
    {0}};
static const struct type TYPE_SELINUX = {
    CORE_V1("SELinuxOptions"), "The SELinux label.", SELINUX_FIELDS};

#define PROFILE_TYPE                                                                               \
    {"type", F_STRING, ONE, REQUIRED,                                                              \
     .values = VALUES("Localhost", "RuntimeDefault", "Unconfined"),                                \
     .doc = "Localhost: a file of the node. RuntimeDefault: the runtime's own. "                   \
            "Unconfined: none."}
#define PROFILE_FILE                                                                               \
    {"localhostProfile", F_STRING, ONE, .doc = "The node's profile, for type Localhost only."}

static const struct field SECCOMP_FIELDS[] = {PROFILE_TYPE, PROFILE_FILE, {0}};
static const struct field APPARMOR_FIELDS[] = {PROFILE_TYPE, PROFILE_FILE, {0}};

static const struct field WINDOWS_FIELDS[] = {
    {"gmsaCredentialSpecName", F_STRING, ONE, .doc = "Name of the GMSA credential spec."},
    {"gmsaCredentialSpec", F_STRING, ONE, .doc = "The GMSA credential spec itself."},
    {"runAsUserName", F_STRING, ONE, .doc = "Windows user that runs the process."},
    {"hostProcess", F_BOOL, ONE, .doc = "True for a host process container."},
    {0}};
static const struct type TYPE_WINDOWS = {
    CORE_V1("WindowsSecurityContextOptions"), "For Windows only; kept, not used.", WINDOWS_FIELDS};

static const struct field CAPABILITIES_FIELDS[] = {
    {"add", F_STRING, LIST, .doc = "Capabilities that the process gets in addition."},
    {"drop", F_STRING, LIST, .doc = "Capabilities that are taken from it; ALL for all."},
    {0}};
static const struct type TYPE_CAPABILITIES = {
    CORE_V1("Capabilities"), "Linux capabilities, without CAP_ in front.", CAPABILITIES_FIELDS};

static const struct field SYSCTL_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .doc = "Name of the kernel parameter."},
    {"value", F_STRING, ONE, REQUIRED, .doc = "Its value."},
    {0}};
static const struct type TYPE_SYSCTL = {
    CORE_V1("Sysctl"), "One kernel parameter.", SYSCTL_FIELDS};
// clang-format on

static void profile_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    const char *type = yyjson_mut_get_str(yyjson_mut_obj_get(val, "type"));
    bool has_file = rules_has(val, "localhostProfile");
    if (str_eq(type, "Localhost") && !has_file)
        check_required(c, "localhostProfile", "must be set when type is Localhost");
    if (!str_eq(type, "Localhost") && has_file)
        check_invalid(c, "localhostProfile", yyjson_mut_obj_get(val, "localhostProfile"),
                      "may only be set when type is Localhost");
}

static const struct type TYPE_SECCOMP = {
    CORE_V1("SeccompProfile"),
    "Which system calls the process may make.",
    SECCOMP_FIELDS,
    .check = profile_check,
};
static const struct type TYPE_APPARMOR = {
    CORE_V1("AppArmorProfile"),
    "The AppArmor profile of the process.",
    APPARMOR_FIELDS,
    .check = profile_check,
};

// clang-format off
#define SHARED_FIELDS(whose)                                                                       \
    {"runAsUser", F_INT64, ONE, RANGE, .max = INT32_MAX,                                           \
     .doc = "Number of the user that runs " whose "."},                                            \
    {"runAsGroup", F_INT64, ONE, RANGE, .max = INT32_MAX,                                          \
     .doc = "Number of the primary group of " whose "."},                                          \
    {"runAsNonRoot", F_BOOL, ONE,                                                                  \
     .doc = "True when user 0 must be refused."},                                                  \
    {"seLinuxOptions", F_OBJECT, ONE, .of = &TYPE_SELINUX,                                         \
     .doc = "SELinux label of " whose "."},                                                        \
    {"seccompProfile", F_OBJECT, ONE, .of = &TYPE_SECCOMP,                                         \
     .doc = "Which system calls are allowed to " whose "."},                                       \
    {"appArmorProfile", F_OBJECT, ONE, .of = &TYPE_APPARMOR,                                       \
     .doc = "AppArmor profile of " whose "."},                                                     \
    {"windowsOptions", F_OBJECT, ONE, .of = &TYPE_WINDOWS,                                         \
     .doc = "For Windows only; kept, not used."}

static const struct field SECURITY_CONTEXT_FIELDS[] = {
    SHARED_FIELDS("this container"),
    {"capabilities", F_OBJECT, ONE, .of = &TYPE_CAPABILITIES,
     .doc = "Linux capabilities that are added and taken away."},
    {"privileged", F_BOOL, ONE,
     .doc = "True for all rights of the node's root."},
    {"allowPrivilegeEscalation", F_BOOL, ONE,
     .doc = "False when the process may never gain more rights than it has (no_new_privs)."},
    {"readOnlyRootFilesystem", F_BOOL, ONE,
     .doc = "True when only mounted volumes may be written to."},
    {"procMount", F_STRING, ONE, .values = VALUES("Default", "Unmasked"),
     .doc = "Whether sensitive files of /proc are hidden."},
    {0}};

static const struct field POD_SECURITY_CONTEXT_FIELDS[] = {
    SHARED_FIELDS("all containers"),
    {"fsGroup", F_INT64, ONE, RANGE, .max = INT32_MAX,
     .doc = "Group that owns the volumes and in which all processes are."},
    {"fsGroupChangePolicy", F_STRING, ONE, .values = VALUES("Always", "OnRootMismatch"),
     .doc = "Whether the owner of volumes is changed at each mount or only when it is wrong."},
    {"seLinuxChangePolicy", F_STRING, ONE, .values = VALUES("MountOption", "Recursive"),
     .doc = "How volumes get their SELinux label."},
    {"supplementalGroups", F_INT64, LIST,
     .doc = "Further groups in which all processes are."},
    {"supplementalGroupsPolicy", F_STRING, ONE, .values = VALUES("Merge", "Strict"),
     .doc = "Merge: the image's groups count as well. Strict: they do not."},
    {"sysctls", F_OBJECT, LIST, .of = &TYPE_SYSCTL,
     .doc = "Kernel parameters of the pod's namespaces."},
    {0}};
// clang-format on

const struct type TYPE_SECURITY_CONTEXT = {
    CORE_V1("SecurityContext"),
    "Who the container is and what it may do. It wins over the pod's.",
    SECURITY_CONTEXT_FIELDS,
};
const struct type TYPE_POD_SECURITY_CONTEXT = {
    CORE_V1("PodSecurityContext"),
    "Who the pod's containers are and what they may do.",
    POD_SECURITY_CONTEXT_FIELDS,
};
