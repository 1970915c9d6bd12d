"""Rules about data: which rows and properties an actor may see or change."""
