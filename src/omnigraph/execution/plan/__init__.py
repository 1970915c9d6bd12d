"""How a read is executed: pure plans over the IR, with estimates. Nothing here touches data."""
