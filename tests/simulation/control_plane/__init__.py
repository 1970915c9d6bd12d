"""The control plane as many actors over a simulated store, with time, liveness and scheduling from a seed."""
