"""wick.train: what is written in Python alone: hooks, optimizers and schedules of one's own, data that comes in a stream."""

import copy
import io
import json
import pickle
import threading

import support
from support import Case, each, spread

import numpy as np
import wick

torch = support.train()
nn, optim, data, F = torch.nn, torch.optim, torch.utils.data, torch.nn.functional

X = np.random.RandomState(0).randn(5, 4).astype(np.float32)


class Imports(Case):
    def test_modules_by_their_paths(self):
        import wick.train.backends.cudnn as cudnn
        from wick.train.cuda.amp import GradScaler, autocast
        from wick.train.distributions import Normal
        from wick.train.nn.parameter import Parameter
        from wick.train.optim.lr_scheduler import LRScheduler, _LRScheduler
        from wick.train.optim.swa_utils import AveragedModel
        from wick.train.utils.checkpoint import checkpoint

        cudnn.benchmark = True
        self.assertIs(torch.backends.cudnn, cudnn)
        self.assertIs(LRScheduler, _LRScheduler)
        self.assertIs(Parameter, nn.Parameter)
        for each_ in (GradScaler, autocast, Normal, AveragedModel, checkpoint):
            self.assertTrue(callable(each_))


class Hooks(Case):
    def test_gradients_of_a_module(self):
        layer, x = nn.Linear(4, 2), torch.from_numpy(X).requires_grad_()
        seen = []
        handle = layer.register_full_backward_hook(lambda m, i, o: seen.append((m is layer, i[0].shape, o[0].tolist())))
        layer(x).sum().backward()
        self.assertEqual(seen, [(True, (5, 4), [[1, 1]] * 5)])
        want, x.grad = x.grad.tolist(), None
        handle.remove()
        layer(x).sum().backward()
        self.assertEqual((len(seen), x.grad.tolist()), (1, want))

    def test_a_gradient_that_is_replaced(self):
        layer, x = nn.Linear(4, 2), torch.from_numpy(X).requires_grad_()
        layer.register_full_backward_hook(lambda m, i, o: (i[0] * 0,))
        layer(x).sum().backward()
        self.assertEqual(x.grad.abs().sum().item(), 0)
        self.assertTrue((layer.weight.grad != 0).any())

    def test_a_gradient_that_is_no_tensor(self):
        layer = nn.Linear(4, 2)
        layer.register_full_backward_hook(lambda m, i, o: (1,))
        with self.assertRaisesRegex(wick.TypeMismatch, "a gradient is a int, must be a tensor or None"):
            layer(torch.from_numpy(X).requires_grad_()).sum().backward()

    def test_an_input_that_needs_no_gradient(self):
        layer, seen = nn.Linear(4, 2), []
        layer.register_full_backward_hook(lambda m, i, o: seen.append((i, o[0].shape)))
        layer(torch.from_numpy(X)).sum().backward()
        self.assertEqual(seen, [((None,), (5, 2))])
        with torch.no_grad():
            layer(torch.from_numpy(X))
        self.assertEqual(len(seen), 1)

    def test_several_outputs(self):
        class Two(nn.Module):
            def forward(self, x, scale):
                return x * scale, x + 1

        two, seen = Two(), []
        two.register_full_backward_hook(lambda m, i, o: seen.append((i, o)))
        x = torch.ones(2, requires_grad=True)
        two(x, 3.0)[0].sum().backward()
        ((inputs, outputs),) = seen
        self.assertEqual((inputs[0].tolist(), inputs[1], outputs[0].tolist(), outputs[1].tolist()), ([3, 3], None, [1, 1], [0, 0]))


class Own(Case):
    def test_an_optimizer(self):
        class Heavy(optim.Optimizer):
            def __init__(self, params, lr=0.1, momentum=0.9):
                super().__init__(params, {"lr": lr, "momentum": momentum})

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is None:
                            continue
                        kept = self.state[p].setdefault("held", torch.zeros_like(p))
                        kept.mul_(group["momentum"]).add_(p.grad)
                        p.add_(kept, alpha=-group["lr"])

        def steps(w, o, count):
            for _ in range(count):
                o.zero_grad()
                (w * w).sum().backward()
                o.step()

        def leaf(values):
            return torch.tensor(values, requires_grad=True)

        w, v = leaf([1.0, -2.0]), leaf([1.0, -2.0])
        mine, theirs = Heavy([w]), optim.SGD([v], lr=0.1, momentum=0.9)
        schedule = optim.lr_scheduler.StepLR(mine, 1, 0.5)
        steps(w, mine, 5)
        steps(v, theirs, 5)
        np.testing.assert_allclose(w.tolist(), v.tolist(), rtol=1e-6)
        schedule.step()
        state = mine.state_dict()
        self.assertEqual((list(state["state"]), state["param_groups"][0]["params"], state["param_groups"][0]["lr"]), ([0], [0], 0.05))
        again = leaf(w.tolist())
        other = Heavy([again])
        other.load_state_dict(state)
        steps(w, mine, 3)
        steps(again, other, 3)
        self.assertEqual(again.tolist(), w.tolist())
        with self.assertRaisesRegex(wick.InvalidArgument, "groups of .1. parameters"):
            Heavy([leaf([1.0]), leaf([2.0])]).load_state_dict(state)
        with self.assertRaises(NotImplementedError):
            optim.Optimizer([w], {}).step()
        mine.zero_grad(set_to_none=False)
        self.assertEqual(w.grad.tolist(), [0, 0])

    def test_groups_that_are_added(self):
        a, b = (torch.tensor([1.0], requires_grad=True) for _ in range(2))
        o = optim.Adam([a], lr=0.1)
        (a * 2).sum().backward()
        o.step()
        o.add_param_group({"params": b, "lr": 0.5})
        (b * 2).sum().backward()
        o.step()
        np.testing.assert_allclose([a.item(), b.item()], [0.8, 0.5], rtol=1e-5)
        self.assertEqual([sorted(kept) for kept in o.state.values()], [["exp_avg", "exp_avg_sq"]] * 2)
        self.assertIn("Parameter Group 1", repr(o))
        state = o.state_dict()
        o.load_state_dict(state)
        with self.assertRaisesRegex(wick.InvalidArgument, "a group is"):
            o.add_param_group([b])
        o.param_groups.append({"params": []})
        with self.assertRaisesRegex(wick.InvalidArgument, "groups are added by add_param_group"):
            o.step()

    def test_a_schedule(self):
        class Halves(optim.lr_scheduler.LRScheduler):
            def get_lr(self):
                return [base * 0.5**self.last_epoch for base in self.base_lrs]

        o = optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        schedule = Halves(o)
        rates = [(schedule.step(), o.param_groups[0]["lr"])[1] for _ in range(3)]
        self.assertEqual((rates, schedule.get_last_lr()), ([0.5, 0.25, 0.125], [0.125]))
        again = Halves(optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0))
        again.load_state_dict(schedule.state_dict())
        again.step()
        self.assertEqual(again.get_last_lr(), [0.0625])


@spread
class Modes(Case):
    def test_autocast(self):
        a = torch.ones(2, 2)
        with torch.autocast("cpu"):
            self.assertEqual(((a @ a).dtype, torch.is_autocast_enabled()), (torch.bfloat16, True))
            with torch.autocast("cpu", enabled=False):
                self.assertEqual((a @ a).dtype, torch.float32)
            self.assertEqual(a.exp().dtype, torch.float32)
        self.assertEqual(((a @ a).dtype, torch.is_autocast_enabled()), (torch.float32, False))
        self.assertEqual(torch.autocast("cpu", dtype=torch.float16)(lambda: (a @ a).dtype)(), torch.float16)
        with torch.cuda.amp.autocast():  # off, as PyTorch's is where there is no CUDA
            self.assertEqual((a @ a).dtype, torch.float32)
        with self.assertRaises(ZeroDivisionError), torch.autocast("cpu"):
            raise ZeroDivisionError
        self.assertFalse(torch.is_autocast_enabled())
        with self.assertRaises(wick.InvalidArgument):
            torch.autocast("tpu")

    def test_a_scaler_that_is_off(self):
        w = torch.ones(1, requires_grad=True)
        o, scaler = optim.SGD([w], lr=0.5), torch.cuda.amp.GradScaler()
        scaler.scale((w * w).sum()).backward()
        scaler.unscale_(o)
        scaler.step(o)
        scaler.update()
        self.assertEqual((w.item(), scaler.get_scale(), scaler.is_enabled()), (0, 1, False))

    def test_a_scaler(self):
        def run(scaler, kind):
            w = torch.tensor([2.0, -1.0], requires_grad=True)
            o = optim.SGD([w], lr=0.25)
            for factor in (1.0, 1.0, float("inf"), 1.0):
                o.zero_grad()
                with torch.autocast("cpu", dtype=kind):
                    loss = (w.reshape(1, 2) @ w.reshape(2, 1)).sum() * factor
                scaler.scale(loss).backward()
                scaler.unscale_(o)
                nn.utils.clip_grad_norm_([w], 1e9)
                scaler.step(o)
                scaler.update()
            return w.tolist()

        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        self.assertEqual(run(scaler, torch.float16), [0.25, -0.125])  # three steps of four
        self.assertEqual((scaler.get_scale(), scaler.is_enabled()), (4, True))
        again = torch.amp.GradScaler("cpu")
        again.load_state_dict(scaler.state_dict())
        self.assertEqual(again.get_scale(), 4)
        with self.assertRaisesRegex(wick.InvalidArgument, "GradScaler"):  # whose scale is off
            run(torch.amp.GradScaler("cuda"), torch.float16)

    def test_anomalies(self):
        x = torch.tensor([-1.0])
        with self.assertRaisesRegex(wick.Error, "(?s)log"), torch.autograd.detect_anomaly():
            x.log()
        x.log()
        torch.autograd.set_detect_anomaly(True)
        with self.assertRaises(wick.Error):
            x.log()
        torch.autograd.set_detect_anomaly(False)
        x.log()

    def test_gradcheck(self):
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * x

            @staticmethod
            def backward(ctx, g):
                return g

        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda x: (x.sin(), x * x), x))
        self.assertFalse(torch.autograd.gradcheck(Wrong.apply, [x], raise_exception=False))
        with self.assertRaisesRegex(wick.InvalidArgument, "output 0 by input 0 .* differs by up to 3"):
            torch.autograd.gradcheck(Wrong.apply, [x])

    @each(("plain", 0.0), ("random", 0.5))
    def test_checkpoint(self, p):
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(p), nn.Linear(8, 2))
        x = torch.from_numpy(X).requires_grad_()

        def run(call):
            torch.manual_seed(5)
            net.zero_grad()
            x.grad = None
            out = call(x)
            next_ = torch.rand(1).item()
            (out**2).sum().backward()
            return [out.tolist(), next_, x.grad.tolist(), *(q.grad.tolist() for q in net.parameters())]

        want = run(net)
        self.assertEqual(run(lambda x: torch.utils.checkpoint.checkpoint(net, x)), want)
        self.assertEqual(run(lambda x: torch.utils.checkpoint.checkpoint_sequential(net, 2, x)), want)

    def test_forked_numbers(self):
        torch.manual_seed(1)
        want = torch.rand(2).tolist()
        torch.manual_seed(1)
        with torch.random.fork_rng():
            torch.rand(7)
        self.assertEqual(torch.rand(2).tolist(), want)

    def test_printing(self):
        torch.set_printoptions(precision=2)
        self.assertEqual(repr(torch.tensor([1.23456])), "tensor([1.23])")
        torch.set_printoptions(profile="default")
        self.assertEqual(repr(torch.tensor([1.23456])), "tensor([1.2346])")

    def test_close(self):
        close = torch.testing.assert_close
        close({"a": [torch.ones(2), 1.0]}, {"a": [torch.ones(2) + 1e-7, 1.0]})
        close(torch.tensor([1, 2]), np.array([1, 2]), check_dtype=False)
        for mine, other, text in (
            (torch.ones(2), torch.tensor([1.0, 1.1]), r"1 of 2 elements differ; the first at \[1\]: 1.0, must be 1.1"),
            (torch.ones(2), torch.ones(3), "shapes are"),
            (torch.ones(2), torch.ones(2).double(), "dtypes are"),
            ([1.0], [1.0, 2.0], "1 items, must be 2"),
        ):
            with self.assertRaisesRegex(AssertionError, text):
                close(mine, other)


class Numbers(data.IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


class Streams(Case):
    def test_batches_of_a_stream(self):
        for workers in (0, 2):
            got = [b.tolist() for b in data.DataLoader(Numbers(7), batch_size=3, num_workers=workers)]
            self.assertEqual(got, [[0, 1, 2], [3, 4, 5], [6]])
            got = [b.tolist() for b in data.DataLoader(Numbers(7), 3, drop_last=True, num_workers=workers)]
            self.assertEqual(got, [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(list(data.DataLoader(Numbers(3), batch_size=None)), [0, 1, 2])
        self.assertEqual(list(data.ChainDataset([Numbers(2), Numbers(1)])), [0, 1, 0])
        self.assertEqual(list(Numbers(2) + Numbers(1)), [0, 1, 0])
        with self.assertRaisesRegex(wick.InvalidArgument, "its own order"):
            data.DataLoader(Numbers(3), shuffle=True)

    def test_an_error_in_a_stream_is_its_own(self):
        class Broken(Numbers):
            def __iter__(self):
                yield 1
                raise KeyError("mine")

        for workers in (0, 1):
            with self.assertRaisesRegex(KeyError, "mine"):
                list(data.DataLoader(Broken(1), num_workers=workers))

    def test_a_stream_without_an_end_is_left(self):
        class Endless(Numbers):
            def __iter__(self):
                while True:
                    yield 1

        before = threading.active_count()
        for batch in data.DataLoader(Endless(0), batch_size=2, num_workers=2):
            self.assertEqual(batch.tolist(), [1, 1])
            break
        del batch
        self.assertLessEqual(threading.active_count(), before + 1)

    def test_batch_samplers(self):
        rows = data.TensorDataset(torch.arange(5))
        for workers in (0, 2):
            loader = data.DataLoader(rows, batch_sampler=[[4, 0], [2]], num_workers=workers)
            self.assertEqual(([b.tolist() for (b,) in loader], len(loader)), ([[4, 0], [2]], 2))
        with self.assertRaisesRegex(wick.InvalidArgument, "give no batch_size"):
            data.DataLoader(rows, 2, batch_sampler=[[1]])
        self.assertEqual([x.tolist() for x, in data.DataLoader(rows, batch_size=None)], [0, 1, 2, 3, 4])

    def test_what_workers_begin_with(self):
        seen, lock = [], threading.Lock()

        def begin(number):
            with lock:
                seen.append((number, threading.current_thread().name.startswith("wick-data")))

        class Waits(data.Dataset):
            barrier = threading.Barrier(2, timeout=30)

            def __getitem__(self, i):
                self.barrier.wait()
                return i

            def __len__(self):
                return 4

        list(data.DataLoader(Waits(), num_workers=2, worker_init_fn=begin, prefetch_factor=4, timeout=5))
        self.assertEqual(sorted(seen), [(0, True), (1, True)])

    def test_names_as_texts_are_keys(self):
        class Named(data.Dataset):
            def __getitem__(self, name):
                return torch.rand(1), name

            def __len__(self):
                return 2

        def run(workers):
            torch.manual_seed(2)
            return [(x.tolist(), n) for x, n in data.DataLoader(Named(), 1, sampler=["b", "a"], num_workers=workers)]

        self.assertEqual(run(0), run(2))

    def test_samplers_of_several_epochs(self):
        torch.manual_seed(0)
        drawn = list(data.RandomSampler(range(3), num_samples=7))
        self.assertEqual((len(drawn), sorted(drawn[:3]), sorted(drawn[3:6])), (7, [0, 1, 2], [0, 1, 2]))
        self.assertEqual(len(data.RandomSampler(range(3), True, 7)), 7)


class Sizes(Case):
    def test_a_shape_is_a_tuple_that_knows_more(self):
        shape = torch.ones(2, 3, 4).shape
        self.assertEqual((shape, shape.numel(), shape[1:].numel(), repr(shape)), ((2, 3, 4), 24, 12, "torch.Size([2, 3, 4])"))
        self.assertIsInstance(shape[:-1] + (5,), torch.Size)
        self.assertEqual((copy.deepcopy(shape), pickle.loads(pickle.dumps(shape)), json.dumps(shape)), (shape, shape, "[2, 3, 4]"))
        file = io.BytesIO()
        torch.save({"shape": shape}, file)
        file.seek(0)
        self.assertEqual(torch.load(file), {"shape": (2, 3, 4)})


class Layers(Case):
    def test_inputs_by_name(self):
        x = torch.from_numpy(X)
        for layer in (nn.ReLU(), nn.Softmax(1), nn.Flatten(), nn.LeakyReLU(0.2), nn.Dropout(0.0), nn.Linear(4, 2)):
            self.assertEqual(layer(input=x).tolist(), layer(x).tolist())
        target = torch.tensor([0, 1, 2, 3, 0])
        loss = nn.CrossEntropyLoss(torch.ones(4), label_smoothing=0.1)
        self.assertEqual(loss(input=x, target=target).item(), loss(x, target).item())
        self.assertEqual(list(loss.state_dict()), ["weight"])

    def test_settings_that_change_count(self):
        layer = nn.LeakyReLU(0.1)
        layer.negative_slope = 0.5
        self.assertEqual(layer(torch.tensor([-2.0])).item(), -1)


class Resets(Case):
    def test_a_norm_begins_anew(self):
        norm = nn.BatchNorm1d(4)
        norm(torch.from_numpy(X))
        norm.weight.data.fill_(3)
        norm.reset_parameters()
        self.assertEqual([v.tolist() for v in norm.state_dict().values()], [[1] * 4, [0] * 4, [0] * 4, [1] * 4, 0])

    def test_initial_values_are_drawn_anew(self):
        layer = nn.Linear(3, 2)
        held, before = layer.weight, layer.weight.tolist()
        torch.manual_seed(4)
        layer.reset_parameters()
        torch.manual_seed(4)
        self.assertEqual(layer.weight.tolist(), nn.Linear(3, 2).weight.tolist())
        self.assertNotEqual(held.tolist(), before)
        self.assertTrue(held.same_as(layer.weight))


class OpenFiles(Case):
    def test_a_checkpoint_in_memory(self):
        file = io.BytesIO()
        torch.save({"w": torch.ones(2), "n": 3}, file)
        file.seek(0)
        got = torch.load(file)
        self.assertEqual((got["w"].tolist(), got["n"]), ([1, 1], 3))
        with self.assertRaisesRegex(wick.InvalidArgument, "the open file is no file that save"):
            torch.load(io.BytesIO(b"no"))


if __name__ == "__main__":
    support.unittest.main()
