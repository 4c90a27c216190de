"""Problem files: reading them, with every fault at its line; writing them; describing them to editors."""

from mfpde.spec.reader import Document, read_dict, read_document, read_yaml
from mfpde.spec.schema import problem_schema
from mfpde.spec.writer import write_yaml

__all__ = ["Document", "problem_schema", "read_dict", "read_document", "read_yaml", "write_yaml"]
