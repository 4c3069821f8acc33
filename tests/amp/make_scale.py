"""The path of a loss scale, by the update rule that torch.cuda.amp documents (torch.amp GradScaler
and aten's amp_update_scale_): float32 arithmetic, one line an iteration: found_inf, scale after,
growth tracker after. Writes goldens/scale.txt beside this file."""
import pathlib
import random
import struct


def f32(x):
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return float("inf")


def path(init, growth, backoff, interval, founds):
    scale, tracker, lines = f32(init), 0, []
    for found in founds:
        if found:
            scale, tracker = f32(scale * f32(backoff)), 0
        else:
            tracker += 1
            if tracker == interval:
                grown = f32(scale * f32(growth))
                if grown != float("inf"):
                    scale = grown
                tracker = 0
        lines.append(f"{int(found)} {scale!r} {tracker}")
    return lines


def main():
    rng = random.Random(7)
    runs = [
        (65536.0, 2.0, 0.5, 2000, [i in (3, 4, 2500) for i in range(4600)][::1]),
        (65536.0, 2.0, 0.5, 5, [rng.random() < 0.15 for _ in range(300)]),
        (1.0, 1.5, 0.3, 3, [rng.random() < 0.2 for _ in range(300)]),
        (2.0**120, 2.0, 0.5, 1, [False] * 20),
    ]
    out = []
    for init, growth, backoff, interval, founds in runs:
        lines = path(init, growth, backoff, interval, founds)
        if len(lines) > 1000:  # the long one: where something happens
            lines = [s if i % 500 == 0 or i in (3, 4, 5, 2500) else "" for i, s in enumerate(lines)]
        out.append(f"run {init!r} {growth!r} {backoff!r} {interval} {len(founds)}")
        out += [f"{i} {s}" if s else f"{i} {int(founds[i])}" for i, s in enumerate(lines)]
    pathlib.Path(__file__).with_name("goldens").joinpath("scale.txt").write_text("\n".join(out) + "\n")


main()
