"""The device that programs see. Each test is one process, since starting PyTorch is what takes the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Simulate


def test_tensors_modules_and_memory(simulate: Simulate) -> None:
    said = simulate(
        """
        import copy, io, pickle
        import torch, torch_npu

        def refused(what, kind=RuntimeError):
            try:
                what()
            except kind as error:
                return str(error)
            raise AssertionError("was not refused")

        a, m = torch.ones(3, device="npu"), torch.nn.Linear(2, 2)

        #: devices
        assert torch.npu.is_available() and torch.npu.device_count() == 2
        assert torch.device("npu:1").index == 1 and torch.npu.current_device() == 0
        with torch.npu.device(1):
            assert torch.zeros(1, device="npu").device.index == 1
        assert "Invalid device" in refused(lambda: torch.npu.set_device(2))
        assert "Invalid device" in refused(lambda: torch.zeros(1, device="npu:5"))
        #: tensors of different devices are refused
        # as torch_npu refuses them; numbers and indices from the host are not
        def elsewhere(what, *words):  # in the words of this PyTorch
            said = refused(what)
            assert said.startswith("Expected all tensors to be on the same device") and all(word in said for word in words), said
        elsewhere(lambda: torch.mm(torch.ones(1, 1).npu(), torch.ones(1, 1)), "npu:0", "cpu", "mat2", "wrapper_NPU__mm")
        elsewhere(lambda: a + torch.ones(3, device="npu:1"), "npu:0", "npu:1", "other", "wrapper_NPU_Tensor_add")
        elsewhere(lambda: torch.nn.Linear(3, 1)(a.view(1, 3)), "npu:0", "cpu", "mat1", "wrapper_NPU__addmm")
        assert "Expected NPU tensor" in refused(lambda: torch.randn(2, generator=torch.Generator("npu")))
        assert (a + torch.tensor(2.0)).tolist() == [3, 3, 3]
        assert a[torch.tensor([0, 2])].tolist() == [1, 1]
        #: views, out=
        # the same memory, no copies: a view is a view, and writing to it is seen
        v = a.view(3, 1).t()[0, 1:]
        v.mul_(5)
        assert a.tolist() == [1, 5, 5] and v.data_ptr() == a.data_ptr() + 4
        # out= grows, in place stays
        out = torch.empty(0, device="npu")
        torch.add(a, 1, out=out)
        assert out.tolist() == [2, 6, 6]
        #: types that the CPU's kernels lack
        # whole numbers are counted in their own type, an average over three dimensions is taken in a half type
        counted = torch.histc(torch.tensor([0, 1, 1, 5, 9], device="npu"), bins=6, min=0, max=5)
        assert counted.tolist() == [1, 2, 0, 0, 0, 1] and counted.dtype is torch.int64 and counted.is_npu
        out = torch.empty(0, dtype=torch.uint8, device="npu")
        assert torch.histc(torch.tensor([1, 3], dtype=torch.uint8, device="npu"), 2, out=out).tolist() == [1, 1]
        whole = torch.ones(1, 1, 2, 2, 2, dtype=torch.float16, device="npu", requires_grad=True)
        torch.nn.functional.avg_pool3d(whole, 2).sum().backward()
        assert whole.grad.unique().tolist() == [0.125]
        #: products of half types
        # computed in float32 and rounded once, as an NPU does it; types are not mixed
        for half in (torch.float16, torch.bfloat16):
            left, right = torch.randn(4, 999, dtype=half), torch.randn(999, 4, dtype=half)
            exact = left.float() @ right.float()
            l, r = left.npu(), right.npu()
            assert torch.equal((l @ r).cpu(), exact.to(half)) and (l @ r).dtype == half
            out = torch.empty(0, dtype=half, device="npu")
            assert torch.mm(l, r, out=out) is out and torch.equal(out.cpu(), exact.to(half))
            total = torch.ones(4, 4, dtype=half, device="npu")
            memory = total.data_ptr()
            total.addmm_(l, r)
            added = torch.addmm(torch.ones(4, 4), left.float(), right.float())
            assert torch.equal(total.cpu(), added.to(half)) and total.data_ptr() == memory
            assert "dtype" in refused(lambda: l @ r.float())
            layer = torch.nn.Conv1d(4, 3, 3).to("npu", half)
            image = torch.randn(2, 4, 9, dtype=half, device="npu", requires_grad=True)
            layer(image).sum().backward()
            wide = copy.deepcopy(layer).cpu().float()
            assert torch.equal(layer(image).cpu(), wide(image.detach().cpu().float()).to(half))
            grads = [image.grad, *(p.grad for p in layer.parameters())]
            assert [g.dtype for g in grads] == [half] * 3 and all(g.is_npu for g in grads)
        #: traces
        # operators that the real one takes apart are taken apart here, too: else what they give is no part of the graph
        net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.ConvTranspose2d(4, 2, 3)
        ).npu()
        image = torch.randn(2, 3, 8, 8, device="npu")
        traced = torch.jit.trace(net.eval(), image)
        assert torch.equal(traced(image), net(image)) and "aten::_convolution" in str(traced.inlined_graph)
        #: modules that move
        # a parameter keeps its identity when its module moves, so that an optimiser made before has it
        w, before = m.weight, torch.optim.SGD(m.parameters(), 0.1)
        m.npu()
        assert m.weight is w and w.is_npu and before.param_groups[0]["params"][0].is_npu
        #: autograd over two devices
        x = torch.ones(2, 2, device="npu", requires_grad=True)
        (m(x).to("npu:1") * 2).sum().backward()
        assert x.grad.device.index == 0
        #: copies, pickles, files with map_location
        assert copy.deepcopy(m).weight.is_npu and pickle.loads(pickle.dumps(a)).is_npu
        file = io.BytesIO()
        torch.save(m.state_dict(), file)
        for where in ("cpu", "npu:1", lambda s, l: s.npu(1) if l.startswith("npu") else s):
            file.seek(0)
            loaded = torch.load(file, map_location=where)["weight"]
            assert torch.equal(loaded.cpu(), m.weight.cpu()) and (where == "cpu" or loaded.device == torch.device("npu:1"))
        assert "npu:0" in repr(a) and a.type() == "torch.npu.FloatTensor"
        #: formats, generators, DLPack
        assert str(torch_npu.get_npu_format(a)) == "ND" == torch_npu.Format(2).name
        assert torch.Generator("npu").device == torch.device("npu") != torch.Generator("npu:0").device
        if hasattr(torch_npu.utils, "dlpack"):  # as in the releases for PyTorch 2.7 and later
            again = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(a))
            for same in (again, torch.from_dlpack(a)):
                assert same.device == a.device and same.data_ptr() == a.data_ptr() and torch.equal(same * 2, a * 2)
            assert "Unknown device type npu" in refused(lambda: torch.from_dlpack(x), ValueError)
        assert torch.from_dlpack(torch.ones(2)).device.type == "cpu"
        #: memory is counted, capped, given back
        base = torch.npu.memory_allocated()
        big = torch.empty(1 << 20, device="npu")
        assert torch.npu.memory_allocated() - base == 4 << 20
        assert torch.npu.max_memory_allocated() >= base + (4 << 20)
        out_of_memory = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)  # the second is its older name
        message = refused(lambda: torch.empty(1 << 29, device="npu"), out_of_memory)
        assert message.startswith("NPU out of memory. Tried to allocate 2.00 GiB") and " allowed; " not in message
        assert "reserved in total by PyTorch).If reserved memory is >> allocated memory try setting max_split_size_mb" in message
        torch.npu.set_per_process_memory_fraction(0.5)
        assert "; 512.00 MiB allowed; " in refused(lambda: torch.empty(1 << 28, device="npu"), out_of_memory)
        torch.npu.set_per_process_memory_fraction(1.0)
        message = refused(lambda: torch.ones(1 << 14, 1, device="npu") * torch.ones(1, 1 << 15, device="npu"), out_of_memory)
        del big
        torch.npu.empty_cache()
        assert torch.npu.memory_allocated() == base <= torch.npu.memory_reserved()
        assert sum(s["total_size"] for s in torch.npu.memory_snapshot()) >= base - 512 * 100
        #: pinned memory
        assert torch.zeros(3).pin_memory().is_pinned() and not torch.zeros(3).is_pinned()
        #: streams, events
        stream, event, end = torch.npu.Stream(), torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        with torch.npu.stream(stream):
            assert torch.npu.current_stream() == stream != torch.npu.default_stream()
            event.record(); end.record()
        assert event.elapsed_time(end) >= 0 and torch.npu.current_stream() == torch.npu.default_stream()
        #: random numbers
        torch.manual_seed(1); one = torch.rand(4, device="npu"); dropped = torch.nn.functional.dropout(one, 0.5)
        state = torch.get_rng_state()
        torch.manual_seed(1)
        assert torch.equal(one, torch.rand(4, device="npu")) and torch.equal(state, torch.get_rng_state())
        kept = torch.npu.get_rng_state(); x1 = torch.randn(3, device="npu"); torch.npu.set_rng_state(kept)
        assert torch.equal(x1, torch.randn(3, device="npu"))
        #: NPU graphs
        # a graph's replay reads the same inputs and writes the same outputs
        given = torch.zeros(2, device="npu"); graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            assert torch.npu.is_current_stream_capturing()
            doubled = (given + 1).view(2, 1) * 2
            refused(lambda: doubled.sum().item())
        given.fill_(4); graph.replay()
        assert doubled.flatten().tolist() == [10, 10] and not torch.npu.is_current_stream_capturing()
        assert graph.pool() is not None and "without a preceding" in refused(torch.npu.NPUGraph().pool)
        graphed = torch.npu.make_graphed_callables(torch.nn.Linear(2, 2).npu(), (torch.ones(1, 2).npu(),))
        assert graphed(torch.ones(1, 2).npu()).requires_grad
        assert "captured with" in refused(lambda: graphed(torch.ones(2, 2).npu()))
        #: CUDA is not there
        assert "not compiled with CUDA" in refused(lambda: torch.zeros(1).cuda(), AssertionError)
        assert not torch.cuda.is_available()
        #: inference mode
        with torch.inference_mode():
            m(torch.ones(1, 2, device="npu")).view(-1)
        print("all", "well")
        """,
        "--devices=2",
        "--memory=1GiB",
    )
    assert "all well" in said
    assert said.count("npuify: simulating 2 NPUs") == 1
    assert "+simulated" in said


def test_training_tools(simulate: Simulate) -> None:
    said = simulate(
        """
        import importlib.metadata, warnings
        import torch, torch_npu
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        assert torch_npu.__version__.endswith("+simulated") and importlib.metadata.version("torch_npu") == torch_npu.__version__
        m = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).npu()
        x = torch.randn(3, 4).npu()
        #: torch.compile
        for backend in ("eager", "aot_eager", "npu", "inductor"):
            torch._dynamo.reset()
            assert torch.allclose(torch.compile(m, backend=backend)(x), m(x))
        #: autocast, GradScaler
        optimizer = torch.optim.SGD(m.parameters(), 0.1)
        scalers = [torch.npu.amp.GradScaler(init_scale=4.0)]
        if hasattr(torch.amp, "GradScaler"):  # since PyTorch 2.3
            scalers.append(torch.amp.GradScaler("npu", init_scale=4.0))
        for scaler in scalers:
            with torch.npu.amp.autocast(dtype=torch.bfloat16):
                out = m(x)
                assert out.dtype == torch.bfloat16 and out.softmax(-1).dtype == torch.float32
            scaler.scale(out.float().sum()).backward()
            scaler.unscale_(optimizer); scaler.step(optimizer); scaler.update()
        # a step with infinite gradients is left out and halves the scale; two without double it
        w, seen, scaler = nn.Parameter(torch.ones(1).npu()), [], torch.npu.amp.GradScaler(init_scale=4.0, growth_interval=2)
        optimizer = torch.optim.SGD([w], 0.1)
        for factor in (1.0, float("inf"), 1.0, 1.0):
            optimizer.zero_grad()
            scaler.scale(w.sum() * factor).backward(); scaler.step(optimizer); scaler.update()
            seen.append(scaler.get_scale())
        assert seen == [4.0, 2.0, 2.0, 4.0] and abs(w.item() - 0.7) < 1e-6, (seen, w)
        # torch_npu's own scaler, unlike PyTorch's, takes an optimizer without gradients
        optimizer.zero_grad()
        scaler.step(optimizer); scaler.update()
        #: DataLoader with workers and pinned memory
        # Up to 2.6 PyTorch pins for CUDA only, unless it is told the device.
        where = {"pin_memory_device": "npu"} if torch.__version__ < (2, 7) else {}
        for batch in DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4, pin_memory=True, num_workers=1, **where):
            assert batch[0].is_pinned() and batch[0].npu(non_blocking=True).is_npu

        #: a forked worker that uses the device is refused
        class Forked(torch.utils.data.Dataset):
            def __len__(self): return 1
            def __getitem__(self, i): return torch.ones(2).npu()
        try:
            list(DataLoader(Forked(), num_workers=1))
        except RuntimeError as error:
            assert "Cannot re-initialize NPU in forked subprocess" in str(error)
        else:
            raise AssertionError("a forked worker used the device")

        #: LSTM, GRU
        for kind in (nn.LSTM, nn.GRU):
            torch.manual_seed(0)
            cell = kind(4, 5, 2); y = torch.randn(3, 2, 4)
            expected = cell(y)[0]; expected.sum().backward()
            grads = [p.grad.clone() for p in cell.parameters()]
            cell.zero_grad(); cell.npu()
            got = cell(y.npu())[0]; got.sum().backward()
            torch.testing.assert_close(got.cpu(), expected)
            torch.testing.assert_close([p.grad.cpu() for p in cell.parameters()], grads)
        #: torch_npu.profiler
        with torch_npu.profiler.profile(
            activities=[torch_npu.profiler.ProfilerActivity.NPU],
            on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("traces"),
            experimental_config=torch_npu.profiler._ExperimentalConfig(),
        ) as profiler:
            m(x); profiler.step()
        import pathlib
        assert list(pathlib.Path("traces").glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"))
        #: the graph of TensorBoard
        try:
            from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        except ImportError:
            raise Lacking("tensorboard") from None
        from torch.utils.tensorboard import SummaryWriter

        def graph(net, device, folder):
            with SummaryWriter(folder) as writer:
                writer.add_graph(net.to(device), torch.randn(2, 3, 8, 8, device=device))
            events = EventAccumulator(folder)
            events.Reload()
            return [(node.name, node.op, list(node.input)) for node in events.Graph().node]

        class Attention(nn.Module):
            def forward(self, x):
                return nn.functional.scaled_dot_product_attention(x, x, x)

        class Free(nn.Module):
            # takes a weight that is not its own, which no graph may hold
            def forward(self, image):
                return image * weight

        nets = {
            "convolution": nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)),
            "attention": nn.Sequential(nn.Flatten(2), nn.Linear(64, 16), nn.LayerNorm(16), nn.GELU(), Attention()),
        }
        for kind, net in nets.items():
            on_cpu, on_npu = (graph(net, device, f"graphs/{kind}/{device}") for device in ("cpu", "npu"))
            assert on_cpu and on_cpu == on_npu, kind
        refused = []
        for device in ("cpu", "npu"):
            weight = torch.ones(8, device=device, requires_grad=True)
            try:
                graph(Free(), device, f"graphs/free/{device}")
            except RuntimeError as error:
                refused.append(str(error).splitlines()[0])
        assert len(refused) == 2 and refused[0] == refused[1] and "requires grad as a constant" in refused[0], refused
        #: an operator of torch_npu, with autograd
        g = torch.randn(2, 8, device="npu", requires_grad=True)
        y, r = torch_npu.npu_rms_norm(g, torch.ones(8, device="npu")); y.sum().backward()
        assert g.grad.is_npu
        #: quantized tensors are refused
        try:
            torch.quantize_per_tensor(torch.ones(2).npu(), 0.1, 0, torch.qint8)
        except RuntimeError as error:
            assert "not simulated" in str(error)
        else:
            raise AssertionError("a quantized tensor")
        print("all", "well")
        """,
    )
    assert "all well" in said


def test_sparse_tensors(simulate: Simulate) -> None:
    said = simulate(
        """
        import copy, io, pickle
        import torch, torch_npu

        place, value = torch.tensor([[0, 2, 0], [1, 0, 1]]), torch.tensor([1.0, 2.0, 3.0])
        on_cpu = torch.sparse_coo_tensor(place, value, (3, 2))
        x = torch.sparse_coo_tensor(place.npu(), value.npu(), (3, 2))
        #: sparse tensors
        assert x.is_npu and x.layout is torch.sparse_coo and not x.is_coalesced()
        # values are the same memory
        x._values()[0] = 5; x._values()[0] = 1
        assert torch.equal(x.to_dense().cpu(), on_cpu.to_dense())
        y = x.coalesce()
        assert y.is_coalesced() and y._nnz() == 2 and y.values().is_npu and y.indices().device.index == 0
        assert torch.equal((y + y).to_dense().cpu(), 2 * on_cpu.to_dense())
        assert torch.equal(torch.mm(y, torch.ones(2, 4).npu()).cpu(), on_cpu.to_dense() @ torch.ones(2, 4))
        assert torch.equal(on_cpu.npu().to_dense().cpu(), on_cpu.to_dense()) and not x.cpu().is_npu
        assert torch.equal(x.to("npu:1").coalesce().values().cpu(), on_cpu.coalesce().values())
        assert "npu:0" in repr(y) and copy.deepcopy(y).is_npu
        if torch.__version__ >= (2, 6):  # before, PyTorch itself makes a NumPy array of what has no storage on such a device
            assert pickle.loads(pickle.dumps(y)).is_npu
        made = torch.eye(3).npu().to_sparse()
        made.mul_(2); made.add_(torch.eye(3).npu().to_sparse())
        assert torch.equal(made.to_dense().cpu(), 3 * torch.eye(3))
        assert torch.equal(torch.ones(3, 3).npu().sparse_mask(made).to_dense().cpu(), torch.eye(3))
        dense = torch.zeros(3, 2).npu(); dense.add_(x)
        assert torch.equal(dense.cpu(), on_cpu.to_dense())
        #: sparse tensors of compressed rows
        if torch.__version__ < (2, 4):
            raise Lacking("PyTorch 2.1 has no dispatch key for them on such a device")
        rows = torch.eye(3).npu().to_sparse_csr()
        assert rows.is_npu and rows.layout is torch.sparse_csr and rows.values().is_npu
        assert torch.equal((rows @ torch.ones(3, 2).npu()).cpu(), torch.ones(3, 2))
        #: sparse gradients
        # what the CPU learns with them is learnt
        def train(device):
            torch.manual_seed(0)
            table = torch.nn.Embedding(5, 3, sparse=True).to(device)
            optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                (table(torch.tensor([1, 2, 1], device=device)) ** 2).sum().backward()
                assert table.weight.grad.is_sparse
                optimizer.step()
            return table.weight.detach().cpu()
        if torch.__version__ < (2, 2):
            raise Lacking("PyTorch 2.1 makes them by a function that knows no such device")
        torch.testing.assert_close(train("npu"), train("cpu"))
        #: sparse operators on the host's CPU
        assert torch.equal(torch.hspmm(y, torch.ones(2, 2).npu()).to_dense().cpu(), on_cpu.to_dense() @ torch.ones(2, 2))
        print("all", "well")
        """,
        "--devices=2",
    )
    assert "all well" in said
    assert "aten::hspmm" in said
    assert "aten::_coalesce" not in said


def test_float64_as_the_real_one_has_it(simulate: Simulate) -> None:
    """Asked of the real one: what is converted on the device becomes float32, what comes as float64 stays that."""
    said = simulate(
        """
        import torch, torch_npu
        assert torch.zeros(2, dtype=torch.float64).npu().dtype is torch.float64
        assert torch.zeros(2, dtype=torch.float64, device="npu").dtype is torch.float64
        x = torch.zeros(2).npu()
        assert x.double().dtype is x.to(torch.float64).dtype is torch.float32
        assert torch.ones(1, dtype=torch.int64).npu().double().dtype is torch.float32
        double = torch.zeros(2, dtype=torch.float64).npu()
        assert x.type_as(double).dtype is x.to("npu", torch.float64).dtype is double.clone().dtype is torch.float64
        assert x.new_zeros(2, dtype=torch.float64).dtype is x.sum(dtype=torch.float64).dtype is torch.float64
        assert torch.nn.Linear(2, 2).npu().double().weight.dtype is torch.float32
        assert x.cpu().double().dtype is torch.float64
        print("all", "well")
        """
    )
    assert "all well" in said
    assert said.count("Device do not support double dtype now, dtype cast replace with float.") == 1


def test_memory_by_torch_accelerator(simulate: Simulate) -> None:
    said = simulate(
        """
        import torch, torch_npu
        if hasattr(getattr(torch, "accelerator", None), "memory_allocated"):
            x = torch.empty(1 << 20, device="npu")
            assert torch.accelerator.memory_allocated() == torch.npu.memory_allocated() == 4 << 20
            assert torch.accelerator.max_memory_allocated() == 4 << 20
            assert torch.accelerator.memory_stats()["num_ooms"] == 0
            del x
            torch.accelerator.empty_cache()
            if hasattr(torch.accelerator, "empty_host_cache"):
                torch.accelerator.empty_host_cache()
            assert torch.accelerator.memory_reserved() == 0
            torch.accelerator.reset_peak_memory_stats()
            assert torch.accelerator.max_memory_allocated() == 0
        print("all", "well")
        """
    )
    assert "all well" in said


def test_operators_that_the_release_runs_on_the_host(simulate: Simulate) -> None:
    program = """
        import torch
        if torch.__version__ < (2, 5):  # later ones import the packages of devices themselves
            import torch_npu
        x = torch.rand(4).npu() + 1
        for _ in range(3):
            torch.linalg.cholesky_ex(torch.eye(2).npu())
        x.add(1)
    """
    said = simulate(program)
    assert "linalg_cholesky_ex' is not currently supported on the NPU backend and will fall back" in said
    assert "3 × aten::linalg_cholesky_ex" in said
    assert "aten::add" not in said
    assert "linalg_cholesky_ex" not in simulate(program, "--policy=off")
    said = simulate(program, "--policy=error", code=1)
    assert "CPU fallback is disabled by TORCH_NPU_FALLBACK_CPU_DISABLE=1" in said


def test_transfer_to_npu(simulate: Simulate) -> None:
    said = simulate(
        """
        import io
        import torch, torch_npu
        from torch_npu.contrib import transfer_to_npu

        assert torch.cuda.is_available() and torch.cuda.device_count() == 8
        m = torch.nn.Linear(3, 4).cuda()
        x = torch.randn(2, 3, device="cuda:0")
        m(x.to(0)).sum().backward()
        assert torch.ones(1).cuda(1).device.index == 1 and m.cuda() is m
        assert m.weight.grad.is_npu and x.is_cuda and torch.zeros(1).to("cuda:1").device.index == 1
        if torch.__version__ >= (2, 2):  # the CPU of PyTorch 2.1 has no products of this type
            with torch.cuda.amp.autocast():
                assert m(x).dtype == torch.float16
        with torch.autocast("cuda", dtype=torch.bfloat16):
            assert m(x).dtype == torch.bfloat16
        torch.cuda.amp.GradScaler().scale(m(x).sum())
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda.synchronize()
        torch.cuda.set_device(1)
        assert torch.cuda.current_device() == 1 and torch.cuda.max_memory_allocated("cuda:0") > 0
        file = io.BytesIO(); torch.save(m.state_dict(), file); file.seek(0)
        assert torch.load(file, map_location="cuda:0")["weight"].is_npu
        assert torch.randn(2, generator=torch.Generator("cuda").manual_seed(1), device="cuda").is_npu
        torch.set_default_device("cuda")
        for made in (torch.empty(2), torch.zeros(2), torch.tensor([1.0]), torch.arange(3), torch.rand(2), torch.eye(2)):
            assert made.is_npu
        torch.set_default_device(None)
        # lazy modules, events, PyTorch's profiler: the real one takes them
        for lazy in (torch.nn.LazyLinear(3).to("cuda"), torch.nn.LazyLinear(3).cuda()):
            assert lazy(x.cuda(1)).is_npu
        if hasattr(torch, "Event"):
            event = torch.Event(device="cuda")
            assert event.device.type == "npu" and isinstance(event, torch.Event)
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        schedule = torch.profiler.schedule(wait=0, warmup=0, active=1)
        with torch.profiler.profile(activities=activities, schedule=schedule) as profiler:
            x.sum()
            profiler.step()
        print("all", "well")
        """,
    )
    assert "all well" in said


def test_what_the_newest_releases_let_through(simulate: Simulate) -> None:
    """As torch_npu 2.13.0: its patch of flex_attention, pools of memory, lazy modules."""
    said = simulate(
        """
        import torch, torch_npu

        assert torch.nn.LazyLinear(3).npu()(torch.ones(2, 4, device="npu")).is_npu
        if torch.__version__ >= (2, 13):
            from torch.nn.attention.flex_attention import flex_attention

            q = torch.randn(1, 2, 16, 8, device="npu", requires_grad=True)
            result = flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score + (i - j)).sum()
            try:
                result.backward()
            except RuntimeError as error:  # torch's backward gives where() a number on the CPU
                assert "same device" in str(error)
            else:
                assert False
            try:
                flex_attention(q, q.detach().cpu(), q)
            except ValueError as error:
                assert "same device" in str(error)
            pool = torch.npu.MemPool()
            with torch.npu.use_mem_pool(pool):
                torch.ones(2, device="npu")
            assert pool.id != torch.npu.MemPool().id
        print("all", "well")
        """
    )
    assert "all well" in said


def test_a_number_on_the_cpu_is_taken_where_the_real_package_takes_it(simulate: Simulate) -> None:
    """As torch_npu 2.13.0 answered (tools/cpu_scalars.py): arithmetic takes it, kernels that get all their tensors do not."""
    said = simulate(
        """
        import torch, torch_npu

        x, number, at = torch.ones(3, 4, device="npu"), torch.tensor(2.0), torch.tensor([0, 1])
        for takes in (
            lambda: x + number, lambda: number - x, lambda: x / number, lambda: x > number, lambda: x.fill_(number),
            lambda: torch.maximum(x, number), lambda: x.masked_fill(x > 0, number), lambda: torch.where(x > 0, x, 2.0),
            lambda: x.clamp(min=2.0), lambda: x.pow(2.0), lambda: x[at], lambda: x[0].copy_(number),
        ):
            assert takes().is_npu
        for refuses in (
            lambda: torch.where(x > 0, x, number), lambda: x.clamp(min=number), lambda: x.clone().clamp_(max=number),
            lambda: x.pow(number), lambda: torch.pow(number, x), lambda: torch.lerp(x, x, number), lambda: torch.atan2(x, number),
            lambda: torch.addcmul(x, x, number), lambda: torch.addmm(number, x, x.mT), lambda: torch.maximum(number, x),
            lambda: x.index_put_((at,), number), lambda: x.index_put_((at,), torch.ones(2, 4)), lambda: torch.ones(3)[at.npu()],
        ):
            try:
                refuses()
            except RuntimeError as error:
                assert "same device" in str(error), error
            else:
                assert False, refuses
        print("all", "well")
        """
    )
    assert "all well" in said


def test_data_parallel_and_old_tensor_types(simulate: Simulate) -> None:
    """As the imported torch_npu 2.13.0 does both: it puts what DataParallel calls into torch._C."""
    said = simulate(
        """
        import torch, torch_npu

        c = torch.ones(2)
        print(c.type(torch.npu.FloatTensor).device, c.type(torch.npu.HalfTensor).dtype, c.type("torch.npu.LongTensor").dtype)
        print(c.npu().type(torch.FloatTensor).device, c.npu().type(), c.type(torch.float16).dtype)

        torch.manual_seed(0)
        plain = torch.nn.Linear(4, 3).npu()
        spread = torch.nn.DataParallel(plain, device_ids=[0, 2])
        x = torch.randn(6, 4)
        out, wanted = spread(x), plain(x.npu())
        print(out.device, torch.allclose(out, wanted))
        out.pow(2).sum().backward()
        found, plain.weight.grad = plain.weight.grad, None
        wanted.pow(2).sum().backward()
        print(torch.allclose(found, plain.weight.grad, atol=1e-5))

        # the function, the caller's state, and what a replica raises; up to 2.13 autocast of NPUs does not reach the
        # replicas there either, since PyTorch asks whether CUDA's is on; then it asks for the accelerator's (its pull 191916)
        once = torch.nn.parallel.data_parallel(plain, x.npu(), [0, 1])
        with torch.autocast("npu", dtype=torch.bfloat16), torch.no_grad():
            lower = spread(x)
        as_there = torch.bfloat16 if torch.__version__ >= (2, 14) else torch.float32
        print("function", torch.allclose(once, wanted), lower.dtype is as_there, lower.requires_grad)
        try:
            spread(torch.randn(6, 5))
        except RuntimeError as error:
            print("raised", "replica 0 on device 0" in str(error), "shapes" in str(error))
        """
    )
    lines = said.splitlines()
    assert "function True True False" in lines
    assert "raised True True" in lines
    assert "npu:0 torch.float16 torch.int64" in lines
    assert "cpu torch.npu.FloatTensor torch.float16" in lines
    assert "npu:0 True" in lines
    assert lines.count("True") == 1


def test_memory_is_not_shared_between_processes(simulate: Simulate) -> None:
    said = simulate(
        """
        import io
        import torch, torch_npu
        from multiprocessing.reduction import ForkingPickler

        ForkingPickler(io.BytesIO()).dump(torch.ones(2))
        try:
            ForkingPickler(io.BytesIO()).dump(torch.nn.Linear(2, 2).npu())
        except NotImplementedError as error:
            print(error)
        """
    )
    assert "cannot be shared with another process (npuify simulate)" in said


def test_names_of_the_packages_own_library(simulate: Simulate) -> None:
    """``torch_npu._C`` is private, and programs use it: what is here does its work, the rest raises by name."""
    said = simulate(
        """
        import torch, torch_npu
        import torch_npu._C
        from torch_npu._C._distributed_c10d import ProcessGroupHCCL
        from torch_npu._C._profiler import ProfilerActivity

        C = torch_npu._C
        raw_stream = getattr(C, "_npu_getCurrentRawStream", None)  # not in the releases of PyTorch 2.1
        assert C._npu_get_soc_version() == torch.npu.get_soc_version() and ProfilerActivity is torch_npu.profiler.ProfilerActivity
        C._npu_setDevice(1)
        assert torch.npu.current_device() == C._npu_getDevice() == 1 and C._npu_maybeExchangeDevice(0) == 1
        side = torch.npu.Stream()
        C._npu_setStream(stream_id=side.stream_id, device_index=side.device_index, device_type=side.device_type)
        assert torch.npu.current_stream() == side and C._npu_getCurrentStream(0)[0] == side.stream_id
        assert raw_stream is not None or torch.__version__ < (2, 2)
        assert raw_stream is None or raw_stream(0) == side.npu_stream != C._npu_getDefaultStream(0)[0]
        assert C._npu_getOption("ALLOW_CONV_HF32") is None
        torch.npu.set_option({"ALLOW_CONV_HF32": "enable"})
        assert C._npu_getOption("ALLOW_CONV_HF32") == b"enable"
        x = torch.ones(3, device="npu")
        weak = C._weak_ref_tensor(x)
        weak.mul_(2)
        assert x.tolist() == [2, 2, 2] and C._npu_memoryStats(0)["allocated_bytes"]["all"]["current"] == 512
        options = ProcessGroupHCCL.Options()
        options.hccl_config = {"hccl_buffer_size": 200}
        for name, what in (("_npu_stress_detect", lambda: C._npu_stress_detect()), ("ProcessGroupHCCL", ProcessGroupHCCL)):
            try:
                what()
            except NotImplementedError as error:
                assert f"torch_npu._C" in str(error) and name in str(error) and "npuify" in str(error), error
            else:
                raise AssertionError(name)
        assert not hasattr(C, "_no_such_name")
        if torch.__version__ < (2, 2):
            print("all", "well")
            raise SystemExit
        import os, torch.distributed as dist
        os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
        dist.init_process_group("hccl", pg_options=options, store=dist.HashStore(), rank=0, world_size=1)
        dist.all_reduce(x, group=dist.new_group([0], pg_options=options))
        assert x.tolist() == [2, 2, 2]
        print("all", "well")
        """
    )
    assert "all well" in said
