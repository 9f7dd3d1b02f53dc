"""Diffusion Policy: actions by denoising (Chi et al., 2023)."""

from yardarm.policies.diffusion.architecture import DIFFUSION
from yardarm.policies.diffusion.config import DiffusionConfig
from yardarm.policies.diffusion.policy import DiffusionPolicy

__all__ = ["DIFFUSION", "DiffusionConfig", "DiffusionPolicy"]
