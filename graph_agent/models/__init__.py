"""Everything about models: which there are, what each can do, and how one is asked."""
