// SPDX-License-Identifier: Apache-2.0
/* Volumes of a pod. Sources that need a cluster's storage are kept as they are. */
#include "model/podspec.h"
#include "model/rules.h"

#define MODE_MAX 0777

// clang-format off
static const struct field KEY_TO_PATH_FIELDS[] = {
    {"key", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "The entry that is taken."},
    {"path", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 2 | PB_ZERO,
     .doc = "File inside the volume, relative and without '..'."},
    {"mode", F_INT32, ONE, RANGE, .max = MODE_MAX, .pb = 3 | PB_ZERO,
     .doc = "Permissions of this file; without it, the volume's defaultMode."},
    {0}};

static const struct type TYPE_KEY_TO_PATH = {
    CORE_V1("KeyToPath"), "Puts one entry into one file.", KEY_TO_PATH_FIELDS};

static const struct field LOCAL_REF_FIELDS[] = {
    {"name", F_STRING, ONE, .pb = 1,
     .doc = "Name of the object, in the pod's own namespace."},
    {0}};

static const struct field FIELD_REF_FIELDS[] = {
    {"apiVersion", F_STRING, ONE, .fallback = "\"v1\"", .pb = 1,
     .doc = "Version of the schema in which fieldPath is read."},
    {"fieldPath", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 2 | PB_ZERO,
     .doc = "The pod's field, such as metadata.name or metadata.labels['app']."},
    {0}};

static const struct field RESOURCE_FIELD_REF_FIELDS[] = {
    {"containerName", F_STRING, ONE, .pb = 1,
     .doc = "The container whose resources are meant; needed in volumes."},
    {"resource", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 2 | PB_ZERO,
     .doc = "Which one: limits.cpu, limits.memory, requests.cpu, requests.memory and so on."},
    {"divisor", F_QUANTITY, ONE, .fallback = "\"0\"", .pb = 3,
     .doc = "The unit in which the value is given; 0 means 1."},
    {0}};

static const struct field DOWNWARD_FILE_FIELDS[] = {
    {"path", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "File inside the volume, relative and without '..'."},
    {"fieldRef", F_OBJECT, ONE, .of = &TYPE_FIELD_REF, .pb = 2 | PB_ZERO,
     .doc = "The pod's field that is written into the file."},
    {"resourceFieldRef", F_OBJECT, ONE, .of = &TYPE_RESOURCE_FIELD_REF, .pb = 3 | PB_ZERO,
     .doc = "The container's resource that is written into the file."},
    {"mode", F_INT32, ONE, RANGE, .max = MODE_MAX, .pb = 4 | PB_ZERO,
     .doc = "Permissions of this file; without it, the volume's defaultMode."},
    {0}};
// clang-format on

const struct type TYPE_LOCAL_REF = {
    CORE_V1("LocalObjectReference"),
    "Names an object of the same namespace.",
    LOCAL_REF_FIELDS,
};
const struct type TYPE_FIELD_REF = {
    CORE_V1("ObjectFieldSelector"),
    "Names a field of the pod.",
    FIELD_REF_FIELDS,
};
const struct type TYPE_RESOURCE_FIELD_REF = {
    CORE_V1("ResourceFieldSelector"),
    "Names a resource of a container.",
    RESOURCE_FIELD_REF_FIELDS,
};

/* "metadata.labels['KEY']": the key, as long as ret_len says; NULL: nothing in brackets. */
static const char *subscript_of(const char *path, size_t *ret_len)
{
    size_t len = strlen(path);
    const char *open = strstr(path, "['");
    if (open == NULL || !str_ends(path, "']") || (size_t)(open - path) + 4 > len)
        return NULL;
    *ret_len = len - 2 - (size_t)(open + 2 - path);
    return open + 2;
}

/* Of annotations the prefix may have capital letters. */
static void check_subscript(struct check *c, yyjson_mut_val *path, const char *key, size_t len)
{
    const char *text = yyjson_mut_get_str(path);
    bool is_note = str_starts(text, "metadata.annotations['");
    scoped_str low = {0};
    for (size_t i = 0; i < len; i++)
        str_addc(&low, is_note && key[i] >= 'A' && key[i] <= 'Z' ? (char)(key[i] | ' ') : key[i]);
    const char *problem = format_problem(FMT_QUALIFIED, str_text(&low), len);
    if (!is_note && !str_starts(text, "metadata.labels['"))
        problem = "only metadata.labels and metadata.annotations have entries";
    if (problem != NULL)
        check_invalid(c, "fieldPath", path, problem);
}

void field_ref_check(struct check *c, yyjson_mut_val *val, const char *const *fields)
{
    yyjson_mut_val *path = json_mut_at(val, "fieldRef.fieldPath");
    const char *text = yyjson_mut_get_str(path);
    size_t len = 0;
    bool is_known = text == NULL || *text == '\0';
    for (size_t i = 0; !is_known && fields[i] != NULL; i++)
        is_known = str_eq(fields[i], text);
    if (is_known)
        return;
    size_t mark = check_enter(c, "fieldRef");
    const char *key = subscript_of(text, &len);
    if (key != NULL)
        check_subscript(c, path, key, len);
    else
        check_not_supported(c, "fieldPath", path, fields);
    check_leave(c, mark);
}

static void downward_file_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_one_of(c, val, VALUES("fieldRef", "resourceFieldRef"), "source");
    field_ref_check(c, val,
                    VALUES("metadata.annotations", "metadata.labels", "metadata.name",
                           "metadata.namespace", "metadata.uid"));
}

static const struct type TYPE_DOWNWARD_FILE = {
    CORE_V1("DownwardAPIVolumeFile"),
    "One file that tells the pod about itself.",
    DOWNWARD_FILE_FIELDS,
    .check = downward_file_check,
};

// clang-format off
#define DEFAULT_MODE(number)                                                                       \
    {"defaultMode", F_INT32, ONE, RANGE, .max = MODE_MAX, .fallback = "420",                       \
     .pb = (number) | PB_ZERO,                                                                     \
     .doc = "Permissions of the files, as a number: 420 is 0644 in octal."}
#define ITEMS                                                                                      \
    {"items", F_OBJECT, LIST, .of = &TYPE_KEY_TO_PATH, .pb = 2,                                    \
     .doc = "Entries that are wanted, and their file names. Without it: all, named by their keys."}
#define OPTIONAL                                                                                   \
    {"optional", F_BOOL, ONE, .pb = 4 | PB_ZERO,                                                   \
     .doc = "True when the pod may start though the object or its entries are missing."}

static const struct field EMPTY_DIR_FIELDS[] = {
    {"medium", F_STRING, ONE, .pb = 1,
     .doc = "Empty for the node's disk, Memory for its main memory."},
    {"sizeLimit", F_QUANTITY, ONE, .pb = 2 | PB_ZERO,
     .doc = "How much may be written into it."},
    {0}};
static const struct type TYPE_EMPTY_DIR = {
    CORE_V1("EmptyDirVolumeSource"), "A directory that begins empty and goes with the pod.",
    EMPTY_DIR_FIELDS};

static const struct field HOST_PATH_FIELDS[] = {
    {"path", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "The file or directory of the node."},
    {"type", F_STRING, ONE, .fallback = "\"\"",
     .values = VALUES("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket",
                      "CharDevice", "BlockDevice"), .pb = 2 | PB_ZERO,
     .doc = "What must be there, or be made when it is not. Empty: no check."},
    {0}};
static const struct type TYPE_HOST_PATH = {
    CORE_V1("HostPathVolumeSource"), "A file or directory of the node itself.", HOST_PATH_FIELDS};

static const struct field CONFIG_MAP_VOLUME_FIELDS[] = {
    {"name", F_STRING, ONE, .pb = PB_IN(1, 1),
     .doc = "Name of the ConfigMap, in the pod's own namespace."},
    ITEMS, DEFAULT_MODE(3), OPTIONAL,
    {0}};
static const struct type TYPE_CONFIG_MAP_VOLUME = {
    CORE_V1("ConfigMapVolumeSource"), "A ConfigMap, one file for each entry.",
    CONFIG_MAP_VOLUME_FIELDS};

static const struct field SECRET_VOLUME_FIELDS[] = {
    {"secretName", F_STRING, ONE, .pb = 1,
     .doc = "Name of the Secret, in the pod's own namespace."},
    ITEMS, DEFAULT_MODE(3), OPTIONAL,
    {0}};
static const struct type TYPE_SECRET_VOLUME = {
    CORE_V1("SecretVolumeSource"), "A Secret, one file for each entry.", SECRET_VOLUME_FIELDS};

static const struct field DOWNWARD_VOLUME_FIELDS[] = {
    {"items", F_OBJECT, LIST, .of = &TYPE_DOWNWARD_FILE, .pb = 1,
     .doc = "The files and what is in them."},
    DEFAULT_MODE(2),
    {0}};
static const struct type TYPE_DOWNWARD_VOLUME = {
    CORE_V1("DownwardAPIVolumeSource"), "Files that tell the pod about itself.",
    DOWNWARD_VOLUME_FIELDS};

static const struct field CLAIM_VOLUME_FIELDS[] = {
    {"claimName", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "Name of the PersistentVolumeClaim, in the pod's own namespace."},
    {"readOnly", F_BOOL, ONE, .pb = 2, .doc = "True when nothing may be written to it."},
    {0}};
static const struct type TYPE_CLAIM_VOLUME = {
    CORE_V1("PersistentVolumeClaimVolumeSource"), "Storage that outlives the pod.",
    CLAIM_VOLUME_FIELDS};

static const struct field CONFIG_MAP_PROJECTION_FIELDS[] = {
    {"name", F_STRING, ONE, .pb = PB_IN(1, 1),
     .doc = "Name of the ConfigMap, in the pod's own namespace."},
    ITEMS, OPTIONAL,
    {0}};
static const struct type TYPE_CONFIG_MAP_PROJECTION = {
    CORE_V1("ConfigMapProjection"), "Entries of a ConfigMap.", CONFIG_MAP_PROJECTION_FIELDS};

static const struct field SECRET_PROJECTION_FIELDS[] = {
    {"name", F_STRING, ONE, .pb = PB_IN(1, 1),
     .doc = "Name of the Secret, in the pod's own namespace."},
    ITEMS, OPTIONAL,
    {0}};
static const struct type TYPE_SECRET_PROJECTION = {
    CORE_V1("SecretProjection"), "Entries of a Secret.", SECRET_PROJECTION_FIELDS};

static const struct field DOWNWARD_PROJECTION_FIELDS[] = {
    {"items", F_OBJECT, LIST, .of = &TYPE_DOWNWARD_FILE, .pb = 1,
     .doc = "The files and what is in them."},
    {0}};
static const struct type TYPE_DOWNWARD_PROJECTION = {
    CORE_V1("DownwardAPIProjection"), "Files that tell the pod about itself.",
    DOWNWARD_PROJECTION_FIELDS};

static const struct field TOKEN_PROJECTION_FIELDS[] = {
    {"audience", F_STRING, ONE, .pb = 1,
     .doc = "For whom the token is meant; empty: the API server."},
    {"expirationSeconds", F_INT64, ONE, RANGE, .min = 600, .max = 1LL << 32, .fallback = "3600",
     .pb = 2 | PB_ZERO,
     .doc = "How long one token is valid; it is replaced before that."},
    {"path", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 3 | PB_ZERO,
     .doc = "File inside the volume."},
    {0}};
static const struct type TYPE_TOKEN_PROJECTION = {
    CORE_V1("ServiceAccountTokenProjection"), "A token of the pod's service account.",
    TOKEN_PROJECTION_FIELDS};

static const struct field PROJECTION_FIELDS[] = {
    {"configMap", F_OBJECT, ONE, .of = &TYPE_CONFIG_MAP_PROJECTION, .pb = 3 | PB_ZERO,
     .doc = "Entries of a ConfigMap."},
    {"secret", F_OBJECT, ONE, .of = &TYPE_SECRET_PROJECTION, .pb = 1 | PB_ZERO,
     .doc = "Entries of a Secret."},
    {"downwardAPI", F_OBJECT, ONE, .of = &TYPE_DOWNWARD_PROJECTION, .pb = 2 | PB_ZERO,
     .doc = "Files that tell the pod about itself."},
    {"serviceAccountToken", F_OBJECT, ONE, .of = &TYPE_TOKEN_PROJECTION, .pb = 4 | PB_ZERO,
     .doc = "A token of the pod's service account."},
    {"clusterTrustBundle", F_ANY, ONE, .pb = 5,
     .doc = "Certificates of a ClusterTrustBundle; kept, not used."},
    {"podCertificate", F_ANY, ONE, .pb = 6,
     .doc = "A key and a certificate of the pod's own; kept, not used."},
    {0}};
// clang-format on

static void projection_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_one_of(c, val,
                 VALUES("configMap", "secret", "downwardAPI", "serviceAccountToken",
                        "clusterTrustBundle", "podCertificate"),
                 "source");
}

static const struct type TYPE_PROJECTION = {
    CORE_V1("VolumeProjection"),
    "One of the sources that share a volume.",
    PROJECTION_FIELDS,
    .check = projection_check,
};

// clang-format off
static const struct field PROJECTED_FIELDS[] = {
    {"sources", F_OBJECT, LIST, .of = &TYPE_PROJECTION, .pb = 1,
     .doc = "What is put together; later ones win where two have the same file."},
    DEFAULT_MODE(2),
    {0}};
static const struct type TYPE_PROJECTED = {
    CORE_V1("ProjectedVolumeSource"), "Several sources in one directory.", PROJECTED_FIELDS};

#define KEPT(name, number, text)                                                                   \
    {name, F_ANY, ONE, .pb = PB_IN(2, number),                                                     \
     .doc = text " Kept as it is; no node of ours mounts it."}

static const struct field VOLUME_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_DNS_LABEL, .pb = 1 | PB_ZERO,
     .doc = "The name by which containers mount it."},
    {"emptyDir", F_OBJECT, ONE, .of = &TYPE_EMPTY_DIR, .pb = PB_IN(2, 2) | PB_ZERO,
     .doc = "A directory that begins empty and goes with the pod."},
    {"hostPath", F_OBJECT, ONE, .of = &TYPE_HOST_PATH, .pb = PB_IN(2, 1) | PB_ZERO,
     .doc = "A file or directory of the node itself."},
    {"configMap", F_OBJECT, ONE, .of = &TYPE_CONFIG_MAP_VOLUME, .pb = PB_IN(2, 19) | PB_ZERO,
     .doc = "A ConfigMap, one file for each entry."},
    {"secret", F_OBJECT, ONE, .of = &TYPE_SECRET_VOLUME, .pb = PB_IN(2, 6) | PB_ZERO,
     .doc = "A Secret, one file for each entry."},
    {"projected", F_OBJECT, ONE, .of = &TYPE_PROJECTED, .pb = PB_IN(2, 26) | PB_ZERO,
     .doc = "Several sources in one directory."},
    {"downwardAPI", F_OBJECT, ONE, .of = &TYPE_DOWNWARD_VOLUME, .pb = PB_IN(2, 16) | PB_ZERO,
     .doc = "Files that tell the pod about itself."},
    {"persistentVolumeClaim", F_OBJECT, ONE, .of = &TYPE_CLAIM_VOLUME, .pb = PB_IN(2, 10) | PB_ZERO,
     .doc = "Storage that outlives the pod."},
    KEPT("ephemeral", 29, "Storage that is claimed for this pod and goes with it."),
    KEPT("csi", 28, "Storage of a CSI driver that goes with the pod."),
    KEPT("nfs", 7, "A directory of an NFS server."),
    KEPT("image", 30, "The files of a container image."),
    KEPT("iscsi", 8, "A disk of an iSCSI target."),
    KEPT("fc", 17, "A disk on a Fibre Channel."),
    KEPT("cephfs", 14, "A Ceph file system."),
    KEPT("rbd", 11, "A Ceph block device."),
    KEPT("glusterfs", 9, "A GlusterFS volume."),
    KEPT("flexVolume", 12, "Storage of a FlexVolume driver."),
    KEPT("gitRepo", 5, "A clone of a git repository."),
    KEPT("awsElasticBlockStore", 4, "A disk of AWS."),
    KEPT("gcePersistentDisk", 3, "A disk of Google Cloud."),
    KEPT("azureDisk", 22, "A disk of Azure."),
    KEPT("azureFile", 18, "A file share of Azure."),
    KEPT("vsphereVolume", 20, "A disk of vSphere."),
    KEPT("cinder", 13, "A disk of OpenStack."),
    {0}};
// clang-format on

/* All fields but the name are sources. */
static void volume_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    const char *sources[ARRAY_LEN(VOLUME_FIELDS)] = {0};
    for (size_t i = 1; VOLUME_FIELDS[i].name != NULL; i++)
        sources[i - 1] = VOLUME_FIELDS[i].name;
    rules_at_most_one(c, val, sources, "volume source");
}

static void volume_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    for (const struct field *f = &VOLUME_FIELDS[1]; f->name != NULL; f++) {
        if (rules_has(val, f->name))
            return;
    }
    json_mut_put(doc, val, "emptyDir", yyjson_mut_obj(doc));
}

const struct type TYPE_VOLUME = {
    CORE_V1("Volume"),   "A directory that the pod's containers can share.",
    VOLUME_FIELDS,       .check = volume_check,
    .fill = volume_fill,
};
