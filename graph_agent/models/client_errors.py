"""Finds the errors of providers' clients without importing the clients, which takes long."""

import sys


def errors_of(package: str, *names: str) -> tuple[type[Exception], ...]:
    """Return error classes of a package by their names.

    Returns:
        None of them where nobody has imported the package: no error can be of its classes.

    >>> errors_of("no_such_package", "SomeError")
    ()
    """
    imported = sys.modules.get(package)
    # A package that another thread is about to import does not have all of them yet.
    found = (getattr(imported, name, None) for name in names)
    return tuple(error for error in found if error is not None)
