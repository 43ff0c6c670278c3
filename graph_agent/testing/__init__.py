"""What tests of agents need: a scripted model, a strict endpoint, a check of event order."""
