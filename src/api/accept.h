// SPDX-License-Identifier: Apache-2.0
#pragma once

/* In what form an answer is wanted. */
enum shape {
    SHAPE_OBJECT,
    SHAPE_TABLE, /* rows and cells, for people */
    SHAPE_META,  /* PartialObjectMetadata: of each object only who it is */
    SHAPE_NONE,  /* none that there is */
};

/* The first form named by an Accept header that there is; NULL and "" take what comes. */
enum shape accept_shape(const char *accept);
