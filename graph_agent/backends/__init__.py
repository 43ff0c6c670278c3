"""Where threads live: one URL chooses everything that is stored."""
