"""The plans of reads over Spark data frames of pinned tables; loaded only when Spark is asked for."""
