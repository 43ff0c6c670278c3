"""Knows what OpenAI's models are able to do, from the data that langchain-openai ships."""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import cast

from langchain_core.language_models import ModelProfile

PACKAGE = "langchain_openai"
FILE = Path("data", "_profiles.py")


def openai_profile(model: str) -> ModelProfile | None:
    """Return the profile of a model; None if the name is none of OpenAI's."""
    known = _profiles().get(model)
    if known is None or not known.get("mid_conversation_tools"):
        return known and {**known}
    # Tools that come amid a conversation are a matter of the Responses API.
    return {**known, "mid_conversation_tools": False}


@cache
def _profiles() -> Mapping[str, ModelProfile]:
    # Importing the package imports OpenAI's client too: a third of a second and 18 MB
    # for a table. Its file
    # needs nothing else of the package, so it is loaded alone, which takes 2 ms.
    package = find_spec(PACKAGE)
    assert package is not None, "it is a dependency"
    (folder,) = package.submodule_search_locations or [""]
    file = spec_from_file_location(f"{__name__}.data", Path(folder) / FILE)
    assert file is not None, "it is Python"
    assert file.loader is not None, "it is a file"
    module = module_from_spec(file)
    file.loader.exec_module(module)
    return cast("Mapping[str, ModelProfile]", module._PROFILES)
