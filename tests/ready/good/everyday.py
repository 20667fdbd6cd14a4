"""What many scripts do around a capture: checkpoints, loaders, numpy, schedules, printing."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_device("cuda")
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8))
torch.set_default_device("cpu")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
data = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
loader = DataLoader(TensorDataset(torch.from_numpy(data)), batch_size=4, pin_memory=True)
started, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
for (batch,) in loader:
    started.record()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(batch.cuda(non_blocking=True)).square().mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    schedule.step()
    ended.record()
    ended.synchronize()
    print(f"loss {loss.item():.3f} in {started.elapsed_time(ended):.1f} ms")
path = Path(tempfile.mkdtemp()) / "model.pt"
torch.save(model.state_dict(), path)
model.load_state_dict(torch.load(path, map_location="cuda"))
positions = torch.randint(0, 16, (4,))
assert data[positions.numpy()].shape == (4, 8)
assert torch.allclose(model[0].weight, model[0].weight)

static = torch.empty(4, 8, device="cuda")
model(static)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle()), torch.no_grad():
    out = model(static)
graph.replay()
torch.cuda.empty_cache()
print(out.sum(), out.cpu().numpy().shape)
