"""The lock file: it pins what the project needs, by hash, and names no place to have it from."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PIN = re.compile(r"^([\w.-]+)(?:\[[\w,]+\])?==([^\s;]+)", re.MULTILINE)


def test_every_dependency_is_pinned_to_a_version_that_fits() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = [Requirement(line) for lines in lists for line in lines]

    pins = {canonicalize_name(name): version for name, version in PIN.findall(LOCK)}
    unfit = [
        w for w in wanted if not w.specifier.contains(pins.get(canonicalize_name(w.name), "0"))
    ]
    assert unfit == [], "run `make lock`"


def test_every_pin_has_its_hashes() -> None:
    entries = re.split(r"\n(?! )", LOCK.strip())

    assert [e for e in entries if not (PIN.match(e) and "--hash=sha256:" in e)] == []


def test_no_address_stands_in_it() -> None:
    assert re.findall(r"\S*(?:://|--index|--find-links| @ )\S*", LOCK) == []
