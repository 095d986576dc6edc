# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""An example of every operator for its page. operators.py runs them and shows their results.

The nodes that examples use without defining them are those of GIVEN.
"""

from __future__ import annotations

import io

import numpy as np

import chart

_NUMBERS = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
_FRAMES = np.stack([np.roll(chart.chart(), 20 * i, axis=1) for i in range(3)])
_SENSOR = np.ascontiguousarray(
    np.where(
        (np.arange(160)[:, None] % 2) == (np.arange(240)[None] % 2),
        chart.chart()[..., 1],
        np.where(np.arange(160)[:, None] % 2 == 0, chart.chart()[..., 0], chart.chart()[..., 2]),
    )
)[..., None]


def _file_of(values: list[float]) -> np.ndarray:
    out = io.BytesIO()
    np.save(out, np.float32(values))
    return np.frombuffer(out.getvalue(), np.uint8)


# Name -> elements of one sample, layout, what it is.
GIVEN = {
    "picture": (chart.chart(), "HWC", "a picture: UINT8, shape (160, 240, 3), layout HWC"),
    "gray": (chart.chart()[..., 1:2], "HWC", "a grey picture: UINT8, shape (160, 240, 1), layout HWC"),
    "sensor": (_SENSOR, "HWC", "values of a sensor: UINT8, shape (160, 240, 1), layout HWC"),
    "frames": (_FRAMES, "FHWC", "three frames: UINT8, shape (3, 160, 240, 3), layout FHWC"),
    "mask": (chart.mask(), "HWC", "labels of pixels: INT32, shape (160, 240, 1); 0 is the background"),
    "files": (np.frombuffer(chart.jpeg(chart.chart()), np.uint8), "", "the bytes of a JPEG file"),
    "boxes": (chart.boxes(), "", "three boxes (left, top, right, bottom): FLOAT, shape (3, 4)"),
    "labels": (np.array([1, 2, 3], np.int32), "", "their labels: INT32, shape (3,)"),
    "numbers": (_NUMBERS, "", "FLOAT, [[1, 2, 3], [4, 5, 6]]"),
    "points": (np.array([[0, 0], [10, 0], [10, 5]], np.float32), "", "FLOAT, [[0, 0], [10, 0], [10, 5]]"),
    "polygons": (np.array([[0, 0, 3], [1, 3, 6]], np.int32), "", "INT32, [[0, 0, 3], [1, 3, 6]]"),
    "vertices": (
        np.array([[0, 0], [1, 0], [1, 1], [0, 0], [0, 1], [1, 1]], np.float32), "",
        "FLOAT, two triangles: shape (6, 2)",
    ),
    "array": (_file_of([1.5, 2.5]), "", "the bytes of a file of numpy.save: FLOAT, [1.5, 2.5]"),
    "sound": (
        np.sin(np.arange(256) * 0.4).astype(np.float32), "",
        "256 samples of a sine: FLOAT, shape (256,)",
    ),
}  # fmt: skip

CALLS = {
    "audio_resample": "result = fn.audio_resample(sound, in_rate=16000, out_rate=8000)",
    "batch_permutation": "order = fn.batch_permutation()",
    "bb_flip": "mirrored = fn.bb_flip(boxes, ltrb=True, horizontal=1)",
    "bbox_paste": "moved = fn.bbox_paste(boxes, ltrb=True, ratio=2.0, paste_x=0.5, paste_y=0.5)",
    "bbox_rotate": "moved = fn.bbox_rotate(boxes, angle=30, input_shape=[160, 240], bbox_layout='xyXY')",
    "box_encoder": "matched, classes = fn.box_encoder(\n"
    "    boxes, labels, anchors=[0.1, 0.2, 0.5, 0.8, 0.6, 0.4, 0.8, 0.8])",
    "brightness": "result = fn.brightness(picture, brightness=1.4)",
    "brightness_contrast": "result = fn.brightness_contrast(picture, brightness=1.2, contrast=1.5)",
    "cast": "result = fn.cast(numbers, dtype=types.INT32)",
    "cast_like": "result = fn.cast_like(numbers, labels)",
    "cat": "result = fn.cat(numbers, numbers, axis=1)",
    "clahe": "result = fn.clahe(gray, tiles_x=4, tiles_y=4, clip_limit=4.0)",
    "color_space_conversion": "result = fn.color_space_conversion(\n"
    "    picture, image_type=types.RGB, output_type=types.GRAY)",
    "color_twist": "result = fn.color_twist(picture, hue=60, saturation=1.3, brightness=1.1, contrast=1.2)",
    "contrast": "result = fn.contrast(picture, contrast=1.8)",
    "coord_flip": "result = fn.coord_flip(points, flip_x=1, center_x=5, layout='xy')",
    "coord_transform": "result = fn.coord_transform(points, M=[0, 1, 1, 0], T=[100, 0])",
    "copy": "result = fn.copy(numbers)",
    "crop": "result = fn.crop(picture, crop=[100, 120], crop_pos_x=0.2, crop_pos_y=0.3)",
    "crop_mirror_normalize": "result = fn.crop_mirror_normalize(\n"
    "    picture, crop=[128, 128], mirror=1, dtype=types.FLOAT, output_layout='HWC',\n"
    "    mean=[123.7, 116.3, 103.5], std=[58.4, 57.1, 57.4])",
    "debayer": "result = fn.debayer(sensor, blue_position=[1, 1])",
    "decoders.audio": "file = io.BytesIO()\n"
    "with wave.open(file, 'wb') as sound:\n"
    "    sound.setparams((1, 2, 16000, 0, 'NONE', ''))\n"
    "    sound.writeframes(np.arange(0, 30000, 100, dtype=np.int16).tobytes())\n"
    "result, rate = fn.decoders.audio(np.frombuffer(file.getvalue(), np.uint8))",
    "decoders.image": "result = fn.decoders.image(files)",
    "decoders.image_crop": "result = fn.decoders.image_crop(files, crop=[96, 96])",
    "decoders.image_random_crop": "result = fn.decoders.image_random_crop(files, random_area=[0.2, 0.5], seed=3)",
    "decoders.image_slice": "result = fn.decoders.image_slice(files, start=[20, 30], shape=[100, 120])",
    "decoders.inflate": "result = fn.decoders.inflate(\n"
    "    np.frombuffer(zlib.compress(b'abc'), np.uint8), shape=[3], algorithm='zlib')",
    "decoders.numpy": "result = fn.decoders.numpy(array)",
    "decoders.volume": "scan = np.fromfile('scans/slice.dcm', np.uint8)\n"
    "result = fn.decoders.volume(scan)",
    "experimental.dilate": "result = fn.experimental.dilate(picture, mask_size=[7, 7])",
    "decoders.video": "clip = np.fromfile('clip.mp4', np.uint8)\n"
    "result = fn.decoders.video(clip, start_frame=2, stride=4, sequence_length=4)",
    "dl_tensor_python_function": "result = fn.dl_tensor_python_function(numbers, function=lambda capsules: capsules)",
    "dump_image": "result = fn.dump_image(picture, suffix='example')",
    "element_extract": "first, last = fn.element_extract(frames, element_map=[0, 2])",
    "equalize": "result = fn.equalize(picture)",
    "erase": "result = fn.erase(picture, anchor=[40, 40], shape=[60, 80], axis_names='HW', fill_value=128)",
    "encoders.jpeg": "result = fn.encoders.jpeg(picture, quality=90)",
    "encoders.png": "result = fn.encoders.png(picture)",
    "encoders.webp": "result = fn.encoders.webp(picture, quality=80)",
    "experimental.erode": "result = fn.experimental.erode(picture, mask_size=[7, 7])",
    "experimental.readers.video": "video, label = fn.experimental.readers.video(\n"
    "    file_root='clips', sequence_length=4, stride=2, pad_mode='edge')",
    "expand_dims": "result = fn.expand_dims(numbers, axes=0)",
    "experimental.readers.fits": "pixels, bright = fn.experimental.readers.fits(\n"
    "    file_root='frames', hdu_indices=[1, 2], dtypes=[types.FLOAT, types.UINT8])",
    "external_source": "result = fn.external_source(\n"
    "    source=lambda info: np.float32([info.idx_in_epoch]), batch=False)",
    "fast_resize_crop_mirror": "result = fn.fast_resize_crop_mirror(picture, resize_x=200, crop=[100, 100], mirror=1)",
    "filter": "result = fn.filter(picture, np.float32([[0, -1, 0], [-1, 5, -1], [0, -1, 0]]))",
    "flip": "result = fn.flip(picture, horizontal=1)",
    "full": "result = fn.full(7, shape=[2, 3])",
    "full_like": "result = fn.full_like(numbers, 7)",
    "gaussian_blur": "result = fn.gaussian_blur(picture, sigma=3.0)",
    "get_property": "path = fn.get_property(fn.readers.file(files=['photos/house/0000.jpg'])[0], key='source_info')",
    "grid_mask": "result = fn.grid_mask(picture, tile=40, ratio=0.4, angle=0.3)",
    "hsv": "result = fn.hsv(picture, hue=90, saturation=1.2, value=1.1)",
    "hue": "result = fn.hue(picture, hue=120)",
    "io.file.read": "content = fn.io.file.read(np.frombuffer(b'photos/house/0000.jpg', np.uint8))",
    "jitter": "result = fn.jitter(picture, nDegree=6, seed=5)",
    "jpeg_compression_distortion": "result = fn.jpeg_compression_distortion(picture, quality=5)",
    "laplacian": "result = fn.laplacian(gray, window_size=3)",
    "lookup_table": "result = fn.lookup_table(labels, keys=[1, 2, 3], values=[10.0, 20.0, 30.0])",
    "mel_filter_bank": "result = fn.mel_filter_bank(\n"
    "    fn.spectrogram(sound, window_length=64, window_step=32), nfilter=4, sample_rate=8000.0)",
    "experimental.median_blur": "result = fn.experimental.median_blur(picture, window_size=[7, 7])",
    "mfcc": "result = fn.mfcc(fn.to_decibels(fn.mel_filter_bank(\n"
    "    fn.spectrogram(sound, window_length=64, window_step=32), nfilter=8, sample_rate=8000.0)), n_mfcc=4)",
    "multi_paste": "result = fn.multi_paste(\n"
    "    picture, in_ids=np.int32([0, 0]), output_size=[160, 240],\n"
    "    in_anchors=np.int32([[30, 30], [70, 130]]), shapes=np.int32([[100, 90], [60, 60]]),\n"
    "    out_anchors=np.int32([[10, 10], [50, 130]]))",
    "noise.gaussian": "result = fn.noise.gaussian(picture, stddev=30, seed=1)",
    "noise.salt_and_pepper": "result = fn.noise.salt_and_pepper(picture, prob=0.1, seed=1)",
    "noise.shot": "result = fn.noise.shot(picture, factor=20, seed=1)",
    "nonsilent_region": "begin, length = fn.nonsilent_region(sound, window_length=16, reset_interval=64)",
    "normalize": "result = fn.normalize(numbers)",
    "one_hot": "result = fn.one_hot(labels, num_classes=5)",
    "ones": "result = fn.ones(shape=[2, 3])",
    "ones_like": "result = fn.ones_like(numbers)",
    "pad": "result = fn.pad(numbers, axes=[0], shape=[3], fill_value=-1)",
    "paste": "result = fn.paste(picture, ratio=1.5, fill_value=[230, 230, 230], paste_x=0.2, paste_y=0.8)",
    "peek_image_shape": "shape = fn.peek_image_shape(files)",
    "per_frame": "scale = fn.per_frame(fn.constant(fdata=[0.5, 1.0, 1.5]))\n"
    "result = fn.brightness(frames, brightness=scale)",
    "permute_batch": "result = fn.permute_batch(numbers, indices=fn.batch_permutation(seed=1))",
    "power_spectrum": "result = fn.power_spectrum(sound, nfft=8)",
    "preemphasis_filter": "result = fn.preemphasis_filter(sound, preemph_coeff=0.9)",
    "python_function": "result = fn.python_function(numbers, function=lambda x: x * 2)",
    "random_bbox_crop": "anchor, shape, kept, kept_labels = fn.random_bbox_crop(\n"
    "    boxes, labels, bbox_layout='xyXY', thresholds=[0.5], scaling=[0.5, 1.0], seed=1)",
    "random.beta": "result = fn.random.beta(alpha=2.0, beta=5.0, shape=[3], seed=1)",
    "random.choice": "result = fn.random.choice(10, shape=[5], seed=1)",
    "random.coin_flip": "result = fn.random.coin_flip(probability=0.3, shape=[8], seed=1)",
    "random_crop_generator": "anchor, shape = fn.random_crop_generator(fn.peek_image_shape(files), seed=1)",
    "random.normal": "result = fn.random.normal(mean=10, stddev=2, shape=[4], seed=1)",
    "random_resized_crop": "result = fn.random_resized_crop(picture, size=[112, 112], random_area=[0.2, 0.6], seed=4)",
    "random.uniform": "result = fn.random.uniform(range=[-1, 1], shape=[4], seed=1)",
    "readers.caffe2": "",
    "readers.caffe": "",
    "readers.coco": "files, boxes, labels = fn.readers.coco(\n"
    "    file_root='train2017', annotations_file='instances_train2017.json', ltrb=True)",
    "readers.file": "files, labels = fn.readers.file(file_root='photos', random_shuffle=True, name='Reader')",
    "readers.mxnet": "",
    "readers.nemo_asr": "audio, rate, text = fn.readers.nemo_asr(manifest_filepaths=['train.json'])",
    "readers.numpy": "result = fn.readers.numpy(file_root='volumes', file_filter='*.npy')",
    "readers.sequence": "result = fn.readers.sequence(file_root='frames', sequence_length=3)",
    "readers.parquet": "files, labels = fn.readers.parquet(\n"
    "    paths='pets/data/train-*.parquet', columns=['image', 'label'])",
    "readers.tfrecord": "from headrace import tfrecord\n\n"
    "record = fn.readers.tfrecord(\n    path='train-000.tfrecord',\n    features={\n"
    "        'image/encoded': tfrecord.FixedLenFeature((), tfrecord.string, ''),\n"
    "        'image/class/label': tfrecord.FixedLenFeature([1], tfrecord.int64, -1)})\n"
    "files, label = record['image/encoded'], record['image/class/label']",
    "readers.video": "video, label = fn.readers.video(file_root='clips', sequence_length=5)",
    "readers.video_resize": "video, label = fn.readers.video_resize(\n"
    "    file_root='clips', sequence_length=5, resize_shorter=32.0)",
    "readers.webdataset": "files, labels = fn.readers.webdataset(\n"
    "    paths='imagenet/train-000.tar', ext=['jpg', 'cls'], random_shuffle=True)",
    "reductions.max": "result = fn.reductions.max(numbers, axes=1)",
    "reductions.mean": "result = fn.reductions.mean(numbers, axes=1)",
    "reductions.mean_square": "result = fn.reductions.mean_square(numbers, axes=1)",
    "reductions.min": "result = fn.reductions.min(numbers, axes=1)",
    "reductions.rms": "result = fn.reductions.rms(numbers, axes=1)",
    "reductions.std_dev": "result = fn.reductions.std_dev(numbers, fn.reductions.mean(numbers))",
    "reductions.sum": "result = fn.reductions.sum(numbers, axes=0)",
    "reductions.variance": "result = fn.reductions.variance(numbers, fn.reductions.mean(numbers))",
    "reinterpret": "result = fn.reinterpret(labels, dtype=types.UINT8, shape=[3, 4])",
    "experimental.remap": "rows, columns = np.mgrid[:160, :240].astype(np.float32)\n"
    "result = fn.experimental.remap(\n"
    "    picture, columns + 12 * np.sin(rows / 12), rows, interp=types.INTERP_LINEAR)",
    "reshape": "result = fn.reshape(numbers, shape=[3, -1])",
    "resize": "result = fn.resize(picture, size=[80, 80], interp_type=types.INTERP_TRIANGULAR)",
    "resize_crop_mirror": "result = fn.resize_crop_mirror(picture, resize_shorter=120, crop=[100, 100], mirror=1)",
    "roi_random_crop": "anchor = fn.roi_random_crop(\n"
    "    mask, crop_shape=[64, 64, 1], roi_start=[40, 40, 0], roi_end=[118, 110, 1], seed=1)",
    "rotate": "result = fn.rotate(picture, angle=20, fill_value=200)",
    "saturation": "result = fn.saturation(picture, saturation=0.2)",
    "segmentation.random_mask_pixel": "pixel = fn.segmentation.random_mask_pixel(mask, foreground=1, seed=1)",
    "segmentation.random_object_bbox": "start, end = fn.segmentation.random_object_bbox(\n"
    "    mask, background=0, seed=1, foreground_prob=1.0)",
    "segmentation.select_masks": "kept, kept_vertices = fn.segmentation.select_masks(\n"
    "    np.int32([1]), polygons, vertices)",
    "sequence_rearrange": "result = fn.sequence_rearrange(frames, new_order=[2, 1, 0])",
    "shapes": "result = fn.shapes(picture)",
    "slice": "result = fn.slice(picture, start=[20, 30], shape=[100, 120], axis_names='HW')",
    "sphere": "result = fn.sphere(picture)",
    "spectrogram": "result = fn.spectrogram(sound, window_length=8, window_step=64)",
    "squeeze": "result = fn.squeeze(fn.expand_dims(numbers, axes=0), axes=0)",
    "ssd_random_crop": "result, kept, kept_labels = fn.ssd_random_crop(picture, boxes, labels, seed=2)",
    "stack": "result = fn.stack(numbers, numbers, axis=0)",
    "tensor_resize": "result = fn.tensor_resize(numbers, sizes=[4, 6])",
    "transforms.combine": "result = fn.transforms.combine(\n"
    "    fn.transforms.translation(offset=[10, 20]), fn.transforms.rotation(angle=90))",
    "transforms.crop": "result = fn.transforms.crop(from_start=[0, 0], from_end=[1, 1], to_start=[0, 0], to_end=[240, 160])",
    "transforms.rotation": "result = fn.transforms.rotation(angle=90, center=[10, 10])",
    "transforms.scale": "result = fn.transforms.scale(scale=[2, 3])",
    "transforms.shear": "result = fn.transforms.shear(angles=[10, 0])",
    "transforms.translation": "result = fn.transforms.translation(offset=[10, 20])",
    "to_decibels": "result = fn.to_decibels(numbers)",
    "transpose": "result = fn.transpose(picture, perm=[2, 0, 1])",
    "warp_affine": "result = fn.warp_affine(picture, matrix=[1, 0.3, -24, 0, 1, 0], fill_value=200)",
    "experimental.warp_perspective": "result = fn.experimental.warp_perspective(\n"
    "    picture, matrix=np.float32([[1, 0.2, -20], [0.1, 1, -10], [0.0005, 0.001, 1]]))",
    "water": "result = fn.water(picture, ampl_x=6, ampl_y=6, freq_x=0.08, freq_y=0.08)",
    "zeros": "result = fn.zeros(shape=[2, 3])",
    "zeros_like": "result = fn.zeros_like(numbers)",
}
