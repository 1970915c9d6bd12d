"""Indexes of a table: which there are, building them, how text is cut into words."""

from omnigraph.storage.masked_arrays_later import leave_masked_arrays_for_later
from omnigraph.storage.pandas_later import leave_pandas_for_later

leave_pandas_for_later()
leave_masked_arrays_for_later()
