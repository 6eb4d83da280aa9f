"""Inputs: rows as users write them, checked, stored, and compared by a kernel.

A round brings one row (or, for losses on parts, a block of rows). A row is a sequence of numbers, a scipy
sparse row, a dict of named numbers, or any object that the kernel takes. The first row fixes the kind;
`parse` only checks and converts, `append` alone changes the store.

Inputs with a schema read rows by it (`oskaar.schema`): named rows, frames, texts, times and gaps become numbers.
Blocks then hold the rows as they came too (`raw`), so that they can be read anew.
"""

from oskaar.inputs.block import Block
from oskaar.inputs.conversion import as_rounds
from oskaar.inputs.inputs import Compared, Inputs
from oskaar.inputs.stores import DictStore, Store

__all__ = ["Block", "Compared", "DictStore", "Inputs", "Store", "as_rounds"]
