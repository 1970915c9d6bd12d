"""What operators see of a server: its log, its metrics, its traces."""
