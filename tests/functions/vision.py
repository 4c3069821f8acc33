"""torchvision's roi_align, roi_pool and deform_conv2d as plain loops, for goldens: Debian's PyTorch comes without torchvision.

They follow the definitions in torchvision's documentation and its C++ operators; every result keeps its history, so that
gradients are autograd's. As in torchvision, regions get no gradient.
"""

import math

import torch


def pair(v):
    return v if isinstance(v, (tuple, list)) else (v, v)


def pixels_around(at, extent):
    """The two pixels around a coordinate of a region and their weights; the image's border is repeated for one pixel."""
    if at < -1 or at > extent:
        return []
    at = max(at, 0.0)
    low = min(int(at), extent - 1)
    if low == extent - 1:
        return [(low, 1.0)]
    return [(low, 1 - (at - low)), (low + 1, at - low)]


def roi_align(x, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False):
    rows, columns = pair(output_size)
    height, width = x.shape[2:]
    regions = []
    for image, *edges in boxes.detach().tolist():
        left, top, right, bottom = (e * spatial_scale - (0.5 if aligned else 0) for e in edges)
        wide, high = right - left, bottom - top
        if not aligned:
            wide, high = max(wide, 1.0), max(high, 1.0)
        bin_h, bin_w = high / rows, wide / columns
        count_h = sampling_ratio if sampling_ratio > 0 else math.ceil(bin_h)
        count_w = sampling_ratio if sampling_ratio > 0 else math.ceil(bin_w)
        bins = []
        for i in range(rows):
            for j in range(columns):
                total = x.new_zeros(x.shape[1])
                for a in range(count_h):
                    for b in range(count_w):
                        down = pixels_around(top + i * bin_h + (a + 0.5) * bin_h / count_h, height)
                        along = pixels_around(left + j * bin_w + (b + 0.5) * bin_w / count_w, width)
                        for r, weight in down:
                            for c, share in along:
                                total = total + x[int(image), :, r, c] * (weight * share)
                bins.append(total / max(count_h * count_w, 1))
        regions.append(torch.stack(bins, 1).reshape(x.shape[1], rows, columns))
    return torch.stack(regions)


def roi_pool(x, boxes, output_size, spatial_scale=1.0):
    rows, columns = pair(output_size)
    height, width = x.shape[2:]

    def whole(v):  # halves go away from 0
        return int(math.copysign(math.floor(abs(v) + 0.5), v))

    def inside(v, extent):
        return min(max(v, 0), extent)

    regions = []
    for image, *edges in boxes.detach().tolist():
        left, top, right, bottom = (whole(e * spatial_scale) for e in edges)
        high, wide = max(bottom - top + 1, 1), max(right - left + 1, 1)
        bins = []
        for i in range(rows):
            for j in range(columns):
                r0, r1 = math.floor(i * high / rows), math.ceil((i + 1) * high / rows)
                c0, c1 = math.floor(j * wide / columns), math.ceil((j + 1) * wide / columns)
                part = x[int(image), :, inside(r0 + top, height):inside(r1 + top, height),
                         inside(c0 + left, width):inside(c1 + left, width)]
                bins.append(part.flatten(1).max(1).values if part.numel() else x.new_zeros(x.shape[1]))
        regions.append(torch.stack(bins, 1).reshape(x.shape[1], rows, columns))
    return torch.stack(regions)


def read_at(image, row, column):
    """Between the pixels of image[H, W]; 0 outside."""
    height, width = image.shape
    if not (-1 < row < height and -1 < column < width):
        return image.new_zeros(())
    top, left = math.floor(row), math.floor(column)
    total = image.new_zeros(())
    for r in (top, top + 1):
        for c in (left, left + 1):
            if 0 <= r < height and 0 <= c < width:
                share = (1 - (row - r).abs()) * (1 - (column - c).abs())
                total = total + share * image[r, c]
    return total


def deform_conv2d(x, offset, weight, bias=None, stride=1, padding=0, dilation=1, mask=None):
    stride, padding, dilation = pair(stride), pair(padding), pair(dilation)
    outputs, part, kh, kw = weight.shape
    groups, taps = x.shape[1] // part, kh * kw
    shared = x.shape[1] * 2 * taps // offset.shape[1]  # channels of an offset group
    result = []
    for n in range(x.shape[0]):
        for o in range(outputs):
            for p in range(offset.shape[2]):
                for q in range(offset.shape[3]):
                    total = x.new_zeros(()) if bias is None else bias[o]
                    for c in range(part):
                        channel = o // (outputs // groups) * part + c
                        for tap in range(taps):
                            which = channel // shared * taps + tap
                            row = p * stride[0] - padding[0] + tap // kw * dilation[0] + offset[n, 2 * which, p, q]
                            column = q * stride[1] - padding[1] + tap % kw * dilation[1] + offset[n, 2 * which + 1, p, q]
                            value = read_at(x[n, channel], row, column) * weight[o, c, tap // kw, tap % kw]
                            total = total + (value if mask is None else value * mask[n, which, p, q])
                    result.append(total)
    return torch.stack(result).reshape(x.shape[0], outputs, *offset.shape[2:])
