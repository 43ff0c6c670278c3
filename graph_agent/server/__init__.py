"""The HTTP face: an API with Server-Sent Events, and a page."""
