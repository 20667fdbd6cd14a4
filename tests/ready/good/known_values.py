"""Values that a script writes down are known, and decide shapes on the host."""

import torch

lengths = torch.tensor([3, 0, 2, 1])
assert lengths.nonzero().shape == (3, 1)
assert lengths[lengths > 1].tolist() == [3, 2]
assert lengths.unique().tolist() == [0, 1, 2, 3]
assert torch.repeat_interleave(lengths, lengths).shape == (6,)
assert lengths.bincount().tolist() == [1, 1, 1, 1]
assert torch.equal(lengths, lengths.clone())
assert not torch.equal(lengths, lengths + 1)
tail = lengths[1:]
tail.add_(1)
assert lengths.tolist() == [3, 1, 3, 2]
rows = torch.randn(int(lengths.sum()), 4, device="cuda")
assert rows.shape == (9, 4)
static = torch.repeat_interleave(torch.arange(4), lengths).cuda()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    sums = torch.zeros(4, 4, device="cuda").index_add_(0, static, rows)
