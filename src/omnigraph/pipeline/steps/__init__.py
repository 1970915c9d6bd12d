"""The steps of jobs on the driver's side: splitting, running, checking."""
