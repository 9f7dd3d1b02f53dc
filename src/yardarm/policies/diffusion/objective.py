"""What Diffusion Policy learns: to tell noise from demonstrated chunks, at every strength of noise."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from yardarm.policies.diffusion.config import DiffusionConfig
from yardarm.policies.diffusion.network import DiffusionNetwork
from yardarm.policies.diffusion.sampler import kept_signal
from yardarm.policies.learned.config import ACTION, ACTION_PADDING, ENVIRONMENT_STATE
from yardarm.policies.processing import Tensors

__all__ = ["DiffusionObjective"]


class DiffusionObjective(nn.Module):
    """The loss of a batch of normalised values: inputs (batch, step, …), actions (batch, horizon, action)."""

    kept: Tensor

    def __init__(self, config: DiffusionConfig, network: DiffusionNetwork) -> None:
        super().__init__()
        self.config = config
        self.network = network
        self.register_buffer("kept", kept_signal(config), persistent=False)

    def forward(self, batch: Tensors) -> Tensors:
        """The loss at a random strength of noise for each row."""
        actions = batch[ACTION]
        noise = torch.randn_like(actions)
        steps = torch.randint(self.config.num_train_timesteps, actions.shape[:1], device=actions.device)
        return {"loss": self.at(batch, noise, steps)}

    def at(self, batch: Tensors, noise: Tensor, steps: Tensor) -> Tensor:
        """The loss with this noise at these diffusion steps."""
        actions = batch[ACTION]
        kept = self.kept[steps][:, None, None]
        noisy = kept.sqrt() * actions + (1 - kept).sqrt() * noise
        answer = self.network.unet(noisy, steps, self.network.encode(self._with_time(batch)))
        target = noise if self.config.prediction_type == "epsilon" else actions
        errors = (answer - target) ** 2
        if not self.config.do_mask_loss_for_padding:
            return errors.mean()
        real = ~batch[ACTION_PADDING][..., None]
        return (errors * real).sum() / (real.sum() * errors.shape[-1]).clamp_min(1)

    def _with_time(self, batch: Tensors) -> Tensors:
        """Give images of a single observation step the axis that a window of one frame lacks."""
        one = {name: batch[name][:, None] for name in self.config.images if batch[name].ndim == 4}
        if one and self.config.environment_state and batch[ENVIRONMENT_STATE].ndim == 2:
            # The vector of a task, beside nothing but images.
            one[ENVIRONMENT_STATE] = batch[ENVIRONMENT_STATE][:, None]
        return {**batch, **one}
