"""A JSON schema of an object, checked before anybody is asked for data."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar, cast

from jsonschema import SchemaError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from graph_agent.errors import ConfigError

T = TypeVar("T")
Node = Mapping[str, Any]
"""A schema, or a part of one."""


@dataclass(frozen=True)
class ObjectSchema:
    """A schema whose root says that it is an object, and whose references all lead somewhere."""

    root: dict[str, Any]
    validator: Validator

    @classmethod
    def of(cls, schema: Node) -> Self:
        """Check a schema; it stays as it is.

        Raises:
            ConfigError: It is no JSON schema, not one of an object, or a reference leads nowhere.
        """
        kind = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(dict(schema))
            root = _rooted(schema)
            # Without a registry of its own a validator would fetch references from the network.
            validator = kind(root, registry=_registry(root))
            for reference in _references(root):
                validator.evolve(schema={"$ref": reference}).is_valid(None)
        except SchemaError as error:
            raise ConfigError(f"The schema is no JSON schema: {error.message}.") from error
        except Unresolvable as error:
            raise ConfigError(
                f"The schema refers to {error.ref!r}, which is not in it. Put it below `$defs`."
            ) from error
        except RecursionError:
            raise ConfigError(
                "The schema is nested too deeply, or refers to itself without end."
            ) from None
        return cls(root, validator)

    def fault(self, data: Mapping[str, Any]) -> tuple[tuple[str | int, ...], str] | None:
        """Return where data do not fit, and why; None where they do."""
        error = best_match(self.validator.iter_errors(data))
        return None if error is None else (tuple(error.absolute_path), error.message)

    def takes_null(self, part: Node) -> bool:
        """Tell whether a part of the schema allows null."""
        return self._fits(None, part)

    def without_forced_nulls(self, data: dict[str, Any]) -> dict[str, Any]:
        """Leave out each null that stands for an optional property which cannot be null.

        Strict mode makes models write such nulls, and others write them of their own accord.
        """
        return self._pruned(data, self.root)

    def _fits(self, value: Any, part: Node) -> bool:
        return self.validator.evolve(schema=part).is_valid(value)

    def _pruned(self, value: T, part: Node | bool) -> T:
        if isinstance(part, bool) or not isinstance(value, dict | list):
            return value
        if "$ref" in part:
            value = self._pruned(value, self._resolved(part["$ref"]))
        for whole in part.get("allOf", ()):
            value = self._pruned(value, whole)
        if branches := part.get("anyOf") or part.get("oneOf"):
            pruned = (self._pruned(value, branch) for branch in branches)
            fitting = (
                new for new, branch in zip(pruned, branches, strict=True) if self._fits(new, branch)
            )
            value = next(fitting, value)
        if isinstance(value, dict) and "properties" in part:
            return cast("T", dict(self._properties(value, part)))
        if isinstance(value, list) and isinstance(items := part.get("items"), Mapping):
            return cast("T", [self._pruned(item, items) for item in value])
        return value

    def _properties(self, value: dict[str, Any], part: Node) -> Iterator[tuple[str, Any]]:
        properties, required = part["properties"], part.get("required", ())
        for name, item in value.items():
            about = properties.get(name, True)
            forced = item is None and name in properties and name not in required
            if not (forced and not self._fits(None, about)):
                yield name, self._pruned(item, about)

    def _resolved(self, reference: str) -> Node:
        return _found(reference, self.root)


def _rooted(schema: Node) -> dict[str, Any]:
    """Bring the object to the root: endpoints want it there, and pydantic may put a `$ref`.

    Raises:
        ConfigError: What stands there is no object.
    """
    root, seen = dict(schema), set[str]()
    while reference := root.pop("$ref", None):
        if reference in seen:
            raise RecursionError
        seen.add(reference)
        root = {**_found(reference, schema), **root}
    kinds = root.get("type", "object")
    if kinds != "object" and "object" not in kinds:
        raise ConfigError(
            f"The schema is one of `{kinds}`, and data are asked for as an object: make it a "
            "property of one."
        )
    return {**({} if "type" in root else {"type": "object"}), **root, "type": "object"}


def _registry(root: Node) -> Registry[Any]:
    resource = Resource.from_contents(root, default_specification=DRAFT202012)
    empty: Registry[Any] = Registry()
    known: Registry[Any] = empty.with_resource("", resource)
    return known


def _found(reference: str, root: Node) -> Node:
    found: Node = _registry(root).resolver().lookup(reference).contents
    return found


def _references(part: object) -> Iterator[str]:
    """List all that a schema refers to."""
    if isinstance(part, Mapping):
        yield from (part[key] for key in ("$ref", "$dynamicRef") if isinstance(part.get(key), str))
    for inner in _inner(part):
        yield from _references(inner)


def _inner(part: object) -> Iterable[object]:
    if isinstance(part, Mapping):
        return part.values()
    return part if isinstance(part, list) else ()
