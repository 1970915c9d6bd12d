"""Webhooks: what happens to proposals is sent to addresses that whoever starts the server has named."""
