"""Values as text and JSON: parameters in, results out, dates, and the canonical text of keys."""
