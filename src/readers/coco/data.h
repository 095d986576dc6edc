/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The images and annotations of a data set in the format of COCO, as readers.coco gives them out:
 * from an annotations file (JSON), or from the files that an earlier run has saved.
 *
 * json.c and saved.c fill this data, draw.c makes masks of it; coco.c, the operator, is the only
 * file that knows arguments and outputs. */
#pragma once

#include "readers/list.h"
#include "readers/scan.h"

typedef struct hr_coco_options {
    bool ltrb, ratio, skip_empty, keep_ids, crowds; /* keep_ids: labels are ids of categories */
    bool masks;                                     /* read polygons and run lengths */
    bool drawn;                                     /* vertices are in pixels, also with `ratio` */
    float size_threshold;
    hr_strings images; /* n 0: all, by id */
} hr_coco_options;

/* What one image has in each of the tables: elements first .. first + count - 1. */
typedef struct hr_coco_range {
    int64_t first, count;
} hr_coco_range;

typedef struct hr_coco_image {
    int32_t id, width, height;
    hr_coco_range boxes, polygons, vertices, rles;
} hr_coco_image;

typedef struct hr_coco_polygon {
    int32_t mask, start, end; /* box and vertices of its image, counted from 0 */
} hr_coco_polygon;

/* A mask as lengths of runs of zeros and ones, by turns, column by column. */
typedef struct hr_coco_rle {
    int64_t height, width;
    hr_coco_range counts;
    int32_t mask;
} hr_coco_rle;

typedef struct hr_coco_data { /* growing tables of bytes */
    hr_file_list names;       /* of the images */
    hr_scan images, boxes, labels, polygons, vertices, rles, counts;
} hr_coco_data;

#define HR_COCO_AT(table, type) ((type *)(void *)(table).data)
#define HR_COCO_COUNT(table, type) ((int64_t)((table).size / sizeof(type)))

hr_status hr_coco_load(hr_coco_data *d, const char *path, const hr_coco_options *options,
                       hr_error *error);
/* Which of the tables a folder has. */
typedef struct hr_coco_parts {
    bool ids, polygons, pixels; /* pixels: run lengths and sizes, too */
} hr_coco_parts;

/* Writes and reads a folder of tables, in the form that DALI has. Errors name the file. */
hr_status hr_coco_save(const hr_coco_data *d, const char *folder, hr_coco_parts parts,
                       hr_error *error);
hr_status hr_coco_restore(hr_coco_data *d, const char *folder, hr_coco_parts parts,
                          hr_error *error);
void hr_coco_fini(hr_coco_data *d);

/* Run lengths as the text of a COCO file: five bits per character, the lowest first; from the third
 * number on, the difference to the last but one. false: it is damaged. */
bool hr_coco_decode_counts(hr_scan *counts, const char *text, size_t size, hr_error *error);
/* Draws all masks of an image into `out` (height x width, zeros): where masks overlap, the highest
 * label counts. Scratch memory comes from the arena. */
hr_status hr_coco_draw(const hr_coco_data *d, const hr_coco_image *image, int32_t *out,
                       hr_arena *arena, hr_error *error);
