"""A fake endpoint that is faster than all that is measured against it."""
