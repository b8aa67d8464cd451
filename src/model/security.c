// SPDX-License-Identifier: Apache-2.0
/* Users, groups and privileges of containers and pods. */
#include "model/container.h"
#include "model/podspec.h"
#include "model/rules.h"

// clang-format off
static const struct field SELINUX_FIELDS[] = {
    {"user", F_STRING, ONE, .pb = 1, .doc = "User part of the label."},
    {"role", F_STRING, ONE, .pb = 2, .doc = "Role part of the label."},
    {"type", F_STRING, ONE, .pb = 3, .doc = "Type part of the label."},
    {"level", F_STRING, ONE, .pb = 4, .doc = "Level part of the label."},
    {0}};
static const struct type TYPE_SELINUX = {
    CORE_V1("SELinuxOptions"), "The SELinux label.", SELINUX_FIELDS};

#define PROFILE_TYPE                                                                               \
    {"type", F_STRING, ONE, REQUIRED,                                                              \
     .values = VALUES("Localhost", "RuntimeDefault", "Unconfined"), .pb = 1 | PB_ZERO,             \
     .doc = "Localhost: a file of the node. RuntimeDefault: the runtime's own. "                   \
            "Unconfined: none."}
#define PROFILE_FILE                                                                               \
    {"localhostProfile", F_STRING, ONE, .pb = 2 | PB_ZERO,                                         \
     .doc = "The node's profile, for type Localhost only."}

static const struct field SECCOMP_FIELDS[] = {PROFILE_TYPE, PROFILE_FILE, {0}};
static const struct field APPARMOR_FIELDS[] = {PROFILE_TYPE, PROFILE_FILE, {0}};

static const struct field WINDOWS_FIELDS[] = {
    {"gmsaCredentialSpecName", F_STRING, ONE, .pb = 1 | PB_ZERO,
     .doc = "Name of the GMSA credential spec."},
    {"gmsaCredentialSpec", F_STRING, ONE, .pb = 2 | PB_ZERO,
     .doc = "The GMSA credential spec itself."},
    {"runAsUserName", F_STRING, ONE, .pb = 3 | PB_ZERO,
     .doc = "Windows user that runs the process."},
    {"hostProcess", F_BOOL, ONE, .pb = 4 | PB_ZERO, .doc = "True for a host process container."},
    {0}};
static const struct type TYPE_WINDOWS = {
    CORE_V1("WindowsSecurityContextOptions"), "For Windows only; kept, not used.", WINDOWS_FIELDS};

static const struct field CAPABILITIES_FIELDS[] = {
    {"add", F_STRING, LIST, .pb = 1, .doc = "Capabilities that the process gets in addition."},
    {"drop", F_STRING, LIST, .pb = 2, .doc = "Capabilities that are taken from it; ALL for all."},
    {0}};
static const struct type TYPE_CAPABILITIES = {
    CORE_V1("Capabilities"), "Linux capabilities, without CAP_ in front.", CAPABILITIES_FIELDS};

static const struct field SYSCTL_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "Name of the kernel parameter."},
    {"value", F_STRING, ONE, REQUIRED, .pb = 2 | PB_ZERO, .doc = "Its value."},
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
#define RUN_AS_USER(whose, number)                                                                 \
    {"runAsUser", F_INT64, ONE, RANGE, .max = INT32_MAX, .pb = (number) | PB_ZERO,                 \
     .doc = "Number of the user that runs " whose "."}
#define RUN_AS_GROUP(whose, number)                                                                \
    {"runAsGroup", F_INT64, ONE, RANGE, .max = INT32_MAX, .pb = (number) | PB_ZERO,                \
     .doc = "Number of the primary group of " whose "."}
#define RUN_AS_NON_ROOT(number)                                                                    \
    {"runAsNonRoot", F_BOOL, ONE, .pb = (number) | PB_ZERO,                                        \
     .doc = "True when user 0 must be refused."}
#define SELINUX(whose, number)                                                                     \
    {"seLinuxOptions", F_OBJECT, ONE, .of = &TYPE_SELINUX, .pb = (number) | PB_ZERO,               \
     .doc = "SELinux label of " whose "."}
#define SECCOMP(whose, number)                                                                     \
    {"seccompProfile", F_OBJECT, ONE, .of = &TYPE_SECCOMP, .pb = (number) | PB_ZERO,               \
     .doc = "Which system calls are allowed to " whose "."}
#define APPARMOR(whose, number)                                                                    \
    {"appArmorProfile", F_OBJECT, ONE, .of = &TYPE_APPARMOR, .pb = (number) | PB_ZERO,             \
     .doc = "AppArmor profile of " whose "."}
#define WINDOWS(number)                                                                            \
    {"windowsOptions", F_OBJECT, ONE, .of = &TYPE_WINDOWS, .pb = (number) | PB_ZERO,               \
     .doc = "For Windows only; kept, not used."}

static const struct field SECURITY_CONTEXT_FIELDS[] = {
    RUN_AS_USER("this container", 4),
    RUN_AS_GROUP("this container", 8),
    RUN_AS_NON_ROOT(5),
    SELINUX("this container", 3),
    SECCOMP("this container", 11),
    APPARMOR("this container", 12),
    WINDOWS(10),
    {"capabilities", F_OBJECT, ONE, .of = &TYPE_CAPABILITIES, .pb = 1 | PB_ZERO,
     .doc = "Linux capabilities that are added and taken away."},
    {"privileged", F_BOOL, ONE, .pb = 2 | PB_ZERO,
     .doc = "True for all rights of the node's root."},
    {"allowPrivilegeEscalation", F_BOOL, ONE, .pb = 7 | PB_ZERO,
     .doc = "False when the process may never gain more rights than it has (no_new_privs)."},
    {"readOnlyRootFilesystem", F_BOOL, ONE, .pb = 6 | PB_ZERO,
     .doc = "True when only mounted volumes may be written to."},
    {"procMount", F_STRING, ONE, .values = VALUES("Default", "Unmasked"), .pb = 9 | PB_ZERO,
     .doc = "Whether sensitive files of /proc are hidden."},
    {0}};

static const struct field POD_SECURITY_CONTEXT_FIELDS[] = {
    RUN_AS_USER("all containers", 2),
    RUN_AS_GROUP("all containers", 6),
    RUN_AS_NON_ROOT(3),
    SELINUX("all containers", 1),
    SECCOMP("all containers", 10),
    APPARMOR("all containers", 11),
    WINDOWS(8),
    {"fsGroup", F_INT64, ONE, RANGE, .max = INT32_MAX, .pb = 5 | PB_ZERO,
     .doc = "Group that owns the volumes and in which all processes are."},
    {"fsGroupChangePolicy", F_STRING, ONE, .values = VALUES("Always", "OnRootMismatch"),
     .pb = 9 | PB_ZERO,
     .doc = "Whether the owner of volumes is changed at each mount or only when it is wrong."},
    {"seLinuxChangePolicy", F_STRING, ONE, .values = VALUES("MountOption", "Recursive"),
     .pb = 13 | PB_ZERO,
     .doc = "How volumes get their SELinux label."},
    {"supplementalGroups", F_INT64, LIST, .pb = 4,
     .doc = "Further groups in which all processes are."},
    {"supplementalGroupsPolicy", F_STRING, ONE, .values = VALUES("Merge", "Strict"),
     .pb = 12 | PB_ZERO,
     .doc = "Merge: the image's groups count as well. Strict: they do not."},
    {"sysctls", F_OBJECT, LIST, .of = &TYPE_SYSCTL, .pb = 7,
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
