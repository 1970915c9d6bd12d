"""What is stored below a cluster's root: the ledger, its lock, payloads, intents and approvals."""
