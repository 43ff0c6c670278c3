"""What a model is shown of a thread, and that it fits the model's window."""
