"""Several threads, runs that are ended, and the lock of the interpreter."""

import os
import threading
import time

import support
from support import Case, add_sub, each, nonzero, relu, session, slow, spread

import numpy as np
import wick

EYE = np.eye(256, dtype=np.float32)


def in_threads(count, work):
    """Runs work(i) in threads; raises what one of them raised."""
    errors = []

    def run(i):
        try:
            work(i)
        except BaseException as error:  # noqa: BLE001: told to the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


@spread
class Threads(Case):
    @each(*((f"{n}_threads_{t}_inside", n, t) for n in (2, 4, 8) for t in (1, 2)))
    def test_one_session(self, count, inside):
        options = wick.SessionOptions()
        options.intra_op_num_threads = inside
        model = session(add_sub(), options)

        def work(i):
            for k in range(100):
                a = np.full(16 + i, k, np.float32)
                b = np.full(16 + i, i, np.float32)
                got = model.run(None, {"a": a, "b": b})
                self.assertBits(got[0], a + b)
                self.assertBits(got[1], a - b)

        in_threads(count, work)

    def test_sizes_that_the_data_decides(self):
        model = session(nonzero())

        def work(i):
            for k in range(100):
                x = (np.arange(50) % (i + 2) == k % 2).astype(np.float32)
                self.assertBits(model.run(None, {"x": x})[0], np.int64([np.flatnonzero(x)]))

        in_threads(4, work)

    def test_errors_belong_to_their_thread(self):
        model = session(relu())

        def work(i):
            for _ in range(100):
                if i % 2:
                    with self.assertRaisesRegex(wick.ShapeMismatch, f"1,{4 + i}"):
                        model.run(None, {"x": np.zeros((1, 4 + i), np.float32)})
                else:
                    x = np.full((1 + i, 4), -1, np.float32)
                    self.assertBits(model.run(None, {"x": x})[0], np.zeros((1 + i, 4), np.float32))

        in_threads(6, work)

    def test_sessions_opened_and_closed(self):
        data = relu()

        def work(i):
            for _ in range(40):
                x = np.full((1 + i, 4), 2, np.float32)
                self.assertBits(session(data).run(None, {"x": x})[0], x)

        in_threads(4, work)

    def test_a_model_as_a_function(self):
        model = wick.load(relu(), threads=1)
        in_threads(4, lambda i: [self.assertEqual(model(np.ones((1, 4), np.float32)).sum(), 4) for _ in range(100)])

    def test_lanes_are_used_again(self):
        model = session(relu())
        for _ in range(50):
            model.run(None, {"x": np.ones((1, 4), np.float32)})
        self.assertEqual(len(model._idle), 1)

    def test_in_a_process_that_was_forked(self):
        if not hasattr(os, "fork"):
            self.skipTest("there is no fork")
        data = relu()
        session(data)
        child = os.fork()
        if child == 0:  # sessions that are opened after the fork run; those from before it have no threads
            ok = session(data).run(None, {"x": np.ones((1, 4), np.float32)})[0].sum() == 4
            os._exit(0 if ok else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Ended(Case):
    def test_the_interpreter_runs_meanwhile(self):
        model = session(slow())
        model.run(None, {"x": EYE}, wick.RunOptions())
        count, stop = 0, threading.Event()
        thread = threading.Thread(target=lambda: (model.run(None, {"x": EYE}), stop.set()))
        thread.start()
        while not stop.is_set():
            count += 1
        thread.join()
        self.assertGreater(count, 1000)  # with the lock held it would be a handful

    def test_terminate(self):
        model = session(slow(10**6))
        options = wick.RunOptions()
        timer = threading.Timer(0.2, lambda: setattr(options, "terminate", True))
        timer.start()
        with self.assertRaises(wick.Cancelled) as caught:
            model.run(None, {"x": EYE}, options)
        timer.join()
        self.assertEqual(caught.exception.code, wick.Code.CANCELLED)
        with self.assertRaises(wick.Cancelled):  # it stays set
            model.run(None, {"x": EYE}, options)
        self.assertTrue(options.terminate)

    def test_terminate_can_be_taken_back(self):
        model = session(relu())
        options = wick.RunOptions()
        options.terminate = True
        with self.assertRaises(wick.Cancelled):
            model.run(None, {"x": np.ones((1, 4), np.float32)}, options)
        options.terminate = False
        self.assertEqual(model.run(None, {"x": np.ones((1, 4), np.float32)}, options)[0].sum(), 4)

    def test_a_deadline(self):
        model = session(slow(10**6))
        options = wick.RunOptions()
        options.timeout = 0.2
        begin = time.monotonic()
        with self.assertRaises(wick.Deadline) as caught:
            model.run(None, {"x": EYE}, options)
        self.assertGreaterEqual(time.monotonic() - begin, 0.2)
        self.assertIsInstance(caught.exception, TimeoutError)

    def test_a_run_after_a_deadline(self):
        model = session(slow(3))
        options = wick.RunOptions()
        options.timeout = 1e-9
        with self.assertRaises(wick.Deadline):
            model.run(None, {"x": EYE}, options)
        for again in (None, wick.RunOptions()):
            self.assertBits(model.run(None, {"x": EYE}, again)[0], EYE)

    def test_a_timeout_below_zero(self):
        options = wick.RunOptions()
        for timeout in (-1, float("nan")):
            options.timeout = timeout
            with self.assertRaisesRegex(wick.InvalidArgument, "timeout"):
                session(relu()).run(None, {"x": np.ones((1, 4), np.float32)}, options)


if __name__ == "__main__":
    support.unittest.main()
