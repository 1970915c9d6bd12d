"""What travels between a client and a server: errors and values as JSON; knows neither side."""
