"""Move the batch in the function that is to be captured.

kind: pageable_copy
"""

import torch

model = torch.nn.Linear(16, 16).cuda()
batch = torch.randn(4, 16)


def workload() -> torch.Tensor:
    return model(batch.to("cuda"))  # <- found here
