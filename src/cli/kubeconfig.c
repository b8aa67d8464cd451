// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/remote.h"
#include "model/manifest.h"
#include "os/fd.h"
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#define KUBECONFIG_BYTES_MAX (4u << 20)

/* The entry of a list whose "name" is the wanted one: clusters, users and contexts are kept so. */
static yyjson_mut_val *entry_named(yyjson_mut_val *root, const char *list, const char *name)
{
    return json_mut_find(yyjson_mut_obj_get(root, list), "name", name);
}

static int decode_base64(const char *text, char **ret_plain)
{
    size_t len = strlen(text);
    scoped_free unsigned char *plain = mem_zalloc(len / 4 * 3 + 4);
    if (len == 0 || EVP_DecodeBlock(plain, (const unsigned char *)text, (int)len) < 0)
        return -EINVAL;
    *ret_plain = mem_strdup((const char *)plain);
    return 0;
}

/* Paths in a kubeconfig are relative to its folder. */
static int read_beside(const char *config, const char *file, char **ret_text, struct err *err)
{
    const char *slash = strrchr(config, '/');
    scoped_str path = {0};
    if (file[0] != '/' && slash != NULL)
        str_addn(&path, config, (size_t)(slash - config) + 1);
    str_add(&path, file);
    scoped_str text = {0};
    int r = file_read(str_text(&path), KUBECONFIG_BYTES_MAX, &text, err);
    if (r < 0)
        return r;
    *ret_text = str_take(&text);
    return 0;
}

static int read_cluster(const char *path, yyjson_mut_val *entry, struct address *address,
                        struct err *err)
{
    const char *server = json_mut_str_at(entry, "cluster.server");
    if (server == NULL)
        return err_set(err, -EINVAL, "%s: the cluster of its current context has no server", path);
    address->server = mem_strdup(server);
    const char *data = json_mut_str_at(entry, "cluster.certificate-authority-data");
    if (data != NULL && decode_base64(data, &address->ca_pem) < 0)
        return err_set(err, -EINVAL, "%s: certificate-authority-data is not base64", path);
    const char *file = json_mut_str_at(entry, "cluster.certificate-authority");
    return data == NULL && file != NULL ? read_beside(path, file, &address->ca_pem, err) : 0;
}

static int read_user(const char *path, yyjson_mut_val *entry, struct address *address,
                     struct err *err)
{
    const char *token = json_mut_str_at(entry, "user.token");
    const char *file = json_mut_str_at(entry, "user.tokenFile");
    if (token != NULL)
        address->token = mem_strdup(token);
    else if (file != NULL)
        return read_beside(path, file, &address->token, err);
    return 0;
}

static int read_context(const char *path, yyjson_mut_val *root, struct address *address,
                        struct err *err)
{
    const char *name = json_mut_str_at(root, "current-context");
    yyjson_mut_val *context = name ? entry_named(root, "contexts", name) : NULL;
    if (context == NULL)
        return err_set(err, -EINVAL, "%s: %s '%s'", path,
                       name ? "it has no context" : "it names no current-context",
                       name ? name : "");
    address->namespace_ = mem_strdup(json_mut_str_at(context, "context.namespace"));
    const char *cluster = json_mut_str_at(context, "context.cluster");
    yyjson_mut_val *entry = cluster ? entry_named(root, "clusters", cluster) : NULL;
    if (entry == NULL)
        return err_set(err, -EINVAL, "%s: it has no cluster '%s'", path, cluster ? cluster : "");
    int r = read_cluster(path, entry, address, err);
    if (r < 0)
        return r;
    const char *user = json_mut_str_at(context, "context.user");
    return user ? read_user(path, entry_named(root, "users", user), address, err) : 0;
}

int kubeconfig_read(const char *path, struct address *address, struct err *err)
{
    scoped_str text = {0};
    int r = file_read(path, KUBECONFIG_BYTES_MAX, &text, err);
    if (r < 0)
        return r;
    struct manifest manifest = {0};
    r = manifest_parse(path, (struct sv){str_text(&text), text.len}, &manifest, err);
    if (r < 0)
        return r;
    if (manifest.docs.len == 1)
        r = read_context(path, yyjson_mut_doc_get_root(manifest.docs.items[0].doc), address, err);
    else
        r = err_set(err, -EINVAL, "%s: it must hold exactly one document", path);
    manifest_done(&manifest);
    return r;
}
