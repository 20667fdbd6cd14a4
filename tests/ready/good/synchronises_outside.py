"""Everything that waits is before the capture or after a replay."""

import torch

x = torch.randn(8, 8, device="cuda")
print(x, x.sum().item(), x.tolist()[0][0], x.cpu().numpy().sum())
if x.isnan().any() or not torch.isfinite(x).all():
    raise ValueError("not finite")
positions = x.nonzero()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.relu(x)
graph.replay()
torch.cuda.synchronize()
print(f"{y.mean():.3f}", len(y), list(y.shape), float(y.max()), y[y > 0].shape)
