"""What ONNX's own evaluator lacks."""

from __future__ import annotations

import math

import numpy as np
from onnx.reference.op_run import OpRun


class MaxRoiPool(OpRun):
    """The largest element of each cell of each region; 0 where a cell has none."""

    def _run(self, x, rois, pooled_shape=None, spatial_scale=1.0):
        rows, columns = pooled_shape
        y = np.zeros((len(rois), x.shape[1], rows, columns), x.dtype)
        for r, (image, *corners) in enumerate(rois):
            x1, y1, x2, y2 = (math.copysign(math.floor(abs(c * spatial_scale) + 0.5), c) for c in corners)
            tall, wide = max(y2 - y1 + 1, 1) / rows, max(x2 - x1 + 1, 1) / columns
            for i in range(rows):
                for j in range(columns):
                    top, bottom = (int(np.clip(v + y1, 0, x.shape[2])) for v in (i * tall // 1, math.ceil((i + 1) * tall)))
                    left, right = (int(np.clip(v + x1, 0, x.shape[3])) for v in (j * wide // 1, math.ceil((j + 1) * wide)))
                    cell = x[int(image), :, top:bottom, left:right].reshape(x.shape[1], -1)
                    if cell.size:
                        y[r, :, i, j] = cell.max(1)
        return (y,)
