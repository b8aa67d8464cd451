// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"
#include "base/mem.h"
#include <bsd/sys/tree.h>
#include <string.h>

struct node {
    RB_ENTRY(node) link;
    struct omap_item item; /* item.key points to `key`, or to the text that is looked for */
    char key[];
};

RB_HEAD(tree, node);

struct omap {
    struct tree tree;
};

static int compare(const struct node *a, const struct node *b)
{
    return strcmp(a->item.key, b->item.key);
}

/* RB_GENERATE_STATIC says __unused, which is a macro on BSD only. */
RB_GENERATE_INTERNAL(tree, node, link, compare, __attribute__((unused)) static)

/* The generated functions take no const, though look-ups change nothing. */
static struct tree *tree_of(const struct omap *map)
{
    return (struct tree *)&map->tree;
}

static struct node *find(const struct omap *map, const char *key)
{
    struct node wanted = {.item.key = key};
    return RB_FIND(tree, tree_of(map), &wanted);
}

struct omap *omap_new(void)
{
    return mem_zalloc(sizeof(struct omap));
}

void omap_free(struct omap *map)
{
    if (!map)
        return;
    struct node *node;
    while ((node = RB_ROOT(&map->tree))) {
        RB_REMOVE(tree, &map->tree, node);
        mem_free(node);
    }
    mem_free(map);
}

void *omap_get(const struct omap *map, const char *key)
{
    struct node *node = find(map, key);
    return node ? node->item.value : NULL;
}

static struct node *node_new(const char *key)
{
    size_t len = strlen(key);
    struct node *node = mem_zalloc(sizeof(*node) + len + 1);
    memcpy(node->key, key, len + 1);
    node->item.key = node->key;
    return node;
}

void *omap_put(struct omap *map, const char *key, void *value)
{
    struct node *node = find(map, key);
    void *before = node ? node->item.value : NULL;
    if (!node) {
        node = node_new(key);
        RB_INSERT(tree, &map->tree, node);
    }
    node->item.value = value;
    return before;
}

void *omap_del(struct omap *map, const char *key)
{
    struct node *node = find(map, key);
    if (!node)
        return NULL;
    void *before = node->item.value;
    RB_REMOVE(tree, &map->tree, node);
    mem_free(node);
    return before;
}

const struct omap_item *omap_seek(const struct omap *map, const char *key)
{
    struct node wanted = {.item.key = key};
    struct node *node = RB_NFIND(tree, tree_of(map), &wanted);
    return node ? &node->item : NULL;
}

const struct omap_item *omap_next(const struct omap_item *item)
{
    struct node *node = RB_NEXT(tree, NULL, container_of(item, struct node, item));
    return node ? &node->item : NULL;
}
