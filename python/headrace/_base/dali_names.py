# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Names of DALI 2.4: classes of operators, old names, and modules that this version lacks."""

from __future__ import annotations

# Class names that differ from the function name in CamelCase.
CLASSES = {
    "bbox_paste": "BBoxPaste",
    "bbox_rotate": "BBoxRotate",
    "coco_reader": "COCOReader",
    "dl_tensor_python_function": "DLTensorPythonFunction",
    "mfcc": "MFCC",
    "mxnet_reader": "MXNetReader",
    "random_bbox_crop": "RandomBBoxCrop",
    "readers.coco": "COCO",
    "readers.mxnet": "MXNet",
    "readers.tfrecord": "TFRecord",
    "reductions.rms": "RMS",
    "roi_random_crop": "ROIRandomCrop",
    "segmentation.random_object_bbox": "RandomObjectBBox",
    "ssd_random_crop": "SSDRandomCrop",
    "tfrecord_reader": "TFRecordReader",
}

# Old names and the names that replaced them. Calling an old name issues a warning.
RENAMED = {
    "file_reader": "readers.file",
    "caffe_reader": "readers.caffe",
    "caffe2_reader": "readers.caffe2",
    "mxnet_reader": "readers.mxnet",
    "tfrecord_reader": "readers.tfrecord",
    "coco_reader": "readers.coco",
    "numpy_reader": "readers.numpy",
    "sequence_reader": "readers.sequence",
    "nemo_asr_reader": "readers.nemo_asr",
    "video_reader": "readers.video",
    "video_reader_resize": "readers.video_resize",
    "image_decoder": "decoders.image",
    "image_decoder_crop": "decoders.image_crop",
    "image_decoder_random_crop": "decoders.image_random_crop",
    "image_decoder_slice": "decoders.image_slice",
    "audio_decoder": "decoders.audio",
    "coin_flip": "random.coin_flip",
    "uniform": "random.uniform",
    "normal_distribution": "random.normal",
    "fast_resize_crop_mirror": "resize_crop_mirror",
    "ssd_random_crop": "random_bbox_crop",
    "transform_translation": "transforms.translation",
    "experimental.audio_resample": "audio_resample",
    "experimental.debayer": "debayer",
    "experimental.equalize": "equalize",
    "experimental.filter": "filter",
    "experimental.tensor_resize": "tensor_resize",
    "experimental.peek_image_shape": "peek_image_shape",
    "experimental.inflate": "decoders.inflate",
    "experimental.decoders.image": "decoders.image",
    "experimental.decoders.image_crop": "decoders.image_crop",
    "experimental.decoders.image_random_crop": "decoders.image_random_crop",
    "experimental.decoders.image_slice": "decoders.image_slice",
    "experimental.decoders.video": "decoders.video",
}

# Modules of DALI 2.4 that this version lacks, with the public names that scripts import from them.
# A real module of the same name takes precedence.
MODULES = {
    module: tuple(names.split())
    for module, names in {
        "plugin.triton": "autoserialize",
    }.items()
}

for _module in [*MODULES]:  # add the parent packages
    while _module := _module.rpartition(".")[0]:
        if _module not in ("experimental", "plugin", "plugin.pytorch"):
            MODULES.setdefault(_module, ())
