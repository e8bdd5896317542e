"""What the target's weights and the arithmetic on them are made of."""

from enum import StrEnum


class Precision(StrEnum):
    """Weights and activations of the target model; it decides where the knee lies."""

    BF16 = "BF16"
    """16-bit weights and activations (FP16 counts as the same)."""
    FP8 = "FP8"
    """W8A8: 8-bit weights, 8-bit floating-point arithmetic."""
    W8A16 = "W8A16"
    """Weight-only: 8-bit weights, 16-bit arithmetic."""
    W4A16 = "W4A16"
    """Weight-only: 4-bit weights (AWQ, GPTQ), 16-bit arithmetic."""
    FP4 = "FP4"
    """W4A4: 4-bit weights, 4-bit floating-point arithmetic (NVFP4, MXFP4)."""

    @property
    def weight_only(self) -> bool:
        """Whether only the weights are small, while the arithmetic stays at 16 bits."""
        return self in (Precision.W8A16, Precision.W4A16)
