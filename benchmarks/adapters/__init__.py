"""One small file for each contender; it imports that one's library and no other's."""
