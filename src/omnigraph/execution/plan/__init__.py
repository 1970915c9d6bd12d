"""How a read is carried out: pure plans over the IR, with estimates. Nothing here touches data."""
