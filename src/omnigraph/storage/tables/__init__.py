"""A table as a Lance dataset: reading one version, staging the next."""

from omnigraph.storage.masked_arrays_later import leave_masked_arrays_for_later
from omnigraph.storage.pandas_later import leave_pandas_for_later

leave_pandas_for_later()
leave_masked_arrays_for_later()
