"""How the GPUs of one node reach each other."""

from enum import StrEnum


class Link(StrEnum):
    """Kinds of links; `None` is a single GPU that reaches no other."""

    NVLINK = "NVLink"
    PCIE = "PCIe"
    XGMI = "XGMI"
    NONE = "None"
