"""What ACT learns: to repeat demonstrated chunks, in a style that stays close to a normal distribution."""

from __future__ import annotations

from torch import Tensor, nn

from yardarm.policies.act.config import ActConfig
from yardarm.policies.act.network import ActNetwork
from yardarm.policies.learned.config import ACTION, ACTION_PADDING
from yardarm.policies.processing import Tensors

__all__ = ["ActObjective"]


class ActObjective(nn.Module):
    """The loss of a batch of normalised values. In evaluation mode there is no style, as when the policy is used."""

    def __init__(self, config: ActConfig, network: ActNetwork) -> None:
        super().__init__()
        self.config = config
        self.network = network

    def forward(self, batch: Tensors) -> Tensors:
        """The loss, and what it is made of."""
        latent = None
        if self.config.use_vae and self.training:
            latent = self.network.encode_actions(batch, batch[ACTION_PADDING])
        chunks = self.network(batch, latent.sample() if latent else None)
        distance = _mean_distance(chunks, batch[ACTION], batch[ACTION_PADDING])
        if latent is None:
            return {"loss": distance, "l1_loss": distance}
        variance = latent.log_variance.exp()
        divergence = (latent.mean**2 + variance - 1 - latent.log_variance).sum(-1).mean() / 2
        return {"loss": distance + self.config.kl_weight * divergence, "l1_loss": distance, "kld_loss": divergence}


def _mean_distance(chunks: Tensor, demonstrated: Tensor, is_padding: Tensor) -> Tensor:
    """The mean absolute difference over steps that are no padding."""
    real = ~is_padding[..., None]
    distances = (chunks - demonstrated).abs() * real
    return distances.sum() / (real.sum() * chunks.shape[-1]).clamp_min(1)
