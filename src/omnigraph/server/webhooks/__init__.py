"""Webhooks: commits and events of proposals are sent to addresses that the starter of a server has named."""
