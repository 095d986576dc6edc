# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The names of DALI 2.4, so that using one that this version lacks raises NotImplementedError."""

from __future__ import annotations

# Operators of DALI 2.4 under `fn`. Calling one that is not implemented raises NotImplementedError.
NAMES = frozenset(
    """
    audio_decoder audio_resample batch_permutation bb_flip bbox_paste bbox_rotate box_encoder
    brightness brightness_contrast caffe2_reader caffe_reader cast cast_like cat clahe
    coco_reader coin_flip color_space_conversion color_twist constant contrast coord_flip
    coord_transform copy crop crop_mirror_normalize debayer decoders.audio decoders.image
    decoders.image_crop decoders.image_random_crop decoders.image_slice decoders.inflate
    decoders.numpy decoders.video dl_tensor_python_function dump_image element_extract equalize
    erase expand_dims experimental.audio_resample experimental.debayer
    experimental.decoders.image experimental.decoders.image_crop
    experimental.decoders.image_random_crop experimental.decoders.image_slice
    experimental.decoders.video experimental.dilate experimental.equalize experimental.erode
    experimental.filter experimental.inflate experimental.inputs.video experimental.median_blur
    experimental.peek_image_shape experimental.readers.fits experimental.readers.video
    experimental.remap experimental.resize experimental.tensor_resize
    experimental.warp_perspective external_source fast_resize_crop_mirror file_reader filter
    flip full full_like gaussian_blur get_property grid_mask hsv hue image_decoder
    image_decoder_crop image_decoder_random_crop image_decoder_slice io.file.read jitter
    jpeg_compression_distortion laplacian lookup_table mel_filter_bank mfcc multi_paste
    mxnet_reader nemo_asr_reader noise.gaussian noise.salt_and_pepper noise.shot
    nonsilent_region normal_distribution normalize numpy_reader one_hot ones ones_like
    optical_flow pad paste peek_image_shape per_frame permute_batch power_spectrum
    preemphasis_filter python_function random.beta random.choice random.coin_flip random.normal
    random.uniform random_bbox_crop random_crop_generator random_resized_crop readers.caffe
    readers.caffe2 readers.coco readers.file readers.mxnet readers.nemo_asr readers.numpy
    readers.sequence readers.tfrecord readers.video readers.video_resize readers.webdataset
    reductions.max reductions.mean reductions.mean_square reductions.min reductions.rms
    reductions.std_dev reductions.sum reductions.variance reinterpret reshape resize
    resize_crop_mirror roi_random_crop rotate saturation segmentation.random_mask_pixel
    segmentation.random_object_bbox segmentation.select_masks sequence_reader
    sequence_rearrange shapes slice spectrogram sphere squeeze ssd_random_crop stack
    tensor_resize tfrecord_reader to_decibels transform_translation transforms.combine
    transforms.crop transforms.rotation transforms.scale transforms.shear
    transforms.translation transpose uniform video_reader video_reader_resize warp_affine water
    zeros zeros_like
    """.split()
)

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
